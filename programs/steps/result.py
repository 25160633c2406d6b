"""The one form in which every method returns what it did, and how fields of its own say what became of a passage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dspy

from programs.steps.text import as_text
from retrieval import Passage

__all__ = ["Filtered", "Lists", "PerPassage", "Ranking", "Reading", "Statements", "Turns", "report_rounds", "result"]


@dataclass(frozen=True, slots=True)
class Filtered:
    """The field maps the name of each list to the ids that a filter left in it."""

    found: str
    """The field that maps the same names to the ids before the filter."""
    whole: str
    """The field that names the lists that were kept whole, because the LM's selection could not be parsed."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the passages of each list were found for, in plain words."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The field is a list with one dict per round; its `retrieved`, `kept` and `shown` are lists of ids."""


@dataclass(frozen=True, slots=True)
class Statements:
    """The field is a list of {"fact": text of a statement, "passages": ids of the passages cited for it}."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The field is a list of ids, best first."""


@dataclass(frozen=True, slots=True)
class Lists:
    """The field is a list of lists of ids, one list per turn."""


@dataclass(frozen=True, slots=True)
class PerPassage:
    """The field maps ids to a value: a text or a number."""


Reading = Filtered | Turns | Statements | Ranking | Lists | PerPassage
"""How a field of a result says what became of passages. A method declares its fields in the class attribute `reads`."""


def report_rounds(found: Iterable[list[Passage]], *, growing: bool) -> list[dict[str, list[str]]]:
    """The rounds of a loop without a filter, as `Turns` reads them.

    Args:
        found: What each round found.
        growing: Whether the LM is also shown what the rounds before found.
    """
    rounds: list[dict[str, list[str]]] = []
    for passages in found:
        ids = [passage.id for passage in passages]
        before = rounds[-1]["shown"] if rounds and growing else []
        rounds.append({"retrieved": ids, "kept": ids, "shown": list(dict.fromkeys(before + ids))})
    return rounds


def result(
    *, answer: str | None, queries: list[str], passages: list[Passage], evidence: list[Passage], **extras: Any
) -> dspy.Prediction:
    """A prediction with the four fields that all methods share, and the method's own fields.

    Args:
        answer: The short answer; None, from a reply that could not be parsed, becomes "".
        queries: Every query sent to the retriever, in order.
        passages: Everything retrieved, in order, the first copy of each id.
        evidence: What the answering call was shown.
        extras: The method's own fields: values that JSON can hold, or passages.
    """
    return dspy.Prediction(answer=as_text(answer), queries=queries, passages=passages, evidence=evidence, **extras)
