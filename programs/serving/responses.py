"""/v1/responses, OpenAI's newer interface: the steps as a reasoning item, the answer as a message."""

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from programs.instruments.cost import Cost
from programs.instruments.words import Words
from programs.serving.answering import Answering
from programs.serving.cited import cited
from programs.serving.description import Endpoint
from programs.serving.events import Events, event, unless_gone
from programs.serving.forms import ModelForm, form_of
from programs.serving.messages import Message, conversation
from programs.serving.problems import Problem
from programs.serving.question import Question
from programs.serving.records import Record
from retrieval.serving.requests import json_reply

__all__ = ["ResponseForm", "response_routes"]


class Item(BaseModel):
    """What else an input may hold, such as earlier reasoning; it is passed over."""

    type: str


class ResponseForm(ModelForm):
    """A question, or a conversation to go on with. Nothing is stored, so that a conversation is sent whole."""

    input: str | list[Message | Item]
    background: Literal[False] | None = None
    previous_response_id: None = None
    conversation: None = None


def response_routes(answering: Answering) -> list[BaseRoute]:
    """The routes."""

    async def responses(request: Request) -> Response:
        """OpenAI's responses: a method is a model."""
        asked = await form_of(request, ResponseForm, answering.limits)
        said: Sequence[Message | Item] = (
            [Message(role="user", content=asked.input)] if isinstance(asked.input, str) else asked.input
        )
        text, earlier = conversation([item for item in said if isinstance(item, Message)], "input")
        question = answering.begin(asked.asking(answering.methods, text, earlier))
        response = _Response(question.id, asked.model)
        if asked.stream:
            return Events(question, _events(question, response))
        record = await unless_gone(request, question)
        return json_reply(response.completed(record) if record else None)

    return [Endpoint("/v1/responses", responses, takes=ResponseForm, kinds=["application/json", "text/event-stream"])]


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
        words = Words()
        output = [self.reasoning("".join(map(words, record.steps))), self.message(_text(record))]
        return {**self._head, "status": "completed", "output": output, "usage": _usage(record.cost)}

    def reasoning(self, text: str) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": text}] if text else []
        status = "completed" if text else "in_progress"
        return {"id": self.reasoning_id, "type": "reasoning", "summary": summary, "status": status}

    def message(self, part: dict[str, Any] | None) -> dict[str, Any]:
        content, status = ([part], "completed") if part else ([], "in_progress")
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "content": content,
            "status": status,
        }


async def _events(question: Question, response: _Response) -> AsyncIterator[bytes]:
    """The events of a response: its steps as they happen, then the answer."""
    number = 0

    def sent(type_: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": type_, "sequence_number": number - 1, **fields}, type_)

    words, reasoning = Words(), ""
    summary = {"item_id": response.reasoning_id, "output_index": 0, "summary_index": 0}
    try:
        yield sent("response.created", response=response.begun())
        yield sent("response.in_progress", response=response.begun())
        yield sent("response.output_item.added", output_index=0, item=response.reasoning(""))
        yield sent("response.reasoning_summary_part.added", **summary, part={"type": "summary_text", "text": ""})
        async for told in question:
            if not isinstance(told, Record):
                if said := words(told):
                    reasoning += said
                    yield sent("response.reasoning_summary_text.delta", **summary, delta=said)
                continue
            yield sent("response.reasoning_summary_text.done", **summary, text=reasoning)
            part = {"type": "summary_text", "text": reasoning}
            yield sent("response.reasoning_summary_part.done", **summary, part=part)
            yield sent("response.output_item.done", output_index=0, item=response.reasoning(reasoning))
            for type_, fields in _message_events(response, _text(told)):
                yield sent(type_, **fields)
            yield sent("response.completed", response=response.completed(told))
    except Problem as problem:
        yield sent("response.failed", response=response.failed(problem))


def _message_events(response: _Response, part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": response.message_id, "output_index": 1, "content_index": 0}
    yield "response.output_item.added", {"output_index": 1, "item": response.message(None)}
    empty = {**part, "text": "", "annotations": []}
    yield "response.content_part.added", {**place, "part": empty}
    yield "response.output_text.delta", {**place, "delta": part["text"], "logprobs": []}
    for index, annotation in enumerate(part["annotations"]):
        fields = {"annotation_index": index, "annotation": annotation}
        yield "response.output_text.annotation.added", {**place, **fields}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}
    yield "response.output_item.done", {"output_index": 1, "item": response.message(part)}


def _text(record: Record) -> dict[str, Any]:
    said = cited(record)
    annotations = [citation.annotation for citation in said.citations]
    return {"type": "output_text", "text": said.text, "annotations": annotations, "logprobs": []}


def _usage(cost: Cost) -> dict[str, Any]:
    """All calls together."""
    return {
        "input_tokens": cost.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": cost.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": cost.input_tokens + cost.output_tokens,
    }
