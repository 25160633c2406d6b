"""Who is turned away: without the token, under a foreign name, from a foreign page, with a body that is too large."""

import hmac
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.answers_server import answering_with, serving

import lms
from programs.serving.guard import Admission
from retrieval import UsageError

pytestmark = pytest.mark.needs("uvicorn")

ASK = {"question": "Who led the Italian troops at Adwa?", "method": "direct"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    answering = answering_with(lms.load("extractive"), limits={"body": 1000})
    with serving(answering, token="the token", names=("answers.example",)) as url:
        yield url


def ask(url: str, **headers: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/answers", json=ASK, headers={"Authorization": "Bearer the token", **headers})


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer the", "Bearer the token2", "Basic the token", "Bearer \xe9"])
def test_without_the_token_nothing_is_answered(url: str, given: str) -> None:
    headers = {"Authorization": given.encode("latin-1")}
    for path in ("/v1/methods", "/v1/models", "/metrics", "/v1/prompts/direct", "/mcp", "/v1/runs", "/nothing"):
        reply = httpx.get(url + path, headers=headers)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert reply.json()["error"]["type"] == "authentication_error"
    assert httpx.post(f"{url}/v1/answers", json=ASK, headers=headers).status_code == 401
    for path in ("/health", "/docs", "/openapi.json"):
        assert httpx.get(url + path, headers=headers).status_code == 200


def test_tokens_are_compared_in_a_time_that_tells_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, known: bytes) -> bool:
        compared.append((given, known))
        return True

    monkeypatch.setattr(hmac, "compare_digest", compare)  # whose time does not depend on where the two differ
    assert ask(url, Authorization="Bearer wrong").status_code == 200  # nothing else is compared
    assert compared == [(b"wrong", b"the token")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": "bearer the token"}, 200),
        ({"Host": "localhost:8900"}, 200),
        ({"Host": "[::1]:8900"}, 200),
        ({"Host": "Answers.example"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "127.0.0.1:x"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost:8900", "Origin": "http://localhost:8900"}, 200),
        ({"Host": "answers.example", "Origin": "https://answers.example"}, 200),
        ({"Host": "localhost:8900", "Origin": "http://localhost:8901"}, 403),
        ({"Host": "localhost:8900", "Origin": "http://evil.example"}, 403),
        ({"Origin": "http://evil.example:8900"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[::1"}, 403),
    ],
)
def test_names_and_origins(url: str, headers: dict[str, str], status: int) -> None:
    assert ask(url, **headers).status_code == status


def test_large_bodies(url: str) -> None:
    def chunks(size: int) -> Iterator[bytes]:
        yield from [b" "] * size

    headers = {"Authorization": "Bearer the token", "Content-Type": "application/json"}
    for content in (b" " * 1001, chunks(1001)):
        reply = httpx.post(f"{url}/v1/answers", content=content, headers=headers)
        assert reply.status_code == 413
        assert reply.json()["error"]["message"] == "a request is at most 1,000 bytes long"
    assert httpx.post(f"{url}/v1/answers", content=b" " * 1000, headers=headers).status_code == 400
    assert (
        httpx.post(f"{url}/v1/answers", content=b"{}", headers=headers | {"Content-Type": "text/plain"}).status_code
        == 415
    )


def test_pages_load_nothing_from_elsewhere(url: str) -> None:
    page = httpx.get(f"{url}/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert "://" not in page.text
    assert httpx.get(f"{url}/page/base.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "answers.example"])
def test_other_machines_are_let_in_by_token_alone(host: str) -> None:
    with pytest.raises(UsageError, match="ODQA_TOKEN"):
        Admission(host)
    assert Admission(host, "t").token == "t"


@pytest.mark.parametrize("name", ["", "https://answers.example", "answers.example:443", "answers.example/", "[::1]"])
def test_a_name_that_no_request_has_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--allow-host takes a name alone"):
        Admission(names=("::1", name))


@pytest.mark.parametrize(
    ("admission", "hosts"),
    [
        ({}, {"localhost", "127.0.0.1", "::1"}),
        ({"host": "127.0.0.2", "names": ("A.example",)}, {"localhost", "127.0.0.1", "::1", "127.0.0.2", "a.example"}),
        ({"host": "0.0.0.0", "token": "t"}, None),
        ({"host": "::", "token": "t", "names": ("a",)}, {"localhost", "127.0.0.1", "::1", "::", "a"}),
    ],
)
def test_the_servers_own_names(admission: Any, hosts: Any) -> None:
    assert Admission(**admission).hosts == hosts
