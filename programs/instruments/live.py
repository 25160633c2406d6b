"""What happens to a question, told step by step while it happens."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_serializer

from programs.instruments.cost import Cost, PredictorNames, Recorder, Reply, caller, read_record
from programs.instruments.trace import Answer, Dropped, Kept, Query, Statement, Turn
from retrieval import Passage, Retriever

__all__ = [
    "AloneQuestion",
    "Asked",
    "Live",
    "PassageShown",
    "Passages",
    "Prompt",
    "Source",
    "Spending",
    "Step",
    "shown",
]


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PassageShown(_Step):
    """A passage, as clients see it."""

    id: str
    title: str
    text: str
    score: float | None


class AloneQuestion(_Step):
    """The last question of a conversation was made to stand alone; it is asked in this form."""

    kind: Literal["question"] = "question"
    text: str


class Passages(_Step):
    """A query found passages."""

    kind: Literal["passages"] = "passages"
    query: int
    """The query's number."""
    passages: tuple[PassageShown, ...] | None
    """Best first; None where the search failed."""


class Prompt(_Step):
    """What a predictor was shown and what it replied."""

    predictor: str
    messages: tuple[dict[str, Any], ...]
    reply: str
    input_tokens: int
    output_tokens: int


class Asked(_Step):
    """An LM call ended."""

    kind: Literal["call"] = "call"
    predictor: str
    """The name that is its key in saved states."""
    seconds: float
    input_tokens: int
    """0 where the call failed, or its provider does not say; likewise `output_tokens`."""
    output_tokens: int
    prompt: Prompt | None = None
    """Where prompts were asked for; None where the call failed."""


class Source(Kept):
    """A passage that the answering call was shown, or that a statement rests on."""

    supports: bool
    """Whether it says the answer, or a statement that names it: see `programs.serving.support`."""


class Spending(_Step):
    """What the whole question cost."""

    kind: Literal["cost"] = "cost"
    cost: Cost

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        """The fields of the cost beside the kind."""
        return {"kind": self.kind, **asdict(self.cost)}


Step = AloneQuestion | Query | Passages | Asked | Turn | Source | Dropped | Statement | Answer | Spending
"""A step of a question. The first four are told as they happen, the others at the end."""


def shown(passage: Passage) -> PassageShown:
    """The passage, as clients see it."""
    return PassageShown(id=passage.id, title=passage.title, text=passage.text, score=passage.score)


@dataclass(slots=True)
class _Call:
    """An LM call that is under way."""

    predictor: str
    began: float
    reply: Reply | None = None
    prompt: Prompt | None = None


class Live(Recorder):
    """Tells the steps of one question, each when it happens; the calls may come from many threads.

    Args:
        tell: Takes each step. One is told at a time, and in the order in which they happened.
        names: Of the predictors.
        before_search: Called before each search; what it raises that is no Exception ends the question.
        before_call: Likewise before each LM call.
        read: Takes the length of each prompt with its reply, and of the passages of each search, in characters.
        paid: Takes what each LM call that was answered cost.
        prompts: Whether the calls have their prompts with them.
    """

    def __init__(
        self,
        tell: Callable[[Step], object],
        names: PredictorNames,
        *,
        before_search: Callable[[], object],
        before_call: Callable[[], object],
        read: Callable[[int], object],
        paid: Callable[[Reply], object],
        prompts: bool,
    ) -> None:
        super().__init__()
        self._tell, self._names, self._prompts = tell, names, prompts
        self._before_search, self._before_call, self._read, self._paid = before_search, before_call, read, paid
        self._calls: dict[str, _Call] = {}
        self._current = threading.local()  # the call that each thread makes
        self._searches: dict[str, int] = {}  # the numbers of the queries that are under way
        self._queries = 0
        self._lock = threading.Lock()  # guards the number of queries, and the order in which steps are told

    def tell(self, step: Step) -> None:
        """Tell a step that nobody sees from outside."""
        with self._lock:
            self._tell(step)

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._before_call()
        self._calls[call_id] = self._current.call = _Call(caller(self._names), time.perf_counter())

    def on_record(self, record: dict[str, Any]) -> None:
        call: _Call = self._current.call
        call.reply = reply = read_record(call.predictor, record)
        self._paid(reply)
        self._read(sum(map(_length, _messages(record))) + sum(len(_text(output)) for output in record["outputs"]))
        if self._prompts:
            call.prompt = Prompt(
                predictor=call.predictor,
                messages=tuple(_messages(record)),
                reply="\n".join(map(_text, record["outputs"])),
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
            )

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        call = self._calls.pop(call_id)
        reply = call.reply
        self.tell(
            Asked(
                predictor=call.predictor,
                seconds=time.perf_counter() - call.began,
                input_tokens=reply.input_tokens if reply else 0,
                output_tokens=reply.output_tokens if reply else 0,
                prompt=call.prompt,
            )
        )

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Retriever):
            self._before_search()
            with self._lock:
                self._queries += 1
                self._searches[call_id] = self._queries
                self._tell(Query(number=self._queries, text=inputs["query"]))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        number = self._searches.pop(call_id, None)
        if number is not None:
            self._read(sum(len(passage.text) for passage in outputs or ()))
            self.tell(Passages(query=number, passages=None if outputs is None else tuple(map(shown, outputs))))


def _messages(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What an LM was shown."""
    return record["messages"] or [{"role": "user", "content": record["prompt"]}]


def _length(message: dict[str, Any]) -> int:
    return len(str(message.get("content") or ""))


def _text(output: Any) -> str:
    """The text of one of a call's outputs, which has more than that where the reply had reasoning or the like."""
    return str(output.get("text") or "" if isinstance(output, dict) else output)
