"""What happened to a question, as typed steps: what was searched, found, kept and dropped, and why, up to the answer.

The steps are made in one place, `trace`, from three things: the searches and the cost that were seen from outside, the
four fields that all programs return, and the fields that a program declares in `reads`. A reader of a trace needs no
knowledge of any program.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal, TypeVar

import dspy
from pydantic import BaseModel, ConfigDict, Field

from odqa.bridge import Watcher, watching
from programs.instruments.cost import Cost
from programs.steps.result import Filtered, Lists, PerPassage, Ranking, Reading, Statements, Turns
from programs.steps.text import as_text
from retrieval import Passage, Retriever

__all__ = [
    "Answer", "Call", "Dropped", "Found", "Frozen", "Kept", "Query", "Search", "Statement", "Step", "Trace", "Turn",
    "observed", "trace",
]  # fmt: skip


@dataclass(slots=True)
class Search:
    """One query sent to a retriever."""

    query: str
    found: list[Passage] | None = None
    """None where the search failed or did not end."""


@contextmanager
def observed() -> Iterator[list[Search]]:
    """Keep the searches made inside the block, in the order in which they begin.

    Holds for searches in threads that carry the context along, as `programs.steps.side_by_side.side_by_side` does.
    """
    observer = _Observer()
    with watching(observer):
        yield observer.searches


class _Observer(Watcher):
    """Many threads add to its list; they only use `append`, which is safe."""

    def __init__(self) -> None:
        self.searches: list[Search] = []
        self._running: dict[str, Search] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Retriever):
            self._running[call_id] = search = Search(inputs["query"])
            self.searches.append(search)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        search = self._running.pop(call_id, None)
        if search is not None:
            search.found = outputs


class Frozen(BaseModel):
    """A record that does not change, and has no other fields than its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Query(Frozen):
    """A query was sent to a retriever."""

    kind: Literal["query"] = "query"
    number: int
    """From 1, in the order in which the program reports its queries."""
    text: str


class Found(Frozen):
    """A query found passages."""

    kind: Literal["found"] = "found"
    query: int
    """The query's number."""
    passages: tuple[str, ...] | None
    """Ids, best first; None where the search failed."""


class Call(Frozen):
    """A predictor asked an LM."""

    kind: Literal["call"] = "call"
    predictor: str
    lm_calls: int
    """How often, second tries after unparsable replies included."""
    input_tokens: int
    output_tokens: int


class Turn(Frozen):
    """A round of a loop."""

    kind: Literal["turn"] = "turn"
    number: int
    """From 1."""
    shown: tuple[str, ...] | None
    """Ids of the passages that an LM read in this round; None where the program does not report them."""


class Kept(Frozen):
    """A passage led to the answer."""

    kind: Literal["kept"] = "kept"
    passage: str
    form: Literal["whole", "extract", "cited"]
    """The answering call was shown all of it, or another text in its place; or only statements that rest on it."""
    why: str
    """What the program says of it; may be empty."""


class Dropped(Frozen):
    """A passage that was found did not lead to the answer."""

    kind: Literal["dropped"] = "dropped"
    passage: str
    why: str


class Statement(Frozen):
    """The program states a fact, and the passages that it rests on."""

    kind: Literal["statement"] = "statement"
    text: str
    passages: tuple[str, ...]


class Answer(Frozen):
    """The program answered."""

    kind: Literal["answer"] = "answer"
    text: str


_Kind = TypeVar("_Kind", bound=Frozen)

Step = Annotated[Query | Found | Call | Turn | Kept | Dropped | Statement | Answer, Field(discriminator="kind")]


class Trace(Frozen):
    """The steps of one question, by kind: each query with what it found, the calls by predictor, turns, what became of
    each passage, statements, the answer. Within a kind they are in order, the calls in that of the predictors' names.

    A program that does not report its evidence has no steps of the kinds kept and dropped. A question that failed has
    queries, what they found, and calls only."""

    steps: tuple[Step, ...] = ()

    def steps_of(self, kind: type[_Kind]) -> list[_Kind]:
        """The steps of this class, in order."""
        return [step for step in self.steps if isinstance(step, kind)]

    def found(self) -> list[str]:
        """Ids of all passages that were found, each once, in the order of the queries."""
        return list(dict.fromkeys(id_ for step in self.steps_of(Found) for id_ in step.passages or ()))


