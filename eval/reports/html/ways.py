"""The way of each question through its runs: queries, what each found, what became of each passage and why, evidence.

What became of a passage is read from the fields that all programs have:

kept      it is in the evidence as it was found
extract   it is there with another text
cited     it is not there itself, but facts drawn from it are known (`known_facts`)
dropped   none of these
found     unknown, for the question failed or the program reports no evidence

Why, only the program's own fields can tell; `_said` reads what they say of passages.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eval.figures.comparison import Run
from eval.figures.summary import Row
from retrieval import Passage

__all__ = ["ways"]

_COMMON = ("answer", "queries", "passages", "evidence")
_COSTS = ("lm_calls", "input_tokens", "output_tokens", "usd", "searches", "seconds", "unparsable")
_ROOM = 10_000_000  # characters of texts that nobody was shown, over all questions: what a browser opens at once


def ways(runs: Sequence[Run], passages: Sequence[Mapping[str, Passage]]) -> dict[str, Any]:
    """The questions that all of these runs have asked, as JSON holds them.

    Args:
        runs: At least one.
        passages: Of each run, by their ids, with their texts.

    Returns:
        `passages`, a list of [id, title, text], and `notes`, a list of strings, to which numbers in the rest refer; and
        `questions`, each with its `ways`, one per run. A way's `passages` are lists: number, score, what became of it,
        whether it is gold, the number of the note that says why. A text is None where the run does not have it. Of
        passages that are neither gold nor in the evidence the best-ranked have theirs, so that there is an end to it;
        of others the list is without it.
    """
    pool = _Pool()
    rows = [{row["id"]: row for row in run.rows} for run in runs]
    questions = [
        {
            **{key: row[key] for key in ("id", "question", "answers", "type")},
            "ways": [_way(by_id[row["id"]], known, pool) for by_id, known in zip(rows, passages, strict=True)],
        }
        for row in runs[0].rows
        if all(row["id"] in by_id for by_id in rows)
    ]
    return {"passages": pool.passages(), "notes": list(pool.notes), "questions": questions}


class _Pool:
    """Passages and notes, each once."""

    def __init__(self) -> None:
        self.notes: dict[str, int] = {}
        self._passages: dict[tuple[str, str, str | None], int] = {}
        self._ranks: dict[int, int] = {}  # the best rank of each passage; 0 where its text is needed

    def note(self, text: str) -> int:
        return self.notes.setdefault(text, len(self.notes))

    def passage(self, id_: str, title: str, text: str | None, rank: int) -> int:
        number = self._passages.setdefault((id_, title, text), len(self._passages))
        self._ranks[number] = min(rank, self._ranks.get(number, rank))
        return number

    def passages(self) -> list[list[str | None]]:
        room = _ROOM
        entries: list[list[str | None]] = [[id_, title] for id_, title, _ in self._passages]
        texts = [text for _, _, text in self._passages]
        for number in sorted(self._ranks, key=lambda number: self._ranks[number]):
            text = texts[number]
            if self._ranks[number]:
                room -= len(text or "")
            if room >= 0 or not self._ranks[number]:
                entries[number].append(text)
        return entries


def _way(row: Row, known: Mapping[str, Passage], pool: _Pool) -> dict[str, Any]:
    prediction = row["prediction"] or {}
    own = {name: value for name, value in prediction.items() if name not in _COMMON}
    searches = row.get("searches")
    if searches is None:  # the run is older than this field
        searches = [{"query": query} for query in _strings(prediction.get("queries"))]
    if row["prediction"] is None and row["error"] is None:  # the best of several attempts, of which this is one's
        searches = []
    reported = _passages(prediction.get("passages"))
    if not reported:
        ids = dict.fromkeys(id_ for search in searches for id_ in search.get("found") or ())
        reported = [{"id": id_, "title": known[id_].title if id_ in known else ""} for id_ in ids]
    evidence = _passages(prediction.get("evidence")) if "evidence" in prediction else None
    texts = {passage["id"]: passage.get("text", _text(known, passage["id"])) for passage in reported}
    gold_titles, gold_ids = (set(row.get(name) or ()) for name in ("gold_titles", "gold_passages"))
    said = _said(own, texts)
    fates = _fates(evidence, own, texts)
    entries: list[list[Any]] = []
    numbers: dict[str, int] = {}
    for rank, passage in enumerate(reported, 1):
        id_ = passage["id"]
        gold = id_ in gold_ids or passage["title"] in gold_titles
        fate = "found" if fates is None else fates.get(id_, "dropped")
        needed = gold or fate in ("kept", "extract", "cited")
        numbers[id_] = pool.passage(id_, passage["title"], texts[id_], 0 if needed else rank)
        why = "; ".join(said[id_]) or ("the program does not say why" if fate == "dropped" else "")
        entries.append([numbers[id_], _short(passage.get("score")), fate, gold, pool.note(why)])
    return {
        "answer": _answer(prediction.get("answer")),
        "error": row["error"],
        "scores": row["scores"],
        "cost": {name: _short(row["cost"][name]) for name in _COSTS},
        "searches": [_numbered(search, numbers) for search in searches],
        "passages": entries,
        "missing": sorted(gold_titles - {p["title"] for p in reported} if gold_titles else gold_ids - texts.keys()),
        "evidence": [
            numbers[passage["id"]]
            if fates and fates.get(passage["id"]) == "kept"
            else {
                "id": passage["id"],
                "title": passage["title"],
                "text": passage.get("text", _text(known, passage["id"])),
                "extract": passage["id"] in texts,
            }
            for passage in evidence or ()
        ],
        "own": own,
    }


def _fates(
    evidence: list[dict[str, Any]] | None, own: Mapping[str, Any], texts: Mapping[str, str | None]
) -> dict[str, str] | None:
    """What became of the passages that were not dropped; None where that is unknown."""
    if evidence is None:
        return None
    cited = {id_: "cited" for fact in _records(own.get("known_facts")) for id_ in _strings(fact.get("passages"))}
    shown = {
        passage["id"]: "kept" if passage.get("text", texts[passage["id"]]) == texts[passage["id"]] else "extract"
        for passage in evidence
        if passage["id"] in texts
    }
    return cited | shown


def _said(own: Mapping[str, Any], ids: Iterable[str]) -> defaultdict[str, list[str]]:
    """What a program's own fields say of the passages with these ids.

    Fields that several programs have are put into words: `iterations` (ids `retrieved`, `kept`, `shown`), `known_facts`
    (`passages` that support each) and `found` with `kept` (ids by list). Of others it is said where in a list of ids a
    passage stands, or that it does not, and what it has in a mapping of ids.
    """
    all_ids = set(ids)
    said: defaultdict[str, list[str]] = defaultdict(list)
    for n, turn in enumerate(_records(own.get("iterations")), 1):
        kept, read = set(_strings(turn.get("kept"))), set(_strings(turn.get("shown")))
        for id_ in _strings(turn.get("retrieved")):
            passed = "kept by the filter, not among those read" if id_ in kept else "filtered out"
            said[id_].append(f"round {n}: {'read' if id_ in read else passed}")
    for n, fact in enumerate(_records(own.get("known_facts")), 1):
        for id_ in _strings(fact.get("passages")):
            said[id_].append(f"supports fact {n}")
    lists, left = own.get("found"), own.get("kept")
    worded: set[str] = set()
    if isinstance(lists, dict) and isinstance(left, dict):
        worded = {"found", "kept"}
        for name, found in lists.items():
            kept, whole = set(_strings(left.get(name))), name in _strings(own.get("unfiltered"))
            for id_ in _strings(found):
                passed = "kept, as all: the selection was unparsable" if whole else "kept"
                said[id_].append(f"{name}: {passed if id_ in kept else 'filtered out'}")
    for name, value in own.items():
        if name in worded:
            continue
        for id_, what in _mentions(value):
            said[id_].append(f"{name}: {what}")
        listed = set(_strings(value))
        if listed and listed <= all_ids:
            for id_ in all_ids - listed:
                said[id_].append(f"{name}: not there")
    if _records(own.get("known_facts")):
        for id_ in all_ids - said.keys():
            said[id_].append("supports no fact")
    return said


def _mentions(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for id_, what in value.items():
            if not isinstance(what, dict | list):
                yield id_, f"{_short(what)}"
    elif isinstance(value, list):
        for n, item in enumerate(value, 1):
            if isinstance(item, str):
                yield item, f"{n} of {len(value)}"
            else:
                for id_ in _strings(item):
                    yield id_, f"list {n}"


def _numbered(search: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    if search.get("found") is None:
        return dict(search)
    return {"query": search["query"], "found": [numbers[id_] for id_ in search["found"] if id_ in numbers]}


def _text(known: Mapping[str, Passage], id_: str) -> str | None:
    return known[id_].text if id_ in known else None


def _passages(value: Any) -> list[dict[str, Any]]:
    """Those of a list that are passages; any program may have called something so."""
    return [
        item
        for item in _records(value)
        if isinstance(item.get("id"), str)
        and isinstance(item.get("title"), str)
        and isinstance(item.get("text", ""), str)
    ]


def _records(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _answer(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
