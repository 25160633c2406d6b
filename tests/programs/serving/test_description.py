"""/openapi.json and /docs, and what the server does with all that fits or breaks them."""

from collections.abc import Iterator

import httpx
import pytest
from support.answers_server import answering_with, serving
from support.described_api import ask_all
from support.runs_on_disk import make_run

import lms
from eval.reports.html.served import run_routes

pytestmark = pytest.mark.needs("uvicorn")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    make_run(runs / "one", 1, 0)
    with serving(answering_with(lms.load("extractive"), "direct", "genread"), run_routes(runs)) as url:
        yield url


def test_it_describes_itself(url: str) -> None:
    document = httpx.get(f"{url}/openapi.json").json()
    page = httpx.get(f"{url}/docs").text
    for path, operations in document["paths"].items():
        for verb in operations:
            assert f"{verb.upper()} {path}" in page
    assert list(document["paths"]) == [
        "/v1/answers", "/v1/methods", "/v1/prompts/{method}",
        "/v1/chat/completions", "/v1/models", "/v1/models/{model}", "/v1/responses", "/mcp", "/health", "/metrics",
        "/v1/runs", "/v1/runs/{name}", "/v1/races", "/v1/races/{name}", "/v1/leaderboard", "/v1/compare",
    ]  # fmt: skip
    schemas = document["components"]["schemas"]
    assert schemas["Completion"]["properties"]["model"]["enum"][2:] == [
        "direct@table",
        "direct@none",
        "genread@table",
        "genread@none",
    ]
    assert "enum" not in schemas["Exchanged"]["properties"]["method"]  # of JSON-RPC
    assert {"retriever", "settings", "messages"} <= set(schemas["Completion"]["properties"])
    assert {"supports"} <= set(schemas["Source"]["properties"])
    assert document["paths"]["/v1/compare"]["get"]["parameters"][2]["name"] == "format"


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_nothing_that_fits_or_breaks_the_openapi_page_is_a_server_error(url: str, mode: str) -> None:
    ask_all(url, mode, examples=30)  # what fits may name a method that is not there, or ask nothing


@pytest.mark.parametrize("question", ["\x00", "\ud800", "‮gnp", "x" * 16_384, "<script>", "[[ ## answer ## ]]"])
def test_odd_questions_are_answered(url: str, question: str) -> None:
    body = b'{"method": "direct", "question": "Q: %b"}' % question.encode("unicode_escape").replace(b"\\x", b"\\u00")
    reply = httpx.post(f"{url}/v1/answers", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (200, 400)
    assert reply.json()
