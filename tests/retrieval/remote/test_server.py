"""The search server, run for real on this machine, asked by dspy's own client, ours, and clients that mean no good."""

import math
import signal
import socket
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import dspy
import httpx
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from support.described_api import ask_all
from support.loopback import listens, started, under_way
from support.patience import PATIENCE, eventually

from odqa.errors import ShardError
from retrieval import Memory, Passage, RetrievalError, Retriever, UsageError
from retrieval.remote import ColBERTv2
from retrieval.remote.server import ServerLimits, make_app, serve
from retrieval.serving.listening import listen
from retrieval.serving.pages import names_of

pytestmark = pytest.mark.needs("uvicorn")

TABLE = [
    Passage("7", "He broke codes in a hut.", "Alan Turing"),
    Passage("x-1", "A hut in a park, once full of codes."),
    *(Passage(f"n{n}", f"This passage holds the word w{n} only.", f"Number {n}") for n in range(200)),
]
MEMORY = Memory(TABLE)


@contextmanager
def serving(retriever: Retriever, **limits: Any) -> Iterator[str]:
    """The URL of a server that runs in a thread."""
    app = make_app(retriever, ServerLimits(**{"timeout": PATIENCE, **limits}))
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with under_way(uvicorn.Server(uvicorn.Config(app, lifespan="on", ws="none", log_config=None)), listener) as url:
        yield url


def test_pages_of_other_sites_may_not_search() -> None:
    app = make_app(MEMORY, names=names_of("127.0.0.1", ["search.example.org"]))
    with under_way(uvicorn.Server(uvicorn.Config(app, log_config=None)), listen("127.0.0.1", 0)) as url:

        def status(**headers: str) -> int:
            return httpx.get(url, params={"query": "codes"}, headers=headers, timeout=PATIENCE).status_code

        port = url.rpartition(":")[2]
        for known in ("127.0.0.1", f"localhost:{port}", f"[::1]:{port}", "SEARCH.example.org"):
            assert status(Host=known) == 200
        for rebound in (f"evil.example.org:{port}", "localhost.example.org", "[", ""):
            assert status(Host=rebound) in (400, 403)
        assert [status(**{"Sec-Fetch-Site": site}) for site in ("cross-site", "same-site", "none")] == [403, 403, 200]


class Gated(Retriever):
    """Searches when it is let, and keeps what it was asked."""

    def __init__(self, retriever: Retriever = MEMORY) -> None:
        self.retriever = retriever
        self.batches: list[tuple[list[str], int]] = []
        self.gate = threading.Event()

    def search(self, query: str, k: int) -> list[Passage]:
        raise NotImplementedError

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        self.batches.append((list(queries), k))
        self.gate.wait()
        return self.retriever.search_batch(queries, k)


