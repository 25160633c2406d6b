"""What happened to one question, as plain text."""

from collections.abc import Mapping, Sequence

from eval.figures.outcomes import reason
from eval.records.record import PaidCall, Row, Shown
from eval.reports.formats import heading
from odqa.printable import unbroken
from programs.instruments.trace import Dropped, Found, Kept, Query, Statement
from retrieval import Passage

__all__ = ["calls_text", "question_text"]


def question_text(row: Row, known: Mapping[str, Passage]) -> str:
    """The question, its answer and scores, and the way from its queries to its answer; ends without a line break.

    Args:
        row: The question.
        known: The run's passages by id.
    """
    answer = row.prediction.answer if row.prediction else None
    lines = [
        f"{row.id}: {row.question or ''}",
        f"answer: {'none' if answer is None else answer or '(empty)'}",
        f"gold: {' | '.join(row.answers) or 'not known'}",
    ]
    if row.error:
        lines.append(f"failed: {row.error}")
    else:
        lines.append(", ".join(f"{heading(name)} {100 * (score or 0):.1f}" for name, score in row.scores.items()))
        if any(score is not None and score < 1 for score in row.scores.values()):
            lines.append(f"where it is wrong: {reason(row, known)}")
    lines += [*_searches(row, known), *_fates(row, known), *_evidence(row, known)]
    return "\n".join(map(unbroken, lines))


def calls_text(calls: Sequence[PaidCall]) -> str:
    """Prompts and replies, in the order in which they were answered; ends without a line break."""
    parts = []
    for number, call in enumerate(calls, 1):
        prompt = [f"[{message.role}]\n{message.text}" for message in call.prompt]
        parts.append("\n".join([f"--- call {number}: {call.predictor}", *prompt, f"[reply]\n{call.text()}"]))
    return "\n\n".join(parts) or "no call is recorded: its replies came from a cache, or it made none"


def _searches(row: Row, known: Mapping[str, Passage]) -> list[str]:
    found = {step.query: step.passages for step in row.trace.steps_of(Found)}
    lines = []
    for query in row.trace.steps_of(Query):
        ids = found.get(query.number)
        result = "the search failed" if ids is None else ", ".join(_name(id_, row, known) for id_ in ids) or "nothing"
        lines += ["", f"query {query.number}: {query.text}", f"  found: {result}"]
    return lines


def _fates(row: Row, known: Mapping[str, Passage]) -> list[str]:
    kept, dropped = row.trace.steps_of(Kept), row.trace.steps_of(Dropped)
    lines = [f"  {step.form}: {_name(step.passage, row, known)}{f' ({step.why})' if step.why else ''}" for step in kept]
    lines += [f"  dropped: {_name(step.passage, row, known)} ({step.why})" for step in dropped]
    facts = [f"  states: {step.text} [{', '.join(step.passages)}]" for step in row.trace.steps_of(Statement)]
    return ["", "passages:", *lines, *facts] if lines or facts else []


def _evidence(row: Row, known: Mapping[str, Passage]) -> list[str]:
    shown = (row.prediction.evidence if row.prediction else None) or ()
    lines = [f"  {passage.title or passage.id}: {_text(passage, known)}" for passage in shown]
    return ["", "shown to the answering call:", *lines] if lines else []


def _text(passage: Shown, known: Mapping[str, Passage]) -> str:
    return passage.text if passage.text is not None else known[passage.id].text


def _name(id_: str, row: Row, known: Mapping[str, Passage]) -> str:
    title = known[id_].title if id_ in known else ""
    gold = id_ in (row.gold_passages or ()) or title in (row.gold_titles or ())
    return f"{'★ ' if gold else ''}{title or id_}"
