"""Statements that cite numbered passages, checked against what these say."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from programs._written import line
from retrieval import Passage, pick
from signatures.extract import Statement

if TYPE_CHECKING:
    from retrieval.entail import Entailment

__all__ = ["Fact", "supported"]

_ENTAILED = 0.5  # least probability


class Fact(NamedTuple):
    """A statement and the passages that support it."""

    text: str
    passages: list[Passage]


def supported(
    statements: Iterable[Statement] | None, shown: Sequence[Passage], judge: "Entailment | None"
) -> list[Fact]:
    """The statements that at least one of the passages cited for them entails, each as one line, in order.

    Args:
        statements: What the LM wrote; None for a reply that could not be parsed. Numbers that no passage has are
            dropped.
        shown: The passages that the numbers count, from 1.
        judge: Says whether a passage entails a statement; with None the citations are believed.

    Returns:
        Each statement with those of its passages that entail it.
    """
    cited = [Fact(line(statement.statement), pick(shown, statement.passages)) for statement in statements or []]
    pairs = [(f"{passage.title} {passage.text}".strip(), fact.text) for fact in cited for passage in fact.passages]
    probabilities = iter(judge.batch(pairs) if judge and pairs else [1.0] * len(pairs))
    facts = [Fact(text, [p for p in passages if next(probabilities) >= _ENTAILED]) for text, passages in cited]
    return [fact for fact in facts if fact.text and fact.passages]