class Failing(Retriever):
    """Fails on queries that hold the word poison."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def search(self, query: str, k: int) -> list[Passage]:
        if "poison" in query:
            raise self.error
        return MEMORY.search(query, k)


class Given(Retriever):
    """Finds what it is given."""

    found: Any = ()

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        return self.found


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(MEMORY) as url:
        yield url


@pytest.fixture
def gated() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.gate.set()


def waiting(url: str) -> int:
    (line,) = (line for line in httpx.get(f"{url}/metrics").text.splitlines() if line.startswith("search_waiting"))
    return int(float(line.split()[1]))


@pytest.mark.parametrize(("path", "post"), [("", False), ("/api/search", True)])
def test_dspys_client(url: str, path: str, post: bool) -> None:
    client = dspy.ColBERTv2(url=url + path, post_requests=post)
    query = f"codes hut {uuid.uuid4()}"
    assert client(query, k=1, simplify=True) == ["Alan Turing | He broke codes in a hut."]
    found = client(query, k=2)
    assert [(item.pid, item.rank, item.long_text) for item in found] == [
        ("7", 1, "Alan Turing | He broke codes in a hut."),
        ("x-1", 2, "A hut in a park, once full of codes."),
    ]
    assert len(client(f"passage {uuid.uuid4()}", k=100)) == 100


def test_scores_become_probabilities() -> None:
    retriever = Given()
    retriever.found = [[Passage("a", "", score=3.0), Passage("b", "", score=1.0), Passage("c", "", score=-5000.0)]]
    with serving(retriever) as url:
        items = httpx.get(url, params={"query": "q"}).json()["topk"]
    assert [item["score"] for item in items] == [3.0, 1.0, -5000.0]
    assert [item["prob"] for item in items] == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2)), 0.0])


@pytest.mark.parametrize("path", ["", "/api/search"])
def test_our_client(url: str, path: str) -> None:
    client = ColBERTv2(url + path)
    queries = [f"word w{n} passage" for n in range(100)]
    expected = MEMORY.batch(queries, k=3)
    assert [client(query, k=3) for query in queries[:5]] == expected[:5]
    found = client.batch([*queries, " "], k=3)
    assert found == [*expected, []]
    assert [(p.title, p.text, p.score) for p in found[42]] == [(p.title, p.text, p.score) for p in expected[42]]
    assert client._has_batch


def test_any_passage_arrives() -> None:
    retriever = Given()
    texts = st.text(st.characters(exclude_categories=["Cs"]))
    titles = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|"))
    scores = st.floats(allow_nan=False, allow_infinity=False)
    passages = st.lists(st.builds(Passage, texts, texts, titles, scores), max_size=5, unique_by=lambda p: p.id)

    @given(passages)
    @settings(max_examples=50)
    def arrives(passages: list[Passage]) -> None:
        retriever.found = [passages]
        found = client("q", k=5)
        assert [(p.id, p.score) for p in found] == [(p.id, p.score) for p in passages]
        for came, went in zip(found, passages, strict=True):
            if went.title or " | " not in went.text:
                assert (came.title, came.text) == (went.title, went.text)

    with serving(retriever) as url:
        client = ColBERTv2(url)
        arrives()
        retriever.found = [[Passage("\ud800", "lone \ud800 surrogate", "\udfff", 1.0)]]
        assert [(p.id, p.title, p.text) for p in client("q")] == [("?", "?", "lone ? surrogate")]


def test_many_clients_at_once_each_get_their_own(url: str) -> None:
    client = ColBERTv2(url)
    queries = [f"word w{n} passage" for n in range(200)]
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda pair: client(pair[1], k=1 + pair[0] % 3), enumerate(queries)))
    assert found == [MEMORY(query, k=1 + n % 3) for n, query in enumerate(queries)]


def test_what_waits_is_searched_together(gated: Gated) -> None:
    with serving(gated, batch=4) as url, ThreadPoolExecutor(11) as pool:
        client = ColBERTv2(url)
        first = pool.submit(client, "w0", k=1)
        eventually(lambda: gated.batches)
        rest = [pool.submit(client, f"w{n}", k=1 + n % 2) for n in range(1, 11)]
        eventually(lambda: waiting(url) == 10)
        gated.gate.set()
        assert [search.result()[0].id for search in [first, *rest]] == [f"n{n}" for n in range(11)]
    assert gated.batches[0] == (["w0"], 1)
    assert sorted(query for queries, _ in gated.batches for query in queries) == sorted(f"w{n}" for n in range(11))
    assert all(int(query[1:]) % 2 == k - 1 for queries, k in gated.batches for query in queries)
    assert len(gated.batches) <= 1 + 2 * 3  # three groups of at most four, each with two values of k


def test_beyond_the_queue_it_is_busy(gated: Gated) -> None:
    with serving(gated, waiting=64) as url, ThreadPoolExecutor(2) as pool:
        first = pool.submit(httpx.get, url, params={"query": "w0"}, timeout=PATIENCE)
        eventually(lambda: gated.batches)
        full = pool.submit(httpx.post, f"{url}/batch", json={"queries": ["w1"] * 64}, timeout=PATIENCE)
        eventually(lambda: waiting(url) == 64)
        refused = httpx.get(url, params={"query": "w2"})
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json() == {"error": True, "message": "too many searches are waiting; try again later"}
        with pytest.raises(RetrievalError, match="503 Service Unavailable: too many searches are waiting"):
            ColBERTv2(url, retries=0)("w2")
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        gated.gate.set()
        assert first.result().status_code == 200
        assert len(full.result().json()["topk"]) == 64


def test_a_stuck_retriever_is_told_and_forgotten(gated: Gated) -> None:
    with serving(gated, timeout=0.2) as url:
        for query in ("w1", "w2"):
            late = httpx.get(url, params={"query": query})
            assert late.status_code == 503
            assert late.json()["message"] == "not found within 0.2 s; try again later"
        assert httpx.get(f"{url}/health").status_code == 503
        gated.gate.set()
        eventually(lambda: httpx.get(f"{url}/health").status_code == 200)
        eventually(lambda: httpx.get(url, params={"query": "w3"}).text.count('"pid":"n3"'))  # where 0.2 s are enough
    (first, *others) = [queries for queries, _ in gated.batches]
    assert first == ["w1"]
    assert {query for queries in others for query in queries} == {"w3"}  # nobody waited for w2 any more


@pytest.mark.parametrize("error", [RuntimeError("/secret/path"), StopIteration()])
def test_a_retriever_that_fails_is_a_502_without_details(
    error: Exception, gated: Gated, caplog: pytest.LogCaptureFixture
) -> None:
    gated.retriever = Failing(error)
    with serving(gated) as url, ThreadPoolExecutor(8) as pool:
        first = pool.submit(httpx.get, url, params={"query": "w0"})
        eventually(lambda: gated.batches)
        queries = ["w1", "poison", "w2"]
        rest = [pool.submit(httpx.get, url, params={"query": query}) for query in queries]
        eventually(lambda: waiting(url) == 3)
        gated.gate.set()
        assert [search.result().status_code for search in [first, *rest]] == [200, 200, 502, 200]
        failed = rest[1].result()
        assert failed.json() == {"error": True, "message": "the retriever failed; the server's log says why"}
    assert "The retriever failed" in caplog.text
    assert str(error) in caplog.text


def test_a_shard_that_is_down_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Down(Gated):
        def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
            super().search_batch(queries, k)
            raise ShardError("shard 1 is down", "/secret/path")

        def check(self) -> None:
            if self.gate.is_set():
                raise ShardError("shard 1 is down", "/secret/path")

    down = Down()
    with serving(down) as url, ThreadPoolExecutor(8) as pool:
        assert httpx.get(f"{url}/health").status_code == 200
        first = pool.submit(httpx.get, url, params={"query": "w0"})
        eventually(lambda: down.batches)
        rest = [pool.submit(httpx.get, url, params={"query": query}) for query in ("w1", "w2")]
        eventually(lambda: waiting(url) == 2)
        down.gate.set()
        for search in [first, *rest]:
            assert (search.result().status_code, search.result().json()["message"]) == (502, "shard 1 is down")
        assert [len(queries) for queries, _ in down.batches] == [1, 2]  # they are not tried one by one
        with pytest.raises(RetrievalError, match="502 Bad Gateway: shard 1 is down"):
            ColBERTv2(url, retries=0)("w3")
        health = httpx.get(f"{url}/health")
        assert (health.status_code, health.json()["message"]) == (503, "shard 1 is down")
    assert "/secret/path" in caplog.text


@pytest.mark.parametrize("found", [[], [[Passage("a", "no score")]], [[Passage("a", "", score=math.nan)]]])
def test_a_retriever_that_talks_nonsense_is_a_502(found: Any) -> None:
    retriever = Given()
    retriever.found = found
    with serving(retriever) as url:
        assert httpx.get(url, params={"query": "q"}).status_code == 502
        retriever.found = [[]]
        assert httpx.get(url, params={"query": "q"}).json() == {"topk": []}


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/", 422, "query.query: Field required"),
        ("/?query=q&k=0", 422, "query.k: Input should be greater than or equal to 1"),
        ("/?query=q&k=101", 422, "query.k: Input should be less than or equal to 100"),
        ("/?query=" + "q" * 16_385, 422, "query.query: String should have at most 16384 characters"),
        ("/?query=%ff", 400, "the query string is not UTF-8"),
        ("/none", 404, "Not Found"),
    ],
)
def test_bad_gets(url: str, address: str, status: int, message: str) -> None:
    reply = httpx.get(url + address)
    assert reply.status_code == status
    assert reply.json()["error"] is True
    assert reply.json()["message"].startswith(message)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/", b"[" * 100_000, 400, "the body is no JSON: "),
        ("/", b'{"query": "\xff"}', 400, "the body is no JSON: "),
        ("/", b'{"query": "q", "\\ud800": 1}', 400, "the body is no JSON: "),
        ("/", b'{"query": "q", "top_k": 1}', 422, "body.top_k: Extra inputs are not permitted"),
        ("/", b'{"query": "q", "k": true}', 422, "body.k: "),
        ("/", b'{"query": "' + b"q" * 16_385 + b'"}', 422, "body.query: String should have at most"),
        ("/batch", b'{"queries": [' + b'"q",' * 64 + b'"q"]}', 422, "body.queries: List should have at most 64"),
    ],
)
def test_bad_posts(url: str, path: str, body: bytes, status: int, message: str) -> None:
    reply = httpx.post(url + path, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == status
    assert reply.json()["error"] is True
    assert reply.json()["message"].startswith(message)


def test_bad_forms(url: str) -> None:
    for headers in ({"Content-Type": "text/plain"}, {}):
        reply = httpx.post(url, content=b'{"query": "q"}', headers=headers)
        assert reply.status_code == 415
        assert reply.json()["message"] == "send JSON, with the content type application/json"
    assert httpx.head(f"{url}/health").status_code == 200
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert httpx.request(method, url).status_code == 405
    many = (b" " * 65536 for _ in range(80))
    assert httpx.post(url, content=many, headers={"Content-Type": "application/json"}).status_code == 413


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\xff\x00\r\n\r\n", b"400"),
        (b"GET /?query=\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n", b"413"),
    ],
)
def test_bad_http(url: str, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", httpx.URL(url).port), timeout=PATIENCE) as connection:
        connection.sendall(sent)
        assert connection.recv(100).startswith(b"HTTP/1.1 " + status)


def test_limits_are_the_operators(gated: Gated) -> None:
    gated.gate.set()
    with serving(gated, k=150, query=5) as url:
        assert len(httpx.get(url, params={"query": "This", "k": 150}).json()["topk"]) == 150
        assert httpx.get(url, params={"query": "This", "k": 151}).status_code == 422
        assert httpx.get(url, params={"query": "123456"}).status_code == 422
    for wrong in ({"k": 0}, {"query": 0}, {"batch": 0}, {"waiting": 63}, {"timeout": 0}, {"timeout": math.nan}):
        with pytest.raises(UsageError, match="limits must be positive"):
            ServerLimits(**wrong)


def test_metrics_count(gated: Gated) -> None:
    gated.gate.set()
    with serving(gated) as url:
        for path in ("/?query=q", "/?query=q", "/", "/none"):
            httpx.get(url + path)
        metrics = httpx.get(f"{url}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    for line in (
        'search_requests_total{path="/",status="200"} 2.0',
        'search_requests_total{path="/",status="422"} 1.0',
        'search_requests_total{path="other",status="404"} 1.0',
        'search_request_seconds_count{path="/"} 3.0',
        "search_batch_queries_sum 2.0",
        "search_waiting_queries 0.0",
    ):
        assert line in metrics.text.splitlines()


def test_it_describes_itself_and_loads_nothing_from_elsewhere(url: str) -> None:
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    assert set(paths) == {"/", "/api/search", "/batch", "/api/search/batch", "/health", "/metrics"}
    assert [httpx.get(url + page).status_code for page in ("/docs", "/redoc")] == [404, 404]


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_nothing_that_fits_or_breaks_the_openapi_page_is_a_server_error(url: str, mode: str) -> None:
    ask_all(url, mode, examples=40)  # a whole number written 4.0 fits, and is refused as `k`


def test_an_address_that_is_taken_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1, port {port}"):
            serve(MEMORY, port=port)
    with pytest.raises(UsageError, match="not 99999"):
        serve(MEMORY, port=99999)
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.1"):
        serve(MEMORY, host="192.0.2.1", port=0)


SLOW = """
import sys
from retrieval import Memory, Passage
from retrieval.remote.server import ServerLimits, serve

class Slow(Memory):
    def search(self, query, k):
        print("searching", flush=True)
        sys.stdin.readline()
        return super().search(query, k)

serve(Slow([Passage("a", "word")]), port=0, limits=ServerLimits(timeout=float(sys.argv[1])))
print("stopped")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_finish_what_it_does(number: signal.Signals) -> None:
    with started(SLOW, str(PATIENCE)) as (process, url, stdin, stdout, stderr):
        client = ColBERTv2(url, timeout=PATIENCE, retries=0)
        with ThreadPoolExecutor(41) as pool:
            searches = [pool.submit(client, "word")]
            assert stdout.readline() == "searching\n"
            searches += [pool.submit(client, "a word") for _ in range(40)]  # more than one batch
            eventually(lambda: waiting(url) == 40)
            process.send_signal(number)
            eventually(lambda: not listens(url))
            stdin.close()  # all searches end
            assert [[p.id for p in search.result()] for search in searches] == [["a"]] * 41
        assert process.wait(PATIENCE) == 0
        assert stdout.read() == "searching\n" * 40 + "stopped\n"
        log = stderr.read()
        with pytest.raises(RetrievalError, match="no ColBERTv2 server answers"):
            client("word")
    assert "Traceback" not in log
