"""The engine that an LM has of its own, behind the boundary: the user's, or the one that DSPy would choose."""

import asyncio
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import dspy
from dspy.clients.backend_selection import CLIENT_KEYS, select_backend
from dspy.clients.engines import AsyncLiteLLMEngine, AsyncLM15Engine, LiteLLMEngine, LM15Engine
from dspy.clients.engines.lm15_engine import timeouts_for
from dspy.lm15 import (
    Message,
    Request,
    Response,
    RouterConfig,
    TextPart,
    Timeouts,
    UnsupportedFeatureError,
    Usage,
    response_to_events,
)

from odqa.bridge.calls import Server
from odqa.bridge.prices import priced_as
from odqa.bridge.transport import AsyncTransport, Transport
from odqa.http import parse_url
from odqa.secrets import keep_secret, names_a_secret

__all__ = ["CLIENT_KEYS", "Own", "own_engine"]

_HEADERS = ("headers", "extra_headers")  # which DSPy leaves to LiteLLM, and our transport sends
_EXAMPLE = "http://127.0.0.1:8000/v1"
_NO_KEY = "none"  # for servers that are asked with user and password: lm15 wants some key


class Own:
    """An LM's own engine, synchronous and asynchronous.

    Attributes:
        lm: The LM as the user made it.
        server: Where its calls go.
        is_remote: Whether a call waits for a server of which nothing is known but that it has a time limit: it is made
            in a thread, which is left when the time is over.
    """

    def __init__(self, lm: dspy.LM) -> None:
        self.lm = lm
        self.server = _server(lm)
        self.is_remote = not getattr(lm.engine, "computes_here", False)

    def sync(self) -> Any:
        """The engine with `complete(Request)` and `stream(Request)`."""
        return self.lm.engine

    def asynchronous(self) -> Any:
        """Its counterpart for the event loop that runs.

        Raises:
            UnsupportedFeatureError: there is none.
        """
        engine = getattr(self.lm, "async_engine", None) or getattr(self.lm, "_async_engine_spec", None)
        if engine is None:
            raise UnsupportedFeatureError("this engine cannot be awaited: pass dspy.LM an async_engine= too")
        return engine

    @property
    def capabilities(self) -> Any:
        """What says which features and parameters it supports."""
        return self.lm.engine


class _Chosen(Own):
    """The engine that DSPy chooses by a model string: lm15's with our transport, else LiteLLM's."""

    def __init__(self, lm: dspy.LM) -> None:
        super().__init__(lm)
        options = dict(lm.kwargs)
        self._headers = {name: str(value) for key in _HEADERS for name, value in (options.get(key) or {}).items()}
        changed: dict[str, Any] = dict.fromkeys(key for key in _HEADERS if key in options)
        for name in ("api_base", "base_url"):
            if "@" in (options.get(name) or ""):
                url, auth = parse_url(options[name], _EXAMPLE)
                changed |= {name: str(url), "api_key": options.get("api_key") or _NO_KEY}
                self._headers["Authorization"] = "Basic " + b64encode(":".join(auth or ()).encode()).decode()
        self._selected = select_backend(lm.copy(**changed) if changed else lm)
        self.is_remote = not self._selected.native
        self._lock = threading.Lock()
        self._sync: Any = None
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def sync(self) -> Any:
        with self._lock:
            if self._sync is None:
                self._sync = _Fallback(self._native(LM15Engine, Transport), self._compatible(LiteLLMEngine), self._last)
            return self._sync

    def asynchronous(self) -> Any:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._by_loop:
                native = self._native(AsyncLM15Engine, AsyncTransport)
                self._by_loop[loop] = _AsyncFallback(native, self._compatible(AsyncLiteLLMEngine), self._last)
            return self._by_loop[loop]

    @property
    def capabilities(self) -> Any:
        return self.lm

    @property
    def _last(self) -> bool:
        """Whether what lm15 cannot send is an error: the LM asks for lm15, or its provider was registered."""
        return self.lm.engine == "lm15" or bool(self._selected.resolution and self._selected.resolution.declared)

    def _native(self, engine: Any, transport: Any) -> Any:
        if not self._selected.native:
            return None
        provider, clients = self._selected.resolution.provider, self._selected.clients
        url = clients.get("api_base") or clients.get("base_url")
        timeouts = timeouts_for(clients.get("timeout")) or Timeouts()
        bounds = {f"{name}_timeout": getattr(timeouts, name) for name in ("connect", "read", "write", "pool")}
        config = RouterConfig(
            api_keys={provider: clients["api_key"]} if "api_key" in clients else None,
            base_urls={provider: url} if url else None,
            providers=tuple(known.definition for known in self.lm._providers),
            transport=transport(headers=self._headers, **bounds),
        )
        return engine(config, model_type=self.lm.model_type)

    def _compatible(self, engine: Any) -> Any:
        if self.lm.model_type == "text":
            return (_Text if engine is LiteLLMEngine else _AsyncText)(self.lm.copy(cache=False, num_retries=0))
        headers = {"extra_headers": self._headers} if self._headers else {}
        return engine(model_type=self.lm.model_type, **self._selected.clients, **headers)


