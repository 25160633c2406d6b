"""Statements that cite numbered passages, and whether the passages entail them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.text import as_text, one_line
from retrieval import Passage, number, pick
from signatures.replies import Statement

if TYPE_CHECKING:
    from retrieval.ranking.entailment import Entailment

__all__ = [
    "CitedAnswer",
    "Fact",
    "answer_citing",
    "check_citations",
    "find_support",
    "keep_confirmed",
    "keep_supported",
    "report_fact",
    "resolve_citations",
]

_ENTAILED = 0.5  # least probability


class Fact(NamedTuple):
    """A statement with passages: those that it cites, or those that were found to support it."""

    text: str
    passages: list[Passage]


class CitedAnswer(NamedTuple):
    """An answer and the statements that lead to it."""

    answer: str
    facts: list[Fact]
    """Each with the passages that it cites, unchecked."""


def answer_citing(answer: dspy.Module, passages: Sequence[Passage], question: str, **config: Any) -> CitedAnswer:
    """Answer the question in statements that cite the passages.

    Args:
        answer: Predictor with AnswerCiting or AnswerCitingYesNo of `signatures.answer`.
        passages: The passages that the LM is shown.
        question: The question.
        config: Settings of the LM for this call, such as temperature.
    """
    reply = ask(answer, context=number(passages), question=question, config=config)
    return CitedAnswer(as_text(reply.answer), resolve_citations(reply.statements, passages))


def resolve_citations(statements: Iterable[Statement] | None, shown: Sequence[Passage]) -> list[Fact]:
    """The statements, each as one line with the passages that it cites, unchecked, in order.

    Numbers that no passage has are dropped, and so are blank statements.

    Args:
        statements: The LM's output; None for a reply that could not be parsed.
        shown: The passages that the numbers count, from 1.
    """
    facts = [Fact(one_line(statement.statement), pick(shown, statement.passages)) for statement in statements or []]
    return [fact for fact in facts if fact.text]


def keep_supported(
    statements: Iterable[Statement] | None, shown: Sequence[Passage], judge: "Entailment | None", question: str = ""
) -> list[Fact]:
    """The statements that at least one of the passages cited for them entails, in order.

    Args:
        statements: The LM's output; None for a reply that could not be parsed.
        shown: The passages that the numbers count, from 1.
        judge: Gives the probability that a passage entails a statement; with None the citations are believed.
        question: What the LM was asked when it drew the statements from the passages.

    Returns:
        Each statement with those of its cited passages that entail it.
    """
    facts = resolve_citations(statements, shown)
    return [fact for fact in (_checked(facts, judge, question) if judge else facts) if fact.passages]


def keep_confirmed(
    check: dspy.Module, statements: Iterable[Statement] | None, shown: Sequence[Passage], question: str
) -> list[Fact]:
    """As `keep_supported`, with an LM as the judge: one call about all the citations, and none without any.

    A reply that cannot be parsed leaves the citations believed.

    Args:
        check: Predictor with CheckClaims of `signatures.verify`.
        statements: The LM's output; None for a reply that could not be parsed.
        shown: The passages that the numbers count, from 1.
        question: What the LM was asked when it drew the statements from the passages.
    """
    facts = [fact for fact in resolve_citations(statements, shown) if fact.passages]
    if not facts:
        return []
    numbers = {passage.id: n for n, passage in enumerate(shown, 1)}
    claims = [
        Passage(passage.id, fact.text, f"passage {numbers[passage.id]}") for fact in facts for passage in fact.passages
    ]
    holding = ask(check, context=number(shown), question=question, claims=number(claims)).holding
    held = iter([holding is None or n in holding for n, _ in enumerate(claims, 1)])
    checked = [Fact(text, [passage for passage in passages if next(held)]) for text, passages in facts]
    return [fact for fact in checked if fact.passages]


def find_support(text: str, passages: Sequence[Passage], judge: "Entailment") -> list[Passage]:
    """The passages that entail the statement, each by itself; in order."""
    return _checked([Fact(text, list(passages))], judge)[0].passages


def check_citations(facts: Sequence[Fact], judge: "Entailment") -> list[bool]:
    """For each statement, whether the passages cited for it, taken together, entail it; False where there are none."""
    pairs = [("\n".join(f"Title: {p.title}\n{p.text}" for p in passages), text) for text, passages in facts if passages]
    probabilities = iter(judge.batch(pairs) if pairs else [])
    return [bool(fact.passages) and next(probabilities) >= _ENTAILED for fact in facts]


def report_fact(fact: Fact) -> dict[str, Any]:
    """The fact in the form in which results report it: the text, and the ids of its passages."""
    return {"fact": fact.text, "passages": [passage.id for passage in fact.passages]}


def _checked(facts: Sequence[Fact], judge: "Entailment", question: str = "") -> list[Fact]:
    """The facts, each with those of its passages that entail it by themselves."""
    pairs = [(f"{passage.title} {passage.text}".strip(), fact.text) for fact in facts for passage in fact.passages]
    probabilities = iter(judge.batch_answering(question, pairs) if pairs else [])
    return [Fact(text, [p for p in passages if next(probabilities) >= _ENTAILED]) for text, passages in facts]
