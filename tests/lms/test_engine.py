import asyncio
from typing import Any

from dspy.lm15 import Message, Request

from lms.engine import AsyncPromptEngine, PromptEngine


class Echo(PromptEngine):
    def reply(self, system: str, user: str) -> str:
        return f"{system} / {user}"


REQUEST = Request(
    model="m", system="one two", messages=(Message.user("first"), Message.assistant("so"), Message.user("Is it?"))
)


def test_the_last_user_message_is_answered_and_usage_counts_the_words_of_all() -> None:
    response = Echo().complete(REQUEST)
    assert response.message.text == "one two / Is it?"
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (6, 5, 11)
    assert asyncio.run(AsyncPromptEngine(Echo()).complete(REQUEST)) == response


def test_streams_carry_the_reply() -> None:
    async def collect() -> list[Any]:
        return [event async for event in AsyncPromptEngine(Echo()).stream(REQUEST)]

    for events in (list(Echo().stream(REQUEST)), asyncio.run(collect())):
        assert "".join(event.delta.text for event in events if hasattr(event, "delta")) == "one two / Is it?"
