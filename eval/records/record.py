"""The record of a run: what stands in its files, as types that cannot be changed.

`eval.runs.store` reads and writes them; `eval.runs.runner` makes them.
"""

import json
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    field_validator,
    model_serializer,
)
from pydantic_core import to_jsonable_python

from odqa.bridge import readable, said_in
from programs.instruments.cost import Cost, Spent
from programs.instruments.trace import Trace
from programs.steps.text import as_text
from retrieval import Passage

__all__ = [
    "HIGHEST",
    "Error",
    "Manifest",
    "Message",
    "PaidCall",
    "Prediction",
    "Row",
    "Shown",
    "jsonable",
    "plain",
    "prediction",
    "shown",
]

HIGHEST = 1 + 1e-9
"""The highest score; a sum of floats may be a little above 1."""

_MOST = 2.0**53  # up to here every count is a number of its own, in JSON too
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_DEEPEST = 50  # lists and dictionaries in one another that a program's own fields may have


def _possible(spent: Iterable[Spent]) -> None:
    """Check that sums can be made of what was spent.

    Raises:
        ValueError: a number is none that a count, a price or a time can have.
    """
    for each in spent:
        for field in fields(each):
            value = getattr(each, field.name)
            if isinstance(value, int | float) and not 0 <= value < _MOST:
                raise ValueError(f"{field.name} is below 0 or too large")


def _possible_cost(cost: Cost) -> Cost:
    _possible([cost, *cost.predictors.values()])
    return cost


def _possible_by_name(spent: dict[str, Spent]) -> dict[str, Spent]:
    _possible(spent.values())
    return spent


