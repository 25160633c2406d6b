"""The Model Context Protocol, for agents and for the connectors of chat clients: over HTTP at /mcp, or over stdio.

Tools: `answer`, and the pair `search` and `fetch` in the form that such connectors require. Resources: a card of each
method, and the passages that searches found.
"""

import asyncio
import inspect
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

import dspy
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from odqa.interrupts import ending_at_once
from programs.instruments.cost import Cost
from programs.instruments.live import PassageShown, shown
from programs.instruments.words import Words
from programs.serving.answering import Answering, Asking
from programs.serving.description import Endpoint
from programs.serving.forms import RetrieverName, Settings
from programs.serving.problems import Problem, as_problem
from programs.serving.question import Record
from programs.serving.replies import BY_EVENTS, address, sources
from retrieval.serving.requests import as_json, first_fault, json_body

__all__ = ["mcp_routes", "serve_stdio"]

_CARD = "method:"  # what the addresses of cards begin with
_PASSAGE = "passage:"  # and those of passages that have no address of their own
_FOUND = 10  # passages of a search
_REMEMBERED = 10_000  # passages that can be fetched


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(_Arguments):
    """The arguments of `answer`."""

    question: str
    method: Annotated[
        str | None, Field(description="how to answer, and where to search: METHOD or METHOD@RETRIEVER")
    ] = None
    settings: Settings = {}
    retriever: RetrieverName = None


class Search(_Arguments):
    """The arguments of `search`."""

    query: Annotated[str, Field(description="words or a question")]


class Fetch(_Arguments):
    """The arguments of `fetch`."""

    id: Annotated[str, Field(description="of a result of `search`")]


class Result(BaseModel):
    """A passage that was found."""

    id: str
    title: str
    url: str


class Source(Result):
    """A passage with its text."""

    text: str


class Answered(BaseModel):
    """What `answer` gives."""

    answer: Annotated[str, Field(description="empty where there is none")]
    note: Annotated[str | None, Field(description="says so where there is no answer")]
    sources: Annotated[list[Source], Field(description="the passages that say the answer")]
    shown: Annotated[list[Source], Field(description="the others that the answer was made from")]
    cost: Cost


class Results(BaseModel):
    """What `search` gives, the best first."""

    results: list[Result]


class Document(Source):
    """What `fetch` gives."""

    metadata: dict[str, str]


class _Tool(NamedTuple):
    """A tool: how clients see it, the form of its arguments, and what is called with them."""

    described: types.Tool
    takes: type[BaseModel]
    call: Callable[[Any, ServerRequestContext], Awaitable[BaseModel]]


_Page: TypeAlias = types.PaginatedRequestParams | None


