"""The client against real servers on this machine that behave, and that do not."""

import copy
import gc
import gzip
import json
import logging
import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.patience import PATIENCE
from support.scripted_server import Behaviour, Handler, serving

from retrieval import Passage, RetrievalError, UsageError
from retrieval.remote import ColBERTv2


def says(content: Any, status: int = 200, **headers: str) -> Behaviour:
    """Answers with JSON, or with bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()

    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return behaviour


def breaks_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"topk": [')
    handler.close_connection = True


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def drips(handler: BaseHTTPRequestHandler) -> None:
    """Never stops, and never pauses for long enough to seem silent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(1_000_000):
        handler.wfile.write(b" ")
        threading.Event().wait(0.02)


def echoes(handler: BaseHTTPRequestHandler) -> None:
    """Finds one passage whose text is the query; has no batch endpoint."""
    address = urlsplit(handler.path)
    if handler.command != "GET":
        return says({}, 405)(handler)
    (query,) = parse_qs(address.query, keep_blank_values=True, strict_parsing=True, errors="strict")["query"]
    return says({"topk": [{"text": query, "pid": 1, "score": 1}]})(handler)


def echoes_batches(handler: Handler) -> None:
    asked = json.loads(handler.body)
    says({"topk": [[{"text": query, "pid": 1, "score": 1}] for query in asked["queries"]]})(handler)


