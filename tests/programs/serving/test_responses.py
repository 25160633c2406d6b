"""/v1/responses, asked by the official client."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import Response
from support.answers_server import answering_with, serving
from support.patience import PATIENCE

import lms

pytestmark = pytest.mark.needs("uvicorn")

QUESTION = "Who led the Italian troops at Adwa?"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(answering_with(lms.load("extractive"), "direct", "migres")) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        yield client


def without_time(response: Any) -> Any:
    """The response without what differs between two that are alike: ids, the times, the seconds in the reasoning."""
    told = Response.model_validate(response.to_dict())
    return told.model, told.status, told.output_text, told.output[1].content[0].annotations, told.usage


def test_a_response(client: openai.OpenAI) -> None:
    response = client.responses.create(model="direct", input=QUESTION)
    assert response.output_text.startswith("Baratieri [1]\n\nSources:\n[1] Battle of Adwa")
    reasoning, message = response.output
    assert reasoning.type == "reasoning"
    assert reasoning.summary[0].text.startswith(f"Search 1: {QUESTION}\nFound 1: Battle of Adwa")
    assert message.type == "message"
    (part,) = message.content
    assert part.type == "output_text"
    (first,) = part.annotations
    assert first.type == "file_citation"
    assert (first.file_id, first.filename, first.index) == ("adwa", "Battle of Adwa", 10)
    assert response.usage is not None
    assert response.usage.total_tokens > 0


@pytest.mark.parametrize("method", ["direct", "migres"])
def test_a_stream_builds_the_same_response(client: openai.OpenAI, method: str) -> None:
    whole = client.responses.create(
        model=method, input=[{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    )
    with client.responses.stream(model=method, input=QUESTION) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert without_time(final) == without_time(whole)
    types = [event.type for event in events]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert types[-1] == "response.completed"
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(numbers)
    reasoning = "".join(event.delta for event in events if event.type == "response.reasoning_summary_text.delta")
    assert reasoning == final.output[0].summary[0].text
    assert reasoning.startswith(f"Search 1: {QUESTION}\nFound 1")
    assert types.index("response.output_text.delta") > types.index("response.reasoning_summary_text.done")


def test_earlier_output_is_a_turn_of_the_conversation(client: openai.OpenAI) -> None:
    first = client.responses.create(model="direct", input=QUESTION)
    said: Any = [{"role": "user", "content": QUESTION}, *first.output, {"role": "user", "content": QUESTION}]
    assert client.responses.create(model="direct", input=said).output_text == first.output_text


@pytest.mark.parametrize(
    "form", [{"previous_response_id": "resp_1"}, {"background": True}, {"input": []}, {"input": 3}]
)
def test_what_cannot_be_answered(client: openai.OpenAI, form: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        client.responses.create(**{"model": "direct", "input": QUESTION, **form})
