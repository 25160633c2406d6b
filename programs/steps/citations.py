"""Statements that cite numbered passages, checked against what these say."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.result import say
from programs.steps.text import line
from retrieval import Passage, number, pick
from signatures.extract import Statement

if TYPE_CHECKING:
    from retrieval.ranking.entailment import Entailment

__all__ = ["Cited", "Fact", "answer_citing", "cited", "entailed", "record", "supported", "supporting"]

_ENTAILED = 0.5  # least probability


class Fact(NamedTuple):
    """A statement and the passages that support it."""

    text: str
    passages: list[Passage]


class Cited(NamedTuple):
    """An answer, and the statements that lead to it."""

    answer: str
    facts: list[Fact]
    """With the passages that they cite, unchecked."""


def answer_citing(answer: dspy.Module, passages: Sequence[Passage], question: str, **config: Any) -> Cited:
    """Have the question answered in statements that cite the passages.

    Args:
        answer: Predictor with a signature of `signatures.answer`.
        passages: What it is shown.
        question: The question.
        config: For this call of the LM, such as a temperature.
    """
    reply = ask(answer, context=number(passages), question=question, config=config)
    return Cited(say(reply.answer), cited(reply.statements, passages))


def cited(statements: Iterable[Statement] | None, shown: Sequence[Passage]) -> list[Fact]:
    """The statements, each as one line and with the passages that it cites, unchecked; in order.

    Args:
        statements: What the LM wrote; None for a reply that could not be parsed. Numbers that no passage has are
            dropped, and so are blank statements.
        shown: The passages that the numbers count, from 1.
    """
    facts = [Fact(line(statement.statement), pick(shown, statement.passages)) for statement in statements or []]
    return [fact for fact in facts if fact.text]


def supported(
    statements: Iterable[Statement] | None, shown: Sequence[Passage], judge: "Entailment | None"
) -> list[Fact]:
    """The statements that at least one of the passages cited for them entails, each as one line, in order.

    Args:
        statements: As `cited` takes them.
        shown: Likewise.
        judge: Says whether a passage entails a statement; with None the citations are believed.

    Returns:
        Each statement with those of its passages that entail it.
    """
    facts = cited(statements, shown)
    return [fact for fact in (_checked(facts, judge) if judge else facts) if fact.passages]


def supporting(text: str, passages: Sequence[Passage], judge: "Entailment") -> list[Passage]:
    """Those of the passages that entail the statement, each by itself; in order."""
    return _checked([Fact(text, list(passages))], judge)[0].passages


def entailed(facts: Sequence[Fact], judge: "Entailment") -> list[bool]:
    """Of each statement whether the passages cited for it, taken together, entail it; not where there are none."""
    pairs = [("\n".join(f"Title: {p.title}\n{p.text}" for p in passages), text) for text, passages in facts if passages]
    probabilities = iter(judge.batch(pairs) if pairs else [])
    return [bool(fact.passages) and next(probabilities) >= _ENTAILED for fact in facts]


def record(fact: Fact) -> dict[str, Any]:
    """The fact as results report it."""
    return {"fact": fact.text, "passages": [passage.id for passage in fact.passages]}


def _checked(facts: Sequence[Fact], judge: "Entailment") -> list[Fact]:
    """The facts with those of their passages that entail them, each by itself."""
    pairs = [(f"{passage.title} {passage.text}".strip(), fact.text) for fact in facts for passage in fact.passages]
    probabilities = iter(judge.batch(pairs) if pairs else [])
    return [Fact(text, [p for p in passages if next(probabilities) >= _ENTAILED]) for text, passages in facts]
