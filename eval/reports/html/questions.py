"""What happened to each question, as the script of the page reads it: JSON drawn from the traces and calls of runs.

To keep the page small, each passage and each reason stands in it once, and questions refer to them by number, from 0;
prompts and replies are packed, and unpacked when a reader asks for them.
"""

import gzip
import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from eval.figures.outcomes import Reason, outcome
from eval.records.record import PaidCall, Row, Shown
from eval.reports.html.shown_run import ShownRun
from eval.reports.html.visible import visible
from programs.instruments.trace import Dropped, Found, Kept, Query
from retrieval import Passage

__all__ = ["packed", "questions"]

_COSTS = ("lm_calls", "input_tokens", "output_tokens", "usd", "searches", "seconds", "unparsable")
_ROOM = 10_000_000  # characters of passages that no answering call was shown: with more, a browser opens slowly
_ROOM_OF_CALLS = 20_000_000  # characters: more than that is more than one likes to mail


def questions(runs: Sequence[ShownRun], metrics: Sequence[str] = ()) -> dict[str, Any]:
    """The questions that all of these runs asked, with their passages.

    All passages that are gold or in the evidence have their texts. Of the others the best-ranked have theirs, as many
    as there is room for.

    Args:
        runs: At least one.
        metrics: Those of the page.

    Returns:
        Three lists: `passages`, each with id, title and text, which is None where the run does not have it and absent
        where there is no room for it; `reasons`, why passages were kept or dropped; and `questions`, each with id,
        question, answers, type, and for each run what `_trace` draws.
    """
    pool = _Pool()
    by_id = [{row.id: (row, why) for row, why in zip(run.rows, run.reasons, strict=True)} for run in runs]
    listed = [
        {
            "id": row.id,
            "question": row.question,
            "answers": list(row.answers),
            "type": row.type,
            "traces": [_trace(*rows[row.id], metrics, run.known, pool) for rows, run in zip(by_id, runs, strict=True)],
        }
        for row in runs[0].rows
    ]
    return {"passages": pool.passages(), "reasons": list(pool.reasons), "questions": listed}


def packed(runs: Sequence[ShownRun]) -> dict[str, str]:
    """The prompts and replies by the question's id: base64 of gzip of JSON, which has for each run its calls in the
    order in which they were answered, each with predictor, messages (role and text) and reply.

    Where there is no room for all questions, those that some run has wrong by some metric come first. The best of
    several answers has none: the reports of the single runs do.
    """
    by_run = [_calls(run) for run in runs]
    wrong = {row.id for run in runs for row in run.rows if row.error is None and min(_defined(row), default=1) < 1}
    room, found = _ROOM_OF_CALLS, {}
    for id_ in sorted((row.id for row in runs[0].rows), key=lambda id_: id_ not in wrong):
        calls = [[_call(call) for call in of_run.get(id_, ())] for of_run in by_run]
        if any(calls):
            text = b64encode(gzip.compress(json.dumps(visible(calls)).encode(), mtime=0)).decode()
            room -= len(text)
            if room < 0:
                break
            found[visible(id_)] = text  # as the script of the page knows it
    return found


def _calls(run: ShownRun) -> Mapping[str, list[PaidCall]]:
    found: defaultdict[str, list[PaidCall]] = defaultdict(list)
    for call in [] if run.run.manifest.best_of else run.calls:
        found[call.question].append(call)
    return found


def _call(call: PaidCall) -> dict[str, Any]:
    messages = [{"role": message.role, "text": message.text} for message in call.prompt]
    return {"predictor": call.predictor, "messages": messages, "reply": call.text()}


def _defined(row: Row) -> list[float]:
    return [score for score in row.scores.values() if score is not None]


