"""What happens to a question, told step by step while it happens."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from pydantic import model_serializer

from odqa.bridge import Call, Watcher, prompt_of, said_in
from programs.instruments.cost import Cost, PredictorNames, Reply, reply_to
from programs.instruments.trace import Answer, Dropped, Frozen, Kept, Query, Statement, Turn
from retrieval import Passage, Retriever

__all__ = [
    "AloneQuestion",
    "AnswerSoFar",
    "Asked",
    "Live",
    "PassageShown",
    "Passages",
    "Prompt",
    "Source",
    "Spending",
    "Step",
    "Written",
    "shown",
]


_BEGINS = re.compile(r"\[\[ ## answer ## \]\]\s*(?P<chat>)|<answer>\s*(?P<xml>)|\"answer\"\s*:\s*\"(?P<json>)")
_ENDS = {"chat": re.compile(r"\s*\[\["), "xml": re.compile(r"\s*</")}
_PART = {"chat": re.compile(r"\s*\[?$"), "xml": re.compile(r"\s*<?$")}  # what may become the end, or is no part of it


class PassageShown(Frozen):
    """A passage, as clients see it."""

    id: str
    title: str
    text: str
    score: float | None


class AloneQuestion(Frozen):
    """The last question of a conversation was made to stand alone; it is asked in this form."""

    kind: Literal["question"] = "question"
    text: str


class Passages(Frozen):
    """A query found passages."""

    kind: Literal["passages"] = "passages"
    query: int
    """The query's number."""
    passages: tuple[PassageShown, ...] | None
    """Best first; None where the search failed."""


class Prompt(Frozen):
    """What a predictor was shown and what it replied."""

    predictor: str
    messages: tuple[dict[str, Any], ...]
    reply: str
    input_tokens: int
    output_tokens: int


class Asked(Frozen):
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


class Written(Frozen):
    """The next words of the answer, while it is written; the whole of it follows as `Answer`."""

    kind: Literal["text"] = "text"
    text: str


class Spending(Frozen):
    """What the whole question cost."""

    kind: Literal["cost"] = "cost"
    cost: Cost

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        """The fields of the cost beside the kind."""
        return {"kind": self.kind, **asdict(self.cost)}


Step = AloneQuestion | Query | Passages | Asked | Written | Turn | Source | Dropped | Statement | Answer | Spending
"""A step of a question. The first five are told as they happen, the others at the end."""


def shown(passage: Passage) -> PassageShown:
    """The passage, as clients see it."""
    return PassageShown(id=passage.id, title=passage.title, text=passage.text, score=passage.score)


class AnswerSoFar:
    """Takes a reply piece by piece, and gives what each piece adds to the field `answer`."""

    def __init__(self) -> None:
        self._reply = ""
        self._given = ""

    def __call__(self, piece: str) -> str:
        """What the piece adds to the answer; empty where it adds nothing that is sure to belong to it."""
        self._reply += piece
        begins = _BEGINS.search(self._reply)
        if begins is None or begins.lastgroup is None:
            return ""
        answer = _so_far(self._reply[begins.end() :], begins.lastgroup)
        added = answer[len(self._given) :]
        self._given += added
        return added


def _so_far(text: str, form: str) -> str:
    if form == "json":
        said = re.match(r'(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*', text)
        whole = re.sub(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})$", "", said[0] if said else "")  # half of a character
        return str(json.loads(f'"{whole}"', strict=False))
    ends = _ENDS[form].search(text) or _PART[form].search(text)
    return text[: ends.start()] if ends else text


class Live(Watcher):
    """Tells the steps of one question, each when it happens; the calls may come from many threads.

    Args:
        tell: Takes each step. One is told at a time, and in the order in which they happened.
        names: Of the predictors.
        before_search: Called before each search; what it raises that is no Exception ends the question.
        before_call: Likewise before each LM call.
        read: Takes the length of each prompt with its reply, and of the passages of each search, in characters.
        paid: Takes what each LM call that was answered cost.
        prompts: Whether the calls have their prompts with them.
        writes: The predictor whose reply is told while it is written; see `programs.steps.method.Method.writes`.
    """

    def __init__(
        self,
        tell: Callable[[Step], object],
        names: PredictorNames,
        *,
        before_search: Callable[[], object] = lambda: None,
        before_call: Callable[[], object] = lambda: None,
        read: Callable[[int], object] = lambda _: None,
        paid: Callable[[Reply], object] = lambda _: None,
        prompts: bool = False,
        writes: str | None = None,
    ) -> None:
        self._writes = writes
        self._tell, self._names, self._prompts = tell, names, prompts
        self._before_search, self._before_call, self._read, self._paid = before_search, before_call, read, paid
        self._began: dict[str, float] = {}  # when each LM call began that is under way
        self._searches: dict[str, int] = {}  # the numbers of the queries that are under way
        self._queries = 0
        self._lock = threading.Lock()  # guards the number of queries, and the order in which steps are told

    def tell(self, step: Step) -> None:
        """Tell a step that nobody sees from outside."""
        with self._lock:
            self._tell(step)

    def on_call_start(self, call: Call) -> None:
        self._before_call()
        self._began[call.id] = time.perf_counter()
        if self._writes and self._names(call.modules).removesuffix(".predict") == self._writes:
            call.hear = partial(self._write, AnswerSoFar())

    def _write(self, answer: AnswerSoFar, piece: str) -> None:
        if added := answer(piece):
            self.tell(Written(text=added))

    def on_call_end(self, call: Call) -> None:
        predictor, began = self._names(call.modules), self._began.pop(call.id)
        reply, prompt = None, None
        if call.response is not None:
            reply = reply_to(call, predictor)
            prompted = prompt_of(call.request)
            self._paid(reply)
            self._read(sum(len(text) for _, text in prompted) + len(said_in(call.response)))
            if self._prompts:
                prompt = Prompt(
                    predictor=predictor,
                    messages=tuple({"role": role, "content": text} for role, text in prompted),
                    reply=said_in(call.response),
                    input_tokens=reply.input_tokens,
                    output_tokens=reply.output_tokens,
                )
        self.tell(
            Asked(
                predictor=predictor,
                seconds=time.perf_counter() - began,
                input_tokens=reply.input_tokens if reply else 0,
                output_tokens=reply.output_tokens if reply else 0,
                prompt=prompt,
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