_Spents = Annotated[dict[str, Spent], AfterValidator(_possible_by_name)]
_Score = Annotated[float, Field(ge=0, le=HIGHEST)]
_Usd = Annotated[float, Field(ge=0)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Shown(_Record):
    """A passage, as a prediction reports it."""

    id: str
    title: str = ""
    score: float | None = None
    text: str | None = None
    """None where passages.jsonl of the run has the text."""


class Prediction(_Record):
    """What a program returned."""

    answer: str | None
    """None where the program gave none."""
    queries: tuple[str, ...] | None = None
    """None where the program does not report its queries; likewise for the next two."""
    passages: tuple[Shown, ...] | None = None
    evidence: tuple[Shown, ...] | None = None
    own: dict[str, Any] = Field(default_factory=dict)
    """The program's own fields, as JSON."""


class Error(_Record):
    """Why a question failed."""

    kind: str
    """The name of the exception's class."""
    message: str
    """On one line, without secrets."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class Row(_Record):
    """One question of a run."""

    id: str
    question: str | None
    answers: tuple[str, ...]
    """The gold answers."""
    type: str | None
    """The kind of question, where the data set names one."""
    gold_titles: tuple[str, ...] | None
    gold_passages: tuple[str, ...] | None
    """Ids."""
    prediction: Prediction | None
    """None where the question failed, and in the best of several runs."""
    trace: Trace
    """What happened, in order; the queries and what they found also where the question failed."""
    scores: dict[str, _Score | None]
    """By metric, those that are defined for this question; None where the question failed."""
    error: Error | None
    cost: Annotated[Cost, AfterValidator(_possible_cost)]
    """The program's alone."""
    judging: _Spents
    """What each metric that asks an LM cost."""
    number: int = 0
    """Its place among the questions of the run, from 1; 0 where it is not known."""


class Message(_Record):
    """A part of a prompt."""

    role: str
    text: str


class PaidCall(_Record):
    """One LM call that was paid for, with its reply."""

    question: str
    """The id of the question that it was made for."""
    key: str
    """A hash of the request."""
    usd: _Usd | None
    """None where the price is unknown."""
    reply: dict[str, Any]
    """As `odqa.bridge.recordable` makes it."""
    predictor: str
    """Who asked, by the name in the program."""
    prompt: tuple[Message, ...]

    @field_validator("reply")
    @classmethod
    def _readable(cls, reply: dict[str, Any]) -> dict[str, Any]:
        try:
            readable(reply)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it is no reply of an LM: {error}") from error
        return reply

    @property
    def cut_off(self) -> bool:
        """Whether the reply ended at the limit of tokens."""
        return bool(self.reply.get("finish_reason") == "length")

    def text(self) -> str:
        """What was said; what an LM thought before comes first."""
        return said_in(readable(self.reply))


class Manifest(BaseModel):
    """What a run is: its questions, program, LM and settings. The caller who starts a run may add further entries."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    task: str | None = None
    program: str | None = None
    lm: str | None = None
    retriever: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of the program."""
    state: dict[str, Any] | None = None
    """The file with compiled prompts and its hash."""
    metrics: tuple[str, ...]
    questions: str
    """A hash of the questions."""
    asked: Annotated[int, Field(ge=0, lt=_MOST)]
    """How many questions the run is to ask."""
    started: str
    """When the run was first started: ISO 8601, UTC."""
    self_tests: _Spents
    """What the tests of the judges cost when the run was first started, by metric."""
    versions: dict[str, str]
    format: int
    """Of the run's files."""
    best_of: tuple["Manifest", ...] = ()
    """The runs that this one takes the best answers of; see `eval.figures.comparison.best_of`."""

    @model_serializer(mode="wrap")
    def _said(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """All that is known, by name; what was not said is left out."""
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}

    def entries(self) -> dict[str, Any]:
        """All that is known, by name, as JSON; what was not said is left out."""
        entries: dict[str, Any] = jsonable(self)
        return entries


def jsonable(value: Any) -> Any:
    """A dataclass or a model, with all that is in it, as JSON holds it. Lone surrogates stay: in a key, pydantic fails
    at them."""
    return json.loads(json.dumps(_ANY.dump_python(value), default=to_jsonable_python))


def plain(value: Any, held: Set[tuple[str, str]] = frozenset(), room: int = _DEEPEST) -> Any:
    """The value as JSON holds it.

    Args:
        value: Any value; what JSON has no form for becomes its text.
        held: Ids and texts of passages that are on disk already: these go without their texts.
        room: How many lists and dictionaries may be in one another; what is deeper becomes its text.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Passage():
            return shown(value, held).model_dump(exclude_none=True)
        case Mapping() if room:
            return {str(key): plain(item, held, room - 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset() if room:
            return [plain(item, held, room - 1) for item in value]
    return str(value)


def shown(passage: Passage, held: Set[tuple[str, str]] = frozenset()) -> Shown:
    """The passage as a prediction reports it; without its text if that is held."""
    score = passage.score if passage.score is not None and math.isfinite(passage.score) else None
    text = None if (passage.id, passage.text) in held else passage.text
    return Shown(id=passage.id, title=passage.title, score=score, text=text)


def prediction(fields: Mapping[str, Any], held: Set[tuple[str, str]] = frozenset()) -> Prediction:
    """What a program returned, as a record. Where `queries`, `passages` or `evidence` is not the list that it should
    be, it is kept among the program's own fields."""
    answer, queries = fields["answer"], fields.get("queries")
    passages, evidence = (_all_shown(fields.get(name), held) for name in ("passages", "evidence"))
    read = Prediction(
        answer=_text(answer),
        queries=tuple(queries) if isinstance(queries, list) and all(isinstance(q, str) for q in queries) else None,
        passages=passages,
        evidence=evidence,
    )
    common = {name for name in Prediction.model_fields if getattr(read, name, None) is not None}
    unread = {name: value for name, value in fields.items() if name not in common - {"own"}}
    own = {n: plain(v, held) for n, v in unread.items() if v is not None or n not in Prediction.model_fields}
    return read.model_copy(update={"own": own})


def _text(answer: Any) -> str | None:
    if isinstance(answer, bool):
        return as_text(answer)
    return answer if answer is None or isinstance(answer, str) else str(plain(answer))


def _all_shown(passages: Any, held: Set[tuple[str, str]]) -> tuple[Shown, ...] | None:
    if not isinstance(passages, list) or not all(isinstance(passage, Passage) for passage in passages):
        return None
    return tuple(shown(passage, held) for passage in passages)