ITEM = {"text": "Alan Turing | He broke codes | and ran.", "pid": 7, "rank": 1, "score": 21, "prob": 0.9}
FOUND = says({"topk": [ITEM, {**ITEM, "text": "untitled", "pid": "x-1", "score": 20.5}]})


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the client would have waited between attempts."""
    waits: list[float] = []
    # The client's own name of the module: other threads of the process sleep too.
    monkeypatch.setattr("retrieval.servers.time", SimpleNamespace(sleep=waits.append, monotonic=time.monotonic))
    return waits


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_reads_passages() -> None:
    with serving(FOUND) as server:
        found = ColBERTv2(server.url)("who?", k=5)
    assert found == [Passage("7", ""), Passage("x-1", "")]
    assert [(p.title, p.text, p.score) for p in found] == [
        ("Alan Turing", "He broke codes | and ran.", 21.0),
        ("", "untitled", 20.5),
    ]
    assert server.requests == ["GET /?query=who%3F&k=5"]


def test_takes_no_more_than_k_and_each_id_once() -> None:
    with serving(says({"topk": [ITEM, ITEM, {**ITEM, "pid": 8}, {**ITEM, "pid": 9}]})) as server:
        assert [p.id for p in ColBERTv2(server.url)("q", k=2)] == ["7", "8"]


def test_keeps_path_and_parameters_of_the_url() -> None:
    with serving(FOUND, says({}, 404), FOUND) as server:
        client = ColBERTv2(server.url + "/api/search?index=wiki")
        client("q", k=1)
        client.batch(["q"], k=1)
    assert server.requests == [
        "GET /api/search?index=wiki&query=q&k=1",
        "POST /api/search/batch?index=wiki",
        "GET /api/search?index=wiki&query=q&k=1",
    ]


def test_any_query_arrives() -> None:
    @given(st.text(st.characters(), min_size=1).filter(str.strip))
    @settings(max_examples=50)
    def arrives(query: str) -> None:
        assert client(query)
        sent = parse_qs(urlsplit(server.requests[-1]).query, keep_blank_values=True, errors="strict")
        assert sent == {"query": [query.replace("\0", " ").encode("utf-8", "replace").decode()], "k": ["5"]}

    with serving(FOUND) as server:
        client = ColBERTv2(server.url)
        arrives()
        assert client("€" * 100_000)
        sent = parse_qs(urlsplit(server.requests[-1]).query, errors="strict")
        assert sent["query"] == ["€" * 4_000]


def test_batches_go_in_parts_and_keep_their_order() -> None:
    queries = [f"q{n}" for n in range(40)]
    with serving(echoes_batches) as server:
        found = ColBERTv2(server.url).batch([*queries, " "], k=3)
    assert [passages[0].text for passages in found[:-1]] == queries
    assert found[-1] == []
    assert server.requests == ["POST /batch"] * 3


def test_without_a_batch_endpoint_asks_one_by_one_and_remembers() -> None:
    queries = [f"q{n}" for n in range(20)]
    with serving(echoes) as server:
        client = ColBERTv2(server.url)
        for _ in range(2):
            assert [passages[0].text for passages in client.batch(queries, k=3)] == queries
    assert server.requests[0] == "POST /batch"
    assert all(request.startswith("GET ") for request in server.requests[1:])
    assert len(server.requests) == 41


def test_a_batch_reply_of_the_wrong_length_is_an_error() -> None:
    with serving(says({"topk": [[ITEM]]})) as server, pytest.raises(RetrievalError, match="1 results for 2 queries"):
        ColBERTv2(server.url).batch(["a", "b"], k=1)


@pytest.mark.parametrize("trouble", [says({}, 500), breaks_off, hangs_up])
def test_tries_again(trouble: Behaviour) -> None:
    with serving(trouble, trouble, FOUND) as server:
        assert ColBERTv2(server.url, backoff=0.001)("q")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (says({"error": True, "message": "try\nlater"}, 503), "answers 503 Service Unavailable: try later"),
        (breaks_off, "broke off"),
    ],
)
def test_gives_up(trouble: Behaviour, message: str) -> None:
    with serving(trouble) as server, pytest.raises(RetrievalError, match=message):
        ColBERTv2(server.url, retries=2, backoff=0.001)("q")
    assert len(server.requests) == 3


def test_a_refusal_is_final() -> None:
    with serving(says({"message": "no such index"}, 404)) as server:
        with pytest.raises(RetrievalError, match="answers 404 Not Found: no such index"):
            ColBERTv2(server.url)("q")
        assert len(server.requests) == 1


def test_waits_between_attempts_and_longer_if_the_server_asks(waits: list[float]) -> None:
    busy = says({}, 503)
    with serving(says({}, 429, Retry_After="7"), busy, says({}, 503, Retry_After="9999"), FOUND) as server:
        assert ColBERTv2(server.url, backoff=1)("q")
    assert (waits[0], waits[2]) == (7, 30)
    assert 1 <= waits[1] <= 2


def test_a_silent_server_is_not_waited_for() -> None:
    awake = threading.Event()
    with serving(lambda _: awake.wait() and None) as server:
        with pytest.raises(RetrievalError, match=r"did not answer within 0\.1 s"):
            ColBERTv2(server.url, timeout=0.1, retries=1, backoff=0.001)("q")
        awake.set()
    assert len(server.requests) == 2


def drips_its_head(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def drips_a_redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "/")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        threading.Event().wait(0.05)


@pytest.mark.parametrize("behaviour", [drips, drips_its_head, drips_a_redirect])
def test_a_dripping_server_is_not_waited_for(behaviour: Any) -> None:
    with serving(behaviour) as server, pytest.raises(RetrievalError, match=r"did not answer within 0\.2 s"):
        ColBERTv2(server.url, timeout=0.2, retries=0)("q")


def test_a_huge_reply_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.servers._LARGEST_REPLY", 10_000)
    packed = gzip.compress(b" " * 1_000_000)
    for reply in says(b" " * 1_000_000), says(packed, Content_Encoding="gzip"), says(b" " * 20_000, 302, Location="/"):
        with serving(reply) as server, pytest.raises(RetrievalError, match="sent more than 10,000 bytes"):
            ColBERTv2(server.url)("q")


def test_follows_redirects_but_not_for_ever() -> None:
    with serving(says({}, 307, Location="/search?query=q&k=5"), FOUND) as server:
        assert ColBERTv2(server.url)("q")
        assert server.requests[1] == "GET /search?query=q&k=5"
    with serving(says({}, 302, Location="/")) as server, pytest.raises(RetrievalError, match="redirects"):
        ColBERTv2(server.url)("q")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "Invalid JSON"),
        (b"[" * 100_000, "nonsense"),
        ({}, "topk: Field required"),
        ({"topk": [{**ITEM, "text": None}]}, "topk.0.text: Input should be a valid string"),
        ({"topk": [{**ITEM, "pid": True}]}, "topk.0.pid"),
        ({"topk": [{**ITEM, "score": float("nan")}]}, "topk.0.score: Input should be a finite number"),
        ({"error": True, "message": "index\n not loaded", "topk": []}, "reports an error: index not loaded"),
    ],
)
def test_nonsense_is_an_error_and_final(body: Any, message: str) -> None:
    with serving(says(body)) as server, pytest.raises(RetrievalError, match=message) as caught:
        ColBERTv2(server.url)("q")
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1


def test_any_other_reply_is_an_error() -> None:
    nested = st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=5)

    @given(st.binary(max_size=100) | st.builds(dict, topk=nested))
    @settings(max_examples=50)
    def is_an_error(body: Any) -> None:
        assume(body != {"topk": []})
        server.behaviours[:] = [says(body)]
        with pytest.raises(RetrievalError, match=r"\A.*\Z"):
            client("q")

    with serving(FOUND) as server:
        client = ColBERTv2(server.url)
        is_an_error()


def test_a_server_that_is_down_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    port = free_port()
    with pytest.raises(RetrievalError) as caught:
        ColBERTv2(f"http://me:s3cret@127.0.0.1:{port}/api/search?key=s3cret", retries=1, backoff=0.001)("q")
    message = str(caught.value)
    assert message.startswith(f"no ColBERTv2 server answers at http://127.0.0.1:{port}/api/search (")
    assert "odqa serve-passages" in message
    assert "s3cret" not in message + caplog.text.replace("key=s3cret", "")


def test_user_and_password_are_sent_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str | None] = []

    def guarded(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["authorization"])
        FOUND(handler)

    with serving(guarded) as server:
        ColBERTv2(server.url.replace("//", "//me:s%203cret@"))("q")
    assert seen == ["Basic bWU6cyAzY3JldA=="]
    assert "3cret" not in caplog.text


def test_settings_out_of_range_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="is no URL"):
        ColBERTv2("127.0.0.1:8893")
    for options in ({"timeout": 0.0}, {"timeout": math.nan}, {"retries": -1}, {"backoff": -1.0}):
        with pytest.raises(UsageError, match="timeout must be above 0"):
            ColBERTv2("http://127.0.0.1:1", **options)


def test_k_above_100_is_a_usage_error() -> None:
    client = ColBERTv2("http://127.0.0.1:1")
    with pytest.raises(UsageError, match="at most 100"):
        client("q", k=101)
    with pytest.raises(UsageError, match="at most 100"):
        client.batch(["q"], k=101)


def test_threads_share_one_client() -> None:
    with serving(echoes) as server:
        client = ColBERTv2(server.url)
        assert copy.deepcopy(client) is client
        queries = [f"q{n}" for n in range(200)]
        with ThreadPoolExecutor(16) as pool:
            assert [found[0].text for found in pool.map(client, queries)] == queries


def test_connections_are_closed_with_the_client() -> None:
    gone = threading.Event()

    def waits_for_the_end(handler: BaseHTTPRequestHandler) -> None:
        FOUND(handler)
        handler.wfile.flush()
        if handler.rfile.read(1) == b"":
            gone.set()

    with serving(waits_for_the_end) as server:
        client = ColBERTv2(server.url)
        client("q")
        assert not gone.is_set()
        del client
        gc.collect()
        assert gone.wait(PATIENCE)
