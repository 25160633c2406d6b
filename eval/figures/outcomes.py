"""What became of each question, and why those that are wrong are wrong."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import dspy

from eval.metrics.gold import is_yes_no
from eval.metrics.passages import has_answer
from eval.records.record import Row
from programs.instruments.trace import Dropped, Kept, Query
from retrieval import Passage
from signatures.replies import is_refusal

__all__ = ["REASONS", "Outcome", "Reason", "breakdown", "outcome", "reason"]

Reason = Literal[
    "failed",
    "unparsable",
    "refused",
    "no search",
    "gold not found",
    "found but dropped",
    "kept but misread",
    "not known",
]
"""Why a question is wrong, by the first of these that holds:

failed             it ended in an error, and counts as neither right nor wrong
unparsable         there is no answer, and a reply did not fit its signature
refused            there is no answer, or it says that there is none
no search          the program searched for nothing
gold not found     a part of the gold is in no passage that was found
found but dropped  all of it was found, and a part did not lead to the answer
kept but misread   all of it led to the answer, which is wrong all the same
not known          there is no gold to look for, or the program does not report its evidence

Gold is the gold titles, else the gold ids; where a question has neither, a passage that states a gold answer, by the
rule of `eval.metrics.passages.has_answer`, unless the answer is yes or no.
"""

REASONS: tuple[Reason, ...] = get_args(Reason)

Outcome = Literal["right", "not scored"] | Reason


def outcome(row: Row, metric: str, why: Reason) -> Outcome:
    """Whether the question is right by this metric (its score is 1), and if it is not, its `reason`."""
    if row.error is not None:
        return "failed"
    if row.scores.get(metric) is None:
        return "not scored"
    return "right" if row.scores[metric] == 1 else why


def breakdown(rows: Sequence[Row], metric: str, whys: Sequence[Reason]) -> Counter[Outcome]:
    """How many questions have each outcome by this metric; `whys` has the `reason` of each, in the same order."""
    return Counter(outcome(row, metric, why) for row, why in zip(rows, whys, strict=True))


def reason(row: Row, known: Mapping[str, Passage]) -> Reason:
    """Why the question is wrong, if it is; `known` are the run's passages, as `Run.passages` gives them."""
    if row.error is not None:
        return "failed"
    if row.prediction is None:
        return "not known"  # the best of several answers
    if not (row.prediction.answer or "").strip() or is_refusal(row.prediction.answer or ""):
        return "unparsable" if row.cost.unparsable else "refused"
    found = _found(row, known)
    if not found and not row.trace.steps_of(Query):
        return "no search"
    kept, dropped = row.trace.steps_of(Kept), row.trace.steps_of(Dropped)
    wanted = _wanted(row, found)
    if wanted is None:
        return "not known"
    if not all(wanted):
        return "gold not found"
    if not kept and not dropped:
        return "not known"
    there = {step.passage for step in kept}
    return "kept but misread" if all(ids & there for ids in wanted) else "found but dropped"


def _found(row: Row, known: Mapping[str, Passage]) -> dict[str, tuple[str, str]]:
    """Titles and texts of the passages that were found, by id."""
    reported = row.prediction.passages if row.prediction else None
    if not reported:
        return {id_: (known[id_].title, known[id_].text) if id_ in known else ("", "") for id_ in row.trace.found()}
    return {p.id: (p.title, p.text or (known[p.id].text if p.id in known else "")) for p in reported}


def _wanted(row: Row, found: Mapping[str, tuple[str, str]]) -> list[set[str]] | None:
    """For each piece of gold the ids of the passages found that have it; None where no gold is known."""
    if row.gold_titles:
        return [{id_ for id_, (title, _) in found.items() if title == gold} for gold in row.gold_titles]
    if row.gold_passages:
        return [{gold} & found.keys() for gold in row.gold_passages]
    if not row.answers or is_yes_no(dspy.Example(answers=row.answers)):
        return None
    return [{id_ for id_, (_, text) in found.items() if has_answer(text, row.answers)}]
