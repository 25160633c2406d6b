"""/openapi.json and /docs, and what the server does with all that fits or breaks them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
from hypothesis import HealthCheck, given, settings
from support.answers_server import answering_with, serving

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
    schemathesis = pytest.importorskip("schemathesis", reason="the fuzz needs schemathesis")
    page = httpx.get(f"{url}/openapi.json").json()
    # What fits the page may name a method that is not there, or ask nothing.
    checks = schemathesis.Config.from_dict({"checks": {"positive_data_acceptance": {"enabled": False}}})
    schema = schemathesis.openapi.from_dict(page, config=checks)

    @given(schema.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    @settings(max_examples=30, suppress_health_check=list(HealthCheck), database=None, deadline=None)
    def is_answered(case: Any) -> None:
        case.call_and_validate(base_url=url, session=session)

    with requests.Session() as session:
        session.trust_env = False
        is_answered()


@pytest.mark.parametrize("question", ["\x00", "\ud800", "‮gnp", "x" * 16_384, "<script>", "[[ ## answer ## ]]"])
def test_odd_questions_are_answered(url: str, question: str) -> None:
    body = b'{"method": "direct", "question": "Q: %b"}' % question.encode("unicode_escape").replace(b"\\x", b"\\u00")
    reply = httpx.post(f"{url}/v1/answers", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (200, 400)
    assert reply.json()
