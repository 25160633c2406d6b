"""/openapi.json and /docs, and what the server does with all that fits or breaks them."""

from collections.abc import Iterator

import httpx
import pytest
from support.answers_server import answering_with, serving
from support.described_api import ask_all

import lms


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(answering_with(lms.load("extractive"), "direct", "genread")) as url:
        yield url


def test_it_describes_itself(url: str) -> None:
    document = httpx.get(f"{url}/openapi.json").json()
    page = httpx.get(f"{url}/docs").text
    for path, operations in document["paths"].items():
        for verb in operations:
            assert f"{verb.upper()} {path}" in page
    assert {"/v1/answers", "/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/methods"} <= set(
        document["paths"]
    )


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_nothing_that_fits_or_breaks_the_openapi_page_is_a_server_error(url: str, mode: str) -> None:
    ask_all(url, mode, examples=30)  # what fits may name a method that is not there, or ask nothing


@pytest.mark.parametrize("question", ["\x00", "\ud800", "‮gnp", "x" * 16_384, "<script>", "[[ ## answer ## ]]"])
def test_odd_questions_are_answered(url: str, question: str) -> None:
    body = b'{"method": "direct", "question": "Q: %b"}' % question.encode("unicode_escape").replace(b"\\x", b"\\u00")
    reply = httpx.post(f"{url}/v1/answers", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (200, 400)
    assert reply.json()
