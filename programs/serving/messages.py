"""Conversations as chat clients send them: the last thing the user said is the question."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from programs.serving.conversation import Turn
from programs.serving.problems import Problem

__all__ = ["Message", "conversation"]


class Part(BaseModel):
    """A part of a message; there are other types than text, which are refused."""

    type: str
    text: str | None = None


class Message(BaseModel):
    """What somebody said."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(
        description="what the user and the assistant said is read; other messages are passed over"
    )
    content: str | list[Part] | None = None


def conversation(messages: Sequence[Message], param: str) -> tuple[str, list[Turn]]:
    """The question, which is the last message of the user, and what was said before.

    Args:
        messages: The oldest first.
        param: The part of the request in which they are.

    Raises:
        Problem: there is no question, or something else than text.
    """
    said: list[Turn] = []
    for message in messages:
        if message.role == "user" or message.role == "assistant":
            said.append(Turn(message.role, _text(message, param)))
    while said and said[-1].role != "user":
        said.pop()
    if not said:
        raise Problem(400, "there is no message of the user, and so no question", "invalid_request", param=param)
    *earlier, question = said
    return question.text, [turn for turn in earlier if turn.text.strip()]


def _text(message: Message, param: str) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.text is None and message.role == "user":
            raise Problem(400, f"questions are text, not {part.type[:40]!r}", "invalid_request", param=param)
    return "\n".join(part.text for part in message.content if part.text is not None)
