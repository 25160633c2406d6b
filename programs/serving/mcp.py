"""The Model Context Protocol, for agents and for the connectors of chat clients: over HTTP at /mcp, or over stdio.

Tools: `answer`, and the pair `search` and `fetch` in the form that such connectors require. Resources: a card of each
method, and the passages that searches found.
"""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from programs import load
from programs.serving.answering import Answering
from programs.serving.cards import card
from programs.serving.description import Endpoint
from programs.serving.problems import Problem, as_problem
from programs.serving.tools import PASSAGE, Answered, Ask, Document, Fetch, Results, Search, Tools
from retrieval.serving.requests import as_json, first_fault, json_body

__all__ = ["make_server", "mcp_routes", "serve_stdio"]

_CARD = "method:"  # what the addresses of cards begin with


class _Tool(NamedTuple):
    """A tool: how clients see it, the form of its arguments, and what is called with them."""

    described: types.Tool
    takes: type[BaseModel]
    call: Callable[[Any, ServerRequestContext], Awaitable[BaseModel]]


def make_server(answering: Answering) -> Server:
    """The tools and resources as a server of the protocol, for any transport.

    Args:
        answering: Answers the questions.
    """
    methods = {method["name"]: method for method in answering.methods.described()}
    does = Tools(answering)
    tools = {tool.described.name: tool for tool in _tools(answering, does)}

    async def list_tools(_: ServerRequestContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.described for tool in tools.values()])

    async def call_tool(context: ServerRequestContext, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if (tool := tools.get(asked.name)) is None:
            return _failed(f"there is no tool {asked.name!r}; there are: {', '.join(tools)}")
        return await _called(tool, asked.arguments or {}, context)

    async def list_resources(
        _: ServerRequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cards = [
            types.Resource(name=name, uri=_CARD + name, description=method["line"], mime_type="text/markdown")
            for name, method in methods.items()
        ]
        return types.ListResourcesResult(resources=cards)

    async def list_templates(
        _: ServerRequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        passage = types.ResourceTemplate(
            name="passage",
            uri_template=f"{PASSAGE}{{id}}",
            description="A passage that a search found.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[passage] if does.searches else [])

    async def read_resource(
        _: ServerRequestContext, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if (name := asked.uri.removeprefix(_CARD)) in methods and asked.uri.startswith(_CARD):
            text, kind = card(load(name), methods[name]), "text/markdown"
        elif asked.uri.startswith(PASSAGE):
            try:
                text, kind = does.fetch(unquote(asked.uri.removeprefix(PASSAGE))).text, "text/plain"
            except Problem as problem:
                raise MCPError(types.INVALID_PARAMS, problem.message) from None
        else:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {asked.uri!r}")
        contents = types.TextResourceContents(uri=asked.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "dspy-odqa",
        version=version("dspy-odqa"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


class Exchanged(BaseModel):
    """A message of JSON-RPC, as the protocol has it."""

    jsonrpc: Literal["2.0"]
    method: str


def mcp_routes(answering: Answering) -> list[BaseRoute]:
    """The route of the protocol's transport over HTTP. Each request stands by itself: no session is kept."""
    server = make_server(answering)

    async def exchange(request: Request) -> Response:
        """The Model Context Protocol: a message of JSON-RPC."""
        return _Exchange(server, await json_body(request, answering.limits.arrival))

    return [
        Endpoint("/mcp", exchange, takes=Exchanged, kinds=["application/json", "text/event-stream"], own_errors=False)
    ]


def serve_stdio(answering: Answering) -> None:
    """Serve the client that started this process, over stdin and stdout, until it closes stdin or a signal comes.

    For the main thread of a program, where signals arrive.

    Args:
        answering: Answers the questions.
    """

    async def serve() -> None:
        server = make_server(answering)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        answering.stop()

    # The thread that waits for a line of stdin would outlast an interrupt: as SIGTERM does, it ends the process.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(serve())
    finally:
        signal.signal(signal.SIGINT, before)


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


def _tools(answering: Answering, does: Tools) -> list[_Tool]:
    async def answer(ask: Ask, context: ServerRequestContext) -> Answered:
        told = 0

        async def tell(step: str) -> None:
            nonlocal told
            told += 1
            await context.session.report_progress(told, message=step)

        return await does.answer(ask, tell)

    async def search(search: Search, _: ServerRequestContext) -> Results:
        return await does.search(search)

    async def fetch(fetch: Fetch, _: ServerRequestContext) -> Document:
        return does.fetch(fetch.id)

    lines = "\n".join(f"- {method['name']}: {method['line']}" for method in answering.methods.described())
    asked = _tool("answer", f"Answers a question and names its sources. The methods:\n{lines}", Ask, Answered, answer)
    choices = {"method": answering.models, "retriever": list(answering.retrievers)}
    for field, values in choices.items():
        asked.described.input_schema["properties"][field]["enum"] = [*values, None]
    if not does.searches:
        return [asked]
    return [
        asked,
        _tool("search", "Searches the passages; `fetch` gives the text of what it finds.", Search, Results, search),
        _tool("fetch", "Gives a passage that `search` found.", Fetch, Document, fetch),
    ]


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


async def _called(tool: _Tool, arguments: dict[str, Any], context: ServerRequestContext) -> types.CallToolResult:
    try:
        given = as_json(await tool.call(tool.takes.model_validate(arguments), context)).decode()
    except ValidationError as error:
        return _failed(": ".join(part for part in first_fault(error) if part))
    except Exception as error:  # whatever it is, it is told and, where it is the server's, logged
        return _failed(as_problem(error).message)
    text = types.TextContent(type="text", text=given)
    return types.CallToolResult(content=[text], structured_content=json.loads(given))


def _failed(why: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=why)], is_error=True)