def trace(program: dspy.Module, searches: Sequence[Search], cost: Cost, prediction: Mapping[str, Any] | None) -> Trace:
    """The trace of a question.

    Args:
        program: What was asked. Its attribute `reads`, if it has one, says how its own fields are to be read.
        searches: What it searched, as `observed` saw it.
        cost: What it cost, as `programs.instruments.cost.measured` saw it.
        prediction: What it returned; None where the question failed.
    """
    steps: list[Any] = []
    fields = prediction or {}
    for number, search in enumerate(_ordered(searches, fields.get("queries")), 1):
        found = None if search.found is None else tuple(passage.id for passage in search.found)
        steps += [Query(number=number, text=search.query), Found(query=number, passages=found)]
    for name, spent in cost.predictors.items():
        steps.append(
            Call(
                predictor=name,
                lm_calls=spent.lm_calls,
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
            )
        )
    if prediction is not None:
        reads: Mapping[str, Reading] = getattr(program, "reads", {})
        declared = {name: (reading, fields[name]) for name, reading in reads.items() if name in fields}
        passages = _passages(fields.get("passages")) or [p for search in searches for p in search.found or ()]
        steps += _turns(declared)
        steps += _fates({passage.id: passage.text for passage in passages}, declared, fields)
        steps += _statements(declared)
        if fields.get("answer") is not None:
            answer = fields["answer"]
            steps.append(Answer(text=as_text(answer) if isinstance(answer, bool) else str(answer)))
    return Trace(steps=tuple(steps))


_Declared = Mapping[str, tuple[Reading, Any]]  # by name of the field: how to read it, and its value


def _ordered(searches: Sequence[Search], queries: Any) -> list[Search]:
    """In the order of the program's own list of queries: searches that are made side by side begin in any order."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, query in enumerate(queries if isinstance(queries, list) else ()):
        places[str(query)].append(place)
    placed = [(places[search.query].pop(0) if places[search.query] else inf, search) for search in searches]
    return [search for _, search in sorted(placed, key=lambda pair: pair[0])]


def _turns(declared: _Declared) -> Iterator[Turn]:
    for reading, value in declared.values():
        if isinstance(reading, Turns):
            for number, turn in enumerate(value, 1):
                shown = turn.get("shown")
                yield Turn(number=number, shown=None if shown is None else tuple(shown))


def _statements(declared: _Declared) -> Iterator[Statement]:
    for reading, value in declared.values():
        if isinstance(reading, Statements):
            for statement in value:
                yield Statement(text=statement["fact"], passages=tuple(statement["passages"]))


def _fates(texts: Mapping[str, str], declared: _Declared, fields: Mapping[str, Any]) -> Iterator[Kept | Dropped]:
    """What became of each passage, by id and text; nothing where the program does not report its evidence."""
    if "evidence" not in fields:
        return
    said = _said(texts, declared, fields)
    forms: dict[str, Literal["whole", "extract", "cited"]] = {}
    for statement in _statements(declared):
        forms |= dict.fromkeys(statement.passages, "cited")
    for passage in _passages(fields["evidence"]):
        if passage.id in texts:
            forms[passage.id] = "whole" if passage.text == texts[passage.id] else "extract"
    for id_ in texts:
        why = "; ".join(said[id_])
        if id_ in forms:
            yield Kept(passage=id_, form=forms[id_], why=why)
        else:
            yield Dropped(passage=id_, why=why or "the program does not say why")


def _said(ids: Iterable[str], declared: _Declared, fields: Mapping[str, Any]) -> defaultdict[str, list[str]]:
    """What the declared fields say of the passages with these ids."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for name, (reading, value) in declared.items():
        for id_, what in _remarks(name, reading, value, set(ids), fields):
            said[id_].append(what)
    if any(isinstance(reading, Statements) and value for reading, value in declared.values()):
        for id_ in ids:
            if id_ not in said:
                said[id_].append("supports no statement")
    return said


def _remarks(
    name: str, reading: Reading, value: Any, ids: set[str], fields: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Passages' ids, and what one field says of each."""
    match reading:
        case Turns():
            rounds: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
            for number, turn in enumerate(value, 1):
                for id_ in turn.get("retrieved", ()):
                    passed = "kept by the filter, but not read" if id_ in turn.get("kept", ()) else "dropped"
                    rounds[id_, "read" if id_ in turn.get("shown", ()) else passed].append(str(number))
            for (id_, fate), of in rounds.items():
                yield id_, f"{fate} in round{'s' * (len(of) > 1)} {', '.join(of)}"
        case Statements():
            for number, statement in enumerate(value, 1):
                yield from ((id_, f"supports statement {number}") for id_ in statement["passages"])
        case Filtered(found, whole, names):
            fates: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
            for list_, before in fields[found].items():
                unread = " (as all were: the selection was unparsable)" if list_ in fields[whole] else ""
                for id_ in before:
                    fate = f"kept{unread}" if id_ in value.get(list_, ()) else "dropped"
                    fates[id_, fate].append(names.get(list_, list_))
            yield from ((id_, f"{fate} for {', '.join(lists)}") for (id_, fate), lists in fates.items())
        case Ranking():
            for rank, id_ in enumerate(value, 1):
                yield id_, f"{name}: place {rank} of {len(value)}"
            yield from ((id_, f"{name}: no place") for id_ in sorted(ids.difference(value)))
        case Lists():
            for number, list_ in enumerate(value, 1):
                yield from ((id_, f"{name} in turn {number}") for id_ in list_)
        case PerPassage():
            for id_, what in value.items():
                yield id_, f"{name}: {f'{what:.4g}' if isinstance(what, float) else what}"


def _passages(value: Any) -> list[Passage]:
    """The passages in a field that a program may have used for something else."""
    return [item for item in value if isinstance(item, Passage)] if isinstance(value, list) else []