class _Protocol:
    """What agents can do here: ask a question, search with the first retriever, fetch what it found, and read cards."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._methods = {method["name"]: method for method in answering.methods.described()}
        self._name, self._retriever = next(iter(answering.retrievers.items()))
        # Not for a retriever that asks an LM, whose calls are counted and limited for those alone who ask a question.
        self._searches = self._retriever is not None and not self._retriever.asks_lm
        self._found: OrderedDict[str, PassageShown] = OrderedDict()  # by id, what was found last at the end
        self._tools = self._made_tools()

    def server(self) -> Server:
        """The tools and resources as a server of the protocol, for any transport."""
        return Server(
            "dspy-odqa",
            version=version("dspy-odqa"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    def _made_tools(self) -> dict[str, _Tool]:
        lines = "\n".join(f"- {name}: {method['line']}" for name, method in self._methods.items())
        answers = f"Answers a question and names its sources. The methods:\n{lines}"
        tools = {"answer": _tool("answer", answers, Ask, Answered, self._answer)}
        choices = {"method": self._answering.models, "retriever": list(self._answering.retrievers)}
        for field, values in choices.items():
            tools["answer"].described.input_schema["properties"][field]["enum"] = [*values, None]
        if self._searches:
            searches = "Searches the passages; `fetch` gives the text of what it finds."
            tools["search"] = _tool("search", searches, Search, Results, self._search)
            tools["fetch"] = _tool("fetch", "Gives a passage that `search` found.", Fetch, Document, self._fetch)
        return tools

    async def _answer(self, ask: Ask, context: ServerRequestContext) -> Answered:
        method = ask.method or self._answering.methods.names[0]
        question = self._answering.begin(Asking(ask.question, method, ask.settings, ask.retriever))
        words, number = Words(), 0
        try:
            async for told in question:
                if not isinstance(told, Record) and (said := words(told)):
                    number += 1
                    await context.session.report_progress(number, message=said.strip())
        finally:
            question.stop()
        assert isinstance(told, Record)
        says, others = (list(map(_source, sources(told, supporting=which))) for which in (True, False))
        return Answered(answer=told.answer, note=told.note, sources=says, shown=others, cost=told.cost)

    async def _search(self, search: Search, _: ServerRequestContext) -> Results:
        assert self._retriever is not None
        if len(search.query) > (most := self._answering.limits.question):
            raise Problem(400, f"a query is at most {most:,} characters long", "invalid_request")
        passages = [shown(passage) for passage in await self._answering.search(self._retriever, search.query, _FOUND)]
        for passage in passages:
            self._found[passage.id] = passage
            self._found.move_to_end(passage.id)
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)
        return Results(results=[Result(**_source(passage).model_dump(exclude={"text"})) for passage in passages])

    async def _fetch(self, fetch: Fetch, _: ServerRequestContext) -> Document:
        return Document(**_source(self._passage(fetch.id)).model_dump(), metadata={"retriever": self._name})

    def _passage(self, id_: str) -> PassageShown:
        """A passage that a search found.

        Raises:
            Problem: none has, or so many others since that this one is forgotten.
        """
        if (passage := self._found.get(id_)) is None:
            raise Problem(404, "no search has found this passage: search for it first", "not_found")
        return passage

    async def _list_tools(self, _: ServerRequestContext, __: _Page) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.described for tool in self._tools.values()])

    async def _call_tool(
        self, context: ServerRequestContext, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if (tool := self._tools.get(asked.name)) is None:
            return _failed(f"there is no tool {asked.name!r}; there are: {', '.join(self._tools)}")
        try:
            arguments = tool.takes.model_validate(asked.arguments or {})
            given = as_json(await tool.call(arguments, context)).decode()
        except ValidationError as error:
            return _failed(": ".join(part for part in first_fault(error) if part))
        except Exception as error:  # whatever it is, it is told and, where it is the server's, logged
            return _failed(as_problem(error).message)
        text = types.TextContent(type="text", text=given)
        return types.CallToolResult(content=[text], structured_content=json.loads(given))

    async def _list_resources(self, _: ServerRequestContext, __: _Page) -> types.ListResourcesResult:
        cards = [
            types.Resource(name=name, uri=_CARD + name, description=method["line"], mime_type="text/markdown")
            for name, method in self._methods.items()
        ]
        return types.ListResourcesResult(resources=cards)

    async def _list_templates(self, _: ServerRequestContext, __: _Page) -> types.ListResourceTemplatesResult:
        passage = types.ResourceTemplate(
            name="passage",
            uri_template=f"{_PASSAGE}{{id}}",
            description="A passage that a search found.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[passage] if self._searches else [])

    async def _read_resource(
        self, _: ServerRequestContext, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if (name := asked.uri.removeprefix(_CARD)) in self._methods and asked.uri.startswith(_CARD):
            text, kind = _card(self._answering.methods.made_with(name), self._methods[name]), "text/markdown"
        elif asked.uri.startswith(_PASSAGE):
            try:
                text, kind = self._passage(unquote(asked.uri.removeprefix(_PASSAGE))).text, "text/plain"
            except Problem as problem:
                raise MCPError(types.INVALID_PARAMS, problem.message) from None
        else:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {asked.uri!r}")
        contents = types.TextResourceContents(uri=asked.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])


class Exchanged(BaseModel):
    """A message of JSON-RPC, as the protocol has it."""

    jsonrpc: Literal["2.0"]
    method: str


def mcp_routes(answering: Answering) -> list[BaseRoute]:
    """The route of the protocol's transport over HTTP. Each request stands by itself: no session is kept."""
    server = _Protocol(answering).server()

    async def exchange(request: Request) -> Response:
        """The Model Context Protocol: a message of JSON-RPC."""
        return _Exchange(server, await json_body(request, answering.limits.arrival))

    return [Endpoint("/mcp", exchange, takes=Exchanged, kinds=BY_EVENTS, own_errors=False)]


def serve_stdio(answering: Answering) -> None:
    """Serve the client that started this process, over stdin and stdout, until it closes stdin or a signal comes.

    For the main thread of a program, where signals arrive.
    """

    async def serve() -> None:
        server = _Protocol(answering).server()
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        except* BrokenPipeError:
            pass  # the client is gone
        answering.stop()

    with ending_at_once():  # the thread that waits for a line of stdin would outlast an interrupt
        asyncio.run(serve())


class _Exchange(Response):
    """The reply to one request: the protocol's server answers it, and is cut off when the client goes away."""

    def __init__(self, server: Server, body: bytes) -> None:
        super().__init__()
        self._server = server
        self._request: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def read() -> Message:
            return self._request.pop() if self._request else await receive()

        manager = StreamableHTTPSessionManager(self._server, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, read, send)


def _tool(
    name: str,
    says: str,
    takes: type[BaseModel],
    gives: type[BaseModel],
    call: Callable[[Any, ServerRequestContext], Awaitable[BaseModel]],
) -> _Tool:
    described = types.Tool(
        name=name,
        description=says,
        input_schema=takes.model_json_schema(),
        output_schema=gives.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
    )
    return _Tool(described, takes, call)


def _failed(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=why)], is_error=True)


def _source(passage: PassageShown) -> Source:
    """The passage with its own address, else that of the resource."""
    url = address(passage) or _PASSAGE + quote(passage.id, safe="")
    return Source(id=passage.id, title=passage.title or passage.id, url=url, text=passage.text)


def _card(made_with: type[dspy.Module], described: Mapping[str, Any]) -> str:
    """What a method is, where it comes from, what a question costs and what can be set, as Markdown."""
    module = inspect.getdoc(inspect.getmodule(made_with)) or ""
    what, _, _ = (inspect.getdoc(made_with) or "").partition("\nArgs:\n")
    settings = []
    for setting in described["settings"]:
        values = ", ".join(map(repr, setting.get("choices", ()))) or setting["type"]
        settings.append(f"- `{setting['name']}` ({values}; default {setting['default']!r}): {setting['help']}.")
    return "\n\n".join([f"# {described['name']}", module, what.strip(), "## Settings", "\n".join(settings)]) + "\n"
