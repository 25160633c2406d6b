"""/v1/chat/completions and /v1/models, as clients of OpenAI's interface know them: a method is a model, alone
and over each retriever."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from programs.instruments.cost import Cost
from programs.instruments.live import Written
from programs.instruments.words import Words
from programs.serving.answering import Answering
from programs.serving.description import Endpoint
from programs.serving.forms import Message, ModelForm, form_of
from programs.serving.problems import Problem
from programs.serving.question import Question, Record
from programs.serving.replies import BY_EVENTS, Cited, cited, event, reply
from retrieval.serving.requests import json_reply

__all__ = ["chat_routes"]


class StreamOptions(BaseModel):
    """What a stream has beside its deltas."""

    include_usage: bool = False


class Completion(ModelForm):
    """A conversation to go on with."""

    messages: list[Message]
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None


def chat_routes(answering: Answering) -> list[BaseRoute]:
    """The routes of chat completions and models."""
    made = int(time.time())

    def model(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": made, "owned_by": "dspy-odqa"}

    async def models(_: Request) -> Response:
        """The methods, and each over each retriever, as models."""
        return json_reply({"object": "list", "data": [model(name) for name in answering.models]})

    async def one_model(request: Request) -> Response:
        """One of them."""
        name = request.path_params["model"]
        if name not in answering.models:
            raise Problem(404, f"there is no model {name!r} here", "model_not_found", param="model")
        return json_reply(model(name))

    async def completions(request: Request) -> Response:
        """OpenAI's chat completions: a method is a model."""
        asked = await form_of(request, Completion, answering.limits)
        asking = asked.asking(answering.methods, asked.messages, "messages")
        question = answering.begin(replace(asking, written=bool(asked.stream)))
        head = {"id": f"chatcmpl-{question.id}", "created": int(time.time()), "model": asked.model}
        with_usage = asked.stream_options is not None and asked.stream_options.include_usage
        events = _events(question, head, with_usage) if asked.stream else None
        return await reply(request, question, lambda record: _completion(record, head), events)

    return [
        Endpoint("/v1/chat/completions", completions, takes=Completion, kinds=BY_EVENTS),
        Endpoint("/v1/models", models),
        Endpoint("/v1/models/{model:path}", one_model),
    ]


def _completion(record: Record, head: dict[str, Any]) -> dict[str, Any]:
    said = cited(record)
    message = {
        "role": "assistant",
        "content": said.text,
        "refusal": None,
        "annotations": _annotations(said),
        "reasoning_content": "".join(map(Words(), record.steps)),
    }
    return {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": _usage(record.cost),
    }


async def _events(question: Question, head: dict[str, Any], with_usage: bool) -> AsyncIterator[bytes]:
    """The chunks of a completion: the steps as reasoning, the answer while it is written or when it is there."""
    head = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    words, written = Words(), ""
    try:
        yield chunk({"role": "assistant", "content": ""})
        async for told in question:
            if isinstance(told, Written):
                written += told.text
                yield chunk({"content": told.text})
            elif isinstance(told, Record):
                said = cited(told)
                yield chunk({"content": said.after(written)})
                if said.citations:
                    yield chunk({"annotations": _annotations(said)})
                yield chunk({}, "stop")
                if with_usage:
                    yield event({**head, "choices": [], "usage": _usage(told.cost)})
            elif (step := words(told)) and not written:  # after the answer began it would stand in the midst of it
                yield chunk({"reasoning_content": step})
        yield b"data: [DONE]\n\n"
    except Problem as problem:
        yield event(problem.body)


def _annotations(said: Cited) -> list[dict[str, Any]]:
    """The annotations of /v1/responses, one level down."""
    flat = [citation.annotation for citation in said.citations]
    return [{"type": (type_ := annotation.pop("type")), type_: annotation} for annotation in flat]


def _usage(cost: Cost) -> dict[str, int]:
    """The tokens of all calls together."""
    total = cost.input_tokens + cost.output_tokens
    return {"prompt_tokens": cost.input_tokens, "completion_tokens": cost.output_tokens, "total_tokens": total}