class _Pool:
    """Passages and reasons, each once."""

    def __init__(self) -> None:
        self.reasons: dict[str, int] = {}
        self._passages: dict[tuple[str, str, str | None], int] = {}
        self._ranks: dict[int, int] = {}  # the best rank of each passage; 0 where its text is needed

    def reason(self, text: str) -> int:
        return self.reasons.setdefault(text, len(self.reasons))

    def passage(self, id_: str, title: str, text: str | None, rank: int) -> int:
        number = self._passages.setdefault((id_, title, text), len(self._passages))
        self._ranks[number] = min(rank, self._ranks.get(number, rank))
        return number

    def passages(self) -> list[dict[str, str | None]]:
        room = _ROOM
        entries: list[dict[str, str | None]] = [{"id": id_, "title": title} for id_, title, _ in self._passages]
        texts = [text for _, _, text in self._passages]
        for number in sorted(self._ranks, key=lambda number: self._ranks[number]):
            if self._ranks[number]:
                room -= len(texts[number] or "")
            if room >= 0 or not self._ranks[number]:
                entries[number]["text"] = texts[number]
        return entries


def _trace(row: Row, why: Reason, metrics: Sequence[str], known: Mapping[str, Passage], pool: _Pool) -> dict[str, Any]:
    """What one run did with a question: answer, error, scores, cost; the outcome by each metric of the page; searches
    with the numbers of what they found (None where one failed); the passages with their fates ("found" where the trace
    does not say); the gold that no query found; the evidence, each text as a whole passage, an extract or written by
    the LM; and the program's own fields."""
    prediction = row.prediction
    reported = prediction.passages if prediction else None
    found = reported or [Shown(id=id_, title=known[id_].title if id_ in known else "") for id_ in row.trace.found()]
    gold_titles, gold_ids = set(row.gold_titles or ()), set(row.gold_passages or ())
    steps: dict[str, Kept | Dropped] = {step.passage: step for step in row.trace.steps_of(Kept)}
    steps |= {step.passage: step for step in row.trace.steps_of(Dropped)}
    numbers: dict[str, int] = {}
    fates: list[dict[str, Any]] = []
    for rank, passage in enumerate(found, 1):
        step = steps.get(passage.id)
        gold = passage.id in gold_ids or passage.title in gold_titles
        needed = gold or isinstance(step, Kept)
        number = pool.passage(passage.id, passage.title, _text(known, passage), 0 if needed else rank)
        numbers[passage.id] = number
        entry = {"passage": number, "fate": _fate(step), "why": pool.reason(step.why if step else "")}
        score = {} if passage.score is None else {"score": _short(passage.score)}
        fates.append({**entry, **({"gold": True} if gold else {}), **score})
    results = {step.query: step.passages for step in row.trace.steps_of(Found)}
    evidence = (prediction.evidence if prediction else None) or ()
    return {
        "answer": prediction.answer if prediction else None,
        "error": None if row.error is None else str(row.error),
        "scores": row.scores,
        "outcomes": [outcome(row, metric, why) for metric in metrics],
        "cost": {name: _short(getattr(row.cost, name)) for name in _COSTS},
        "searches": [
            {"query": query.text, "found": _numbers(results.get(query.number), numbers)}
            for query in row.trace.steps_of(Query)
        ],
        "passages": fates,
        "missing": sorted(gold_titles - {p.title for p in found} if gold_titles else gold_ids - numbers.keys()),
        "evidence": [_evidence(passage, steps.get(passage.id), numbers, known, pool) for passage in evidence],
        "own": prediction.own if prediction else {},
    }


def _fate(step: Kept | Dropped | None) -> str:
    if step is None:
        return "found"
    if isinstance(step, Dropped):
        return "dropped"
    return "kept" if step.form == "whole" else step.form


def _evidence(
    passage: Shown,
    step: Kept | Dropped | None,
    numbers: Mapping[str, int],
    known: Mapping[str, Passage],
    pool: _Pool,
) -> dict[str, Any]:
    whole = isinstance(step, Kept) and step.form == "whole" and passage.id in numbers
    number = numbers[passage.id] if whole else pool.passage(passage.id, passage.title, _text(known, passage), 0)
    if passage.id.startswith("lm:"):
        return {"passage": number, "form": "written"}
    return {"passage": number, "form": "extract" if passage.id in numbers and not whole else "whole"}


def _numbers(ids: Sequence[str] | None, numbers: Mapping[str, int]) -> list[int] | None:
    return None if ids is None else [numbers[id_] for id_ in ids if id_ in numbers]


def _text(known: Mapping[str, Passage], passage: Shown) -> str | None:
    if passage.text is not None:
        return passage.text
    return known[passage.id].text if passage.id in known else None


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
