"""/v1/responses, OpenAI's newer interface: the steps as a reasoning item, the answer as a message."""

import itertools
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from programs.instruments.cost import Cost
from programs.instruments.words import Words
from programs.serving.answering import Answering
from programs.serving.description import Endpoint
from programs.serving.forms import Message, ModelForm, form_of
from programs.serving.problems import Problem
from programs.serving.question import Question, Record
from programs.serving.replies import BY_EVENTS, cited, event, reply

__all__ = ["response_routes"]


class Item(BaseModel):
    """What else an input may hold, such as earlier reasoning; it is passed over."""

    type: str


class ResponseForm(ModelForm):
    """A question, or a conversation to go on with. Nothing is stored, so that a conversation is sent whole."""

    input: str | list[Message | Item]
    background: Literal[False] | None = None
    previous_response_id: None = None
    conversation: None = None

    @property
    def messages(self) -> list[Message]:
        """The messages of the input."""
        if isinstance(self.input, str):
            return [Message(role="user", content=self.input)]
        return [item for item in self.input if isinstance(item, Message)]


def response_routes(answering: Answering) -> list[BaseRoute]:
    """The route of responses."""

    async def responses(request: Request) -> Response:
        """OpenAI's responses: a method is a model."""
        asked = await form_of(request, ResponseForm, answering.limits)
        question = answering.begin(asked.asking(answering.methods, asked.messages, "input"))
        response = _Response(question.id, asked.model)
        return await reply(request, question, response.completed, _events(question, response) if asked.stream else None)

    return [Endpoint("/v1/responses", responses, takes=ResponseForm, kinds=BY_EVENTS)]


class _Response:
    """One response, as a whole and in its parts."""

    def __init__(self, id_: str, model: str) -> None:
        self.reasoning_id, self.message_id = f"rs_{id_}", f"msg_{id_}"
        self._head = {
            "id": f"resp_{id_}",
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "temperature": None,
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
        }

    def begun(self) -> dict[str, Any]:
        return {**self._head, "status": "in_progress", "output": [], "usage": None}

    def failed(self, problem: Problem) -> dict[str, Any]:
        error = {"code": "server_error", "message": problem.message}
        return {**self._head, "status": "failed", "output": [], "usage": None, "error": error}

    def completed(self, record: Record) -> dict[str, Any]:
        output = [self.reasoning("".join(map(Words(), record.steps))), self.message(_text(record))]
        return {**self._head, "status": "completed", "output": output, "usage": _usage(record.cost)}

    def reasoning(self, text: str) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": text}] if text else []
        status = "completed" if text else "in_progress"
        return {"id": self.reasoning_id, "type": "reasoning", "summary": summary, "status": status}

    def message(self, part: dict[str, Any] | None) -> dict[str, Any]:
        content, status = ([part], "completed") if part else ([], "in_progress")
        return {"id": self.message_id, "type": "message", "role": "assistant", "content": content, "status": status}


async def _events(question: Question, response: _Response) -> AsyncIterator[bytes]:
    """The events of a response: its steps as they happen, then the answer."""
    numbers = itertools.count()

    def sent(type_: str, **fields: Any) -> bytes:
        return event({"type": f"response.{type_}", "sequence_number": next(numbers), **fields}, f"response.{type_}")

    words, reasoning = Words(), ""
    summary = {"item_id": response.reasoning_id, "output_index": 0, "summary_index": 0}
    try:
        yield sent("created", response=response.begun())
        yield sent("in_progress", response=response.begun())
        yield sent("output_item.added", output_index=0, item=response.reasoning(""))
        yield sent("reasoning_summary_part.added", **summary, part={"type": "summary_text", "text": ""})
        async for told in question:
            if not isinstance(told, Record):
                if said := words(told):
                    reasoning += said
                    yield sent("reasoning_summary_text.delta", **summary, delta=said)
                continue
            yield sent("reasoning_summary_text.done", **summary, text=reasoning)
            yield sent("reasoning_summary_part.done", **summary, part={"type": "summary_text", "text": reasoning})
            yield sent("output_item.done", output_index=0, item=response.reasoning(reasoning))
            for type_, fields in _message_events(response, _text(told)):
                yield sent(type_, **fields)
            yield sent("completed", response=response.completed(told))
    except Problem as problem:
        yield sent("failed", response=response.failed(problem))


def _message_events(response: _Response, part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": response.message_id, "output_index": 1, "content_index": 0}
    yield "output_item.added", {"output_index": 1, "item": response.message(None)}
    yield "content_part.added", {**place, "part": {**part, "text": "", "annotations": []}}
    yield "output_text.delta", {**place, "delta": part["text"], "logprobs": []}
    for index, annotation in enumerate(part["annotations"]):
        yield "output_text.annotation.added", {**place, "annotation_index": index, "annotation": annotation}
    yield "output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "content_part.done", {**place, "part": part}
    yield "output_item.done", {"output_index": 1, "item": response.message(part)}


def _text(record: Record) -> dict[str, Any]:
    said = cited(record)
    annotations = [citation.annotation for citation in said.citations]
    return {"type": "output_text", "text": said.text, "annotations": annotations, "logprobs": []}


def _usage(cost: Cost) -> dict[str, Any]:
    """The tokens of all calls together."""
    return {
        "input_tokens": cost.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": cost.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": cost.input_tokens + cost.output_tokens,
    }