class _Fallback:
    """lm15's engine; LiteLLM's for what lm15 refuses before it sends anything, as DSPy has it."""

    def __init__(self, native: Any, compatible: Any, last: bool) -> None:
        self._native, self._compatible, self._last = native, compatible, last

    def complete(self, request: Request) -> Response:
        if self._native is not None:
            try:
                return self._native.complete(request)
            except UnsupportedFeatureError:
                if self._last:
                    raise
        return self._compatible.complete(request)

    def stream(self, request: Request) -> Iterator[Any]:
        return iter((self._native or self._compatible).stream(request))


class _AsyncFallback:
    """The same for asynchronous calls."""

    def __init__(self, native: Any, compatible: Any, last: bool) -> None:
        self._native, self._compatible, self._last = native, compatible, last

    async def complete(self, request: Request) -> Response:
        if self._native is not None:
            try:
                return await self._native.complete(request)
            except UnsupportedFeatureError:
                if self._last:
                    raise
        return await self._compatible.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        async for event in (self._native or self._compatible).stream(request):
            yield event


class _Text:
    """A model that completes text, which DSPy asks with a prompt only: no engine takes a request for it."""

    def __init__(self, lm: dspy.LM) -> None:
        self._lm = lm

    def complete(self, request: Request) -> Response:
        with dspy.track_usage() as used:
            said = self._lm(_prompt(request), **_options(request))
        return _completion(request, said, used)

    def stream(self, request: Request) -> Iterator[Any]:
        return iter(response_to_events(self.complete(request)))


class _AsyncText(_Text):
    async def complete(self, request: Request) -> Response:
        with dspy.track_usage() as used:
            said = await self._lm.acall(_prompt(request), **_options(request))
        return _completion(request, said, used)

    async def stream(self, request: Request) -> AsyncIterator[Any]:  # type: ignore[override]
        for event in response_to_events(await self.complete(request)):
            yield event


def own_engine(lm: dspy.LM) -> Own:
    """The LM's own engine."""
    return _Chosen(lm) if isinstance(lm.engine, str) else Own(lm)


def _server(lm: dspy.LM) -> Server:
    settings = {name: value for name, value in lm.kwargs.items() if name in CLIENT_KEYS and value is not None}
    keep_secret(settings)
    known = {name: value for name, value in settings.items() if name != "timeout" and not names_a_secret(name)}
    if not isinstance(lm.engine, str):
        return Server(lm.model, known, None, lm.model)
    for name in ("api_base", "base_url"):
        if "@" in known.get(name, ""):
            known[name] = str(parse_url(known[name], _EXAMPLE)[0])
    provider, model, namespaces = priced_as(lm)
    return Server(lm.model, {**known, "model_type": lm.model_type}, provider, model, namespaces)


def _prompt(request: Request) -> str:
    """The texts of the request, as DSPy joins them for such models."""
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    return "\n\n".join([*([system] if system else []), *(message.text or "" for message in request.messages)])


def _options(request: Request) -> dict[str, Any]:
    config = request.config
    known = {name: getattr(config, name) for name in ("max_tokens", "temperature", "top_p", "seed")}
    known |= {"stop": list(config.stop) or None, **(config.extensions or {})}
    return {name: value for name, value in known.items() if value is not None}


def _completion(request: Request, said: list[Any], used: Any) -> Response:
    text = said[0] if isinstance(said[0], str) else said[0]["text"]
    total: dict[str, Any] = next(iter(used.get_total_tokens().values()), {})
    usage = Usage(input_tokens=total.get("prompt_tokens"), output_tokens=total.get("completion_tokens"))
    message = Message.assistant([TextPart(text or "")])
    return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)
