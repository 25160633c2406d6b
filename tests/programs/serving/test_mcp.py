"""The Model Context Protocol, by its official client over HTTP; tests/test_interop.py has it over stdio."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import mcp
import pytest
from support.answers_server import TABLE, answering_with, serving
from support.faulty_server import Provider
from support.patience import PATIENCE, eventually
from support.stdio import HANDSHAKE, HOSTILE_LINES, line, over_stdio

import lms
from programs.serving.question import Question, Stopped
from retrieval import Memory, Passage, RetrievalError, Retriever

pytestmark = pytest.mark.needs("mcp")

MODES = ("auto", "legacy")  # by the newest version of the protocol, and by those that begin with a handshake


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(answering_with(lms.load("extractive"), "direct", "blendfilter")) as url:
        yield f"{url}/mcp"


def talk(server: Any, about: Callable[[Any], Awaitable[Any]], **settings: Any) -> Any:
    """What `about` makes of a client of the server."""

    async def go() -> Any:
        async with mcp.Client(server, **settings) as client:
            return await about(client)

    return asyncio.run(go())


def call(server: Any, tool: str, /, mode: str = "auto", **arguments: Any) -> Any:
    """The result of a tool. Its text is its structure in JSON; the client checks that against the tool's schema."""
    result = talk(server, lambda client: client.call_tool(tool, arguments), mode=mode)
    (content,) = result.content
    if result.is_error:
        assert "\n" not in content.text
        return content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


@pytest.mark.parametrize("mode", MODES)
def test_a_question_is_answered_with_its_sources_and_cost(url: str, mode: str) -> None:
    steps: list[tuple[float, str | None]] = []

    async def progress(number: float, total: float | None, message: str | None) -> None:
        steps.append((number, message))

    async def ask(client: Any) -> Any:
        arguments = {"question": "Who led the Italian troops at Adwa?", "method": "direct", "settings": {"k": 2}}
        return await client.call_tool("answer", arguments, progress_callback=progress)

    answered = talk(url, ask, mode=mode).structured_content
    assert (answered["answer"], answered["note"]) == ("Baratieri", None)
    assert answered["sources"] == [
        {"id": "adwa", "title": "Battle of Adwa", "url": "passage:adwa", "text": TABLE.passages["adwa"].text},
    ]
    assert answered["shown"] == [
        {
            "id": "https://example.org/menelik",
            "title": "Menelik",
            "url": "https://example.org/menelik",
            "text": TABLE.passages["https://example.org/menelik"].text,
        },
    ]
    assert (answered["cost"]["lm_calls"], answered["cost"]["searches"]) == (1, 1)
    closed = call(url, "answer", mode, question="Who led the Italian troops at Adwa?", method="direct@none")
    assert closed["cost"]["searches"] == 0
    assert [number for number, _ in steps] == [*range(1, len(steps) + 1)]
    assert steps[0][1] == "Search 1: Who led the Italian troops at Adwa?"


@pytest.mark.parametrize("mode", MODES)
def test_what_a_search_found_is_fetched_in_the_form_that_connectors_require(url: str, mode: str) -> None:
    results = call(url, "search", mode, query="Who designed the Gateway Arch?")["results"]
    assert results[0] == {"id": "arch", "title": "Gateway Arch", "url": "passage:arch"}
    assert {tuple(result) for result in results} == {("id", "title", "url")}
    assert call(url, "fetch", mode, id="arch") == {
        "id": "arch",
        "title": "Gateway Arch",
        "text": TABLE.passages["arch"].text,
        "url": "passage:arch",
        "metadata": {"retriever": "table"},
    }

    async def read(client: Any) -> str:
        return str((await client.read_resource("passage:arch")).contents[0].text)

    assert talk(url, read, mode=mode) == TABLE.passages["arch"].text


def test_the_tools_say_what_they_take_and_give(url: str) -> None:
    tools = {tool.name: tool for tool in talk(url, lambda client: client.list_tools()).tools}
    assert list(tools) == ["answer", "search", "fetch"]
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert tools["answer"].input_schema["properties"]["method"]["enum"] == [
        "direct", "blendfilter", "direct@table", "direct@none", "blendfilter@table", None,
    ]  # fmt: skip
    assert tools["answer"].input_schema["required"] == ["question"]
    assert "- blendfilter: Search with the question" in tools["answer"].description
    for name, argument in (("search", "query"), ("fetch", "id")):
        assert list(tools[name].input_schema["properties"]) == tools[name].input_schema["required"] == [argument]


def test_methods_have_cards(url: str) -> None:
    async def read(client: Any) -> tuple[list[str], str]:
        listed = (await client.list_resources()).resources
        return [card.uri for card in listed], (await client.read_resource("method:blendfilter")).contents[0].text

    uris, text = talk(url, read)
    assert uris == ["method:direct", "method:blendfilter"]
    assert text.startswith("# blendfilter\n")
    assert "EMNLP 2024" in text
    assert "- `k` (integer; default 5): Passages per query. Paper: 5" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("answer", {"question": " "}, "the question is empty"),
        ("answer", {"question": "?", "method": "none"}, "there is no method 'none'; there are: direct, blendfilter"),
        ("answer", {"question": "?", "retriever": "x"}, "there is no retriever 'x'; there are: table, none"),
        ("answer", {"question": "?", "settings": {"k": 0}}, "k must be at least 1, not 0"),
        ("answer", {}, "question: Field required"),
        ("search", {"query": "arch " * 4000}, "a query is at most 16,384 characters long"),
        ("search", {"query": 7}, "query: Input should be a valid string"),
        ("search", {"query": "arch", "k": 3}, "k: Extra inputs are not permitted"),
        ("fetch", {"id": "none"}, "no search has found this passage: search for it first"),
        ("forget", {}, "there is no tool 'forget'; there are: answer, search, fetch"),
    ],
)
def test_errors_of_the_caller_are_one_line(url: str, tool: str, arguments: dict[str, Any], why: str) -> None:
    assert why in call(url, tool, **arguments)


