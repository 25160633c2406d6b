"""What happened to each question, as the script of the page reads it: JSON objects drawn from the traces of rows.

To keep the page small, each passage and each reason stands in it once; questions refer to them by number, from 0.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from eval.figures.outcomes import Outcome, Reason, outcome
from eval.records.record import Row, Shown
from eval.reports.html.source import Source
from programs.instruments.trace import Dropped, Found, Kept, Query
from retrieval import Passage

__all__ = ["Questions", "questions"]

_COSTS = ("lm_calls", "input_tokens", "output_tokens", "usd", "searches", "seconds", "unparsable")
_ROOM = 10_000_000  # characters of passages that no answering call was shown: with more, a browser opens slowly

_Fate = Literal["kept", "extract", "cited", "dropped", "found"]


class PageSearch(TypedDict):
    query: str
    found: list[int] | None
    """Numbers of passages; None where the search failed."""


class PageFate(TypedDict):
    """What became of a passage that was found."""

    passage: int
    fate: _Fate
    """As `programs.instruments.trace.Kept` and `Dropped` have it; "found" where the trace does not say."""
    why: int
    """The number of a reason."""
    gold: NotRequired[Literal[True]]
    score: NotRequired[float]


class PageEvidence(TypedDict):
    """A text that the answering call was shown."""

    passage: int
    form: Literal["whole", "extract", "written"]
    """The passage as it was found, another text in its place, or a text that the LM wrote."""


class PageTrace(TypedDict):
    """What one run did with a question."""

    answer: str | None
    error: str | None
    scores: dict[str, float | None]
    outcomes: list[Outcome]
    """By each metric of the page, in their order."""
    cost: dict[str, float | None]
    searches: list[PageSearch]
    passages: list[PageFate]
    missing: list[str]
    """Gold titles, or gold ids where no titles are known, that no query found."""
    evidence: list[PageEvidence]
    own: dict[str, Any]
    """The program's own fields."""


class PageQuestion(TypedDict):
    id: str
    question: str | None
    answers: list[str]
    type: str | None
    traces: list[PageTrace]
    """One per run."""


class PagePassage(TypedDict):
    id: str
    title: str
    text: NotRequired[str | None]
    """None where the run does not have it; absent where there is no room for it on the page."""


class Questions(TypedDict):
    passages: list[PagePassage]
    reasons: list[str]
    questions: list[PageQuestion]


def questions(sources: Sequence[Source], metrics: Sequence[str] = ()) -> Questions:
    """The questions that all of these runs asked, with their passages.

    All passages that are gold or in the evidence have their texts. Of the others the best-ranked have theirs, as many
    as there is room for.

    Args:
        sources: The runs, at least one.
        metrics: Those of the page.
    """
    pool = _Pool()
    by_id = [{row.id: (row, why) for row, why in zip(s.rows, s.reasons, strict=True)} for s in sources]
    listed: list[PageQuestion] = [
        {
            "id": row.id,
            "question": row.question,
            "answers": list(row.answers),
            "type": row.type,
            "traces": [
                _trace(*rows[row.id], metrics, source.known, pool) for rows, source in zip(by_id, sources, strict=True)
            ],
        }
        for row in sources[0].rows
    ]
    return {"passages": pool.passages(), "reasons": list(pool.reasons), "questions": listed}


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

    def passages(self) -> list[PagePassage]:
        room = _ROOM
        entries: list[PagePassage] = [{"id": id_, "title": title} for id_, title, _ in self._passages]
        texts = [text for _, _, text in self._passages]
        for number in sorted(self._ranks, key=lambda number: self._ranks[number]):
            text = texts[number]
            if self._ranks[number]:
                room -= len(text or "")
            if room >= 0 or not self._ranks[number]:
                entries[number]["text"] = text
        return entries


def _trace(row: Row, why: Reason, metrics: Sequence[str], known: Mapping[str, Passage], pool: _Pool) -> PageTrace:
    prediction = row.prediction
    reported = prediction.passages if prediction else None
    found = reported or [Shown(id=id_, title=_title(known, id_)) for id_ in row.trace.found()]
    gold_titles, gold_ids = set(row.gold_titles or ()), set(row.gold_passages or ())
    steps: dict[str, Kept | Dropped] = {step.passage: step for step in row.trace.steps_of(Kept)}
    steps |= {step.passage: step for step in row.trace.steps_of(Dropped)}
    numbers: dict[str, int] = {}
    fates: list[PageFate] = []
    for rank, passage in enumerate(found, 1):
        step = steps.get(passage.id)
        gold = passage.id in gold_ids or passage.title in gold_titles
        needed = gold or isinstance(step, Kept)
        number = pool.passage(passage.id, passage.title, _text(known, passage), 0 if needed else rank)
        numbers[passage.id] = number
        entry: PageFate = {"passage": number, "fate": _fate(step), "why": pool.reason(step.why if step else "")}
        if gold:
            entry["gold"] = True
        if passage.score is not None:
            entry["score"] = _short(passage.score)
        fates.append(entry)
    results = {step.query: step.passages for step in row.trace.steps_of(Found)}
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
        "evidence": [
            _evidence(passage, steps.get(passage.id), numbers, known, pool)
            for passage in (prediction.evidence if prediction else None) or ()
        ],
        "own": prediction.own if prediction else {},
    }


def _fate(step: Kept | Dropped | None) -> _Fate:
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
) -> PageEvidence:
    whole = isinstance(step, Kept) and step.form == "whole" and passage.id in numbers
    number = numbers[passage.id] if whole else pool.passage(passage.id, passage.title, _text(known, passage), 0)
    if passage.id.startswith("lm:"):
        return {"passage": number, "form": "written"}
    return {"passage": number, "form": "extract" if passage.id in numbers and not whole else "whole"}


def _numbers(ids: Sequence[str] | None, numbers: Mapping[str, int]) -> list[int] | None:
    return None if ids is None else [numbers[id_] for id_ in ids if id_ in numbers]


def _title(known: Mapping[str, Passage], id_: str) -> str:
    return known[id_].title if id_ in known else ""


def _text(known: Mapping[str, Passage], passage: Shown) -> str | None:
    if passage.text is not None:
        return passage.text
    return known[passage.id].text if passage.id in known else None


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