@pytest.mark.parametrize("uri", ["passage:none", "method:none", "file:///etc/passwd"])
def test_a_resource_that_is_not_there_is_an_error(url: str, uri: str) -> None:
    async def read(client: Any) -> str:
        with pytest.raises(mcp.MCPError) as refused:
            await client.read_resource(uri)
        return str(refused.value)

    assert talk(url, read) in (f"there is no resource {uri!r}", "no search has found this passage: search for it first")


class Fails(Retriever):
    def __init__(self, how: Exception) -> None:
        self._how = how

    def search(self, query: str, k: int) -> list[Passage]:
        raise self._how


@pytest.mark.parametrize(("how", "what"), [(RetrievalError, "the retriever failed"), (OSError, "the server failed")])
def test_a_search_that_fails_is_an_error_that_tells_no_secret(how: type[Exception], what: str) -> None:
    retriever = Fails(how("http://user:secret@example.org is down"))
    with serving(answering_with(lms.load("extractive"), retriever=retriever)) as url:
        for tool, argument in (("search", "query"), ("answer", "question")):
            assert call(f"{url}/mcp", tool, **{argument: "cats"}).startswith(what)


class Waits(Retriever):
    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def search(self, query: str, k: int) -> list[Passage]:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return TABLE.search(query, k)


def test_searches_are_bounded_as_questions_are() -> None:
    retriever = Waits()
    answering = answering_with(lms.load("extractive"), retriever=retriever, limits={"at_once": 1})
    with serving(answering) as url, ThreadPoolExecutor(1) as pool:
        first = pool.submit(call, f"{url}/mcp", "search", query="Adwa")
        assert retriever.begun.wait(PATIENCE)
        assert call(f"{url}/mcp", "search", query="Adwa").startswith("too many questions are in flight")
        retriever.go_on.set()
        assert first.result()["results"]
        assert call(f"{url}/mcp", "search", query="Adwa")["results"]


def test_a_search_that_takes_too_long_gives_its_place_back() -> None:
    retriever = Waits()
    limits = {"at_once": 1, "seconds": 0.05}
    with serving(answering_with(lms.load("extractive"), retriever=retriever, limits=limits)) as url:
        for _ in range(2):
            assert call(f"{url}/mcp", "search", query="Adwa") == "there is no answer within 0.05 s"
        retriever.go_on.set()


def test_without_a_retriever_that_asks_no_lm_there_is_nothing_to_search() -> None:
    asks = Memory([])
    asks.asks_lm = True
    for retriever in (None, asks):
        with serving(answering_with(lms.load("extractive"), retriever=retriever)) as url:
            assert [tool.name for tool in talk(f"{url}/mcp", lambda client: client.list_tools()).tools] == ["answer"]


@pytest.mark.leaves_sockets
@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_hangs_up_stops_its_question(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Provider(lambda prompt, number: "")
    provider.hold.set()
    with provider.running():
        answering = answering_with(lms.load("openai/m", api_base=provider.url, cache=False, num_retries=0), "direct")
        questions: list[Question] = []
        begin = answering.begin
        monkeypatch.setattr(answering, "begin", lambda asking: questions.append(begin(asking)) or questions[0])

        async def hang_up(client: Any) -> None:
            asked = asyncio.ensure_future(client.call_tool("answer", {"question": "Who led the troops at Adwa?"}))
            await asyncio.to_thread(eventually, lambda: provider.asked)
            questions[0].proceed()
            asked.cancel()

        with serving(answering) as url:
            talk(f"{url}/mcp", hang_up, mode=mode)
            eventually(lambda: is_stopped(questions[0]))


def is_stopped(question: Question) -> bool:
    try:
        question.proceed()
    except Stopped:
        return True
    return False


def test_what_is_not_for_everyone_is_refused(url: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {"Accept": "application/json, text/event-stream"}
    assert httpx.post(url, json=ping, headers=headers).status_code == 200
    assert httpx.get(url).status_code == 405
    assert httpx.post(url, json=ping, headers={**headers, "Host": "evil.example"}).status_code == 403
    assert httpx.post(url, json=ping, headers={**headers, "Origin": "https://evil.example"}).status_code == 403
    assert httpx.post(url, content=b"x" * 2**21, headers=headers).status_code == 413
    with serving(answering_with(lms.load("extractive")), token="secret") as guarded:
        assert httpx.post(f"{guarded}/mcp", json=ping, headers=headers).status_code == 401
        with_token = {**headers, "Authorization": "Bearer secret"}
        assert httpx.post(f"{guarded}/mcp", json=ping, headers=with_token).status_code == 200


def test_over_stdio_hostile_lines_leave_the_next_one_answered_and_half_a_message_ends_well() -> None:
    with over_stdio() as (process, to, answers):
        to.write(HANDSHAKE)
        for number, lines in enumerate(HOSTILE_LINES.values(), 100):
            to.write(lines + line(id=number, method="tools/list"))
            to.flush()
            assert any(json.loads(answer).get("id") == number for answer in answers)
        to.write(b'{"jsonrpc": "2.0", "id": 7, "meth')
        to.close()
        assert process.wait(PATIENCE) == 0


def test_over_stdio_a_client_that_reads_no_more_is_no_error() -> None:
    with over_stdio() as (process, to, answers):
        answers.close()
        to.write(HANDSHAKE)
        to.close()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(PATIENCE) == 0
