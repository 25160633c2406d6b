"""A language model inside this process: a GGUF file that llama.cpp runs, by way of the package xllamacpp.

lms.load("gguf:models/model.gguf")          a file
lms.load("gguf:owner/name:model.gguf")      a file of a repository on the Hugging Face hub, downloaded once

No server and no key are needed. A file is loaded once in a process, whoever asks for it.
"""

import atexit
import json
import os
import re
import threading
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self

import dspy
from dspy.lm15 import (
    ContextLengthError,
    InvalidRequestError,
    OpenAIChatCompat,
    OpenAIChatLM,
    Request,
    Response,
    ServerError,
    StreamDeltaEvent,
    StreamEndEvent,
    StreamStartEvent,
    TextDelta,
    ThinkingDelta,
    TokenLogprob,
    TopLogprob,
    UnsupportedFeatureError,
    Usage,
    amaterialize_response,
    materialize_response,
)

from lms.llama import Model
from odqa.errors import UsageError

__all__ = ["AsyncLocalModel", "LocalModel", "local_lm"]

_MAX_TOKENS = 512  # enough for some sentences of reasoning and an answer; a small model that repeats itself ends here

# llama.cpp takes the requests of OpenAI's chat interface. DSPy knows how to write them.
_DIALECT = OpenAIChatLM(
    api_key="none",
    compat=OpenAIChatCompat(
        instruction_role="system",
        max_tokens_field="max_tokens",
        stream_usage="include",
        thinking_format="qwen_chat_template",
    ),
)


_OF_DSPY = ("cache", "num_retries", "rollout_id", "use_developer_role", "callbacks")
"""Further arguments of dspy.LM that mean something for a model in this process."""


def local_lm(
    spec: str,
    *,
    context: int = 4096,
    parallel: int = 1,
    prompts: int = 6,
    threads: int | None = None,
    **settings: Any,
) -> dspy.LM:
    """The model of a GGUF file as a `dspy.LM`.

    Args:
        spec: "gguf:FILE" or "gguf:OWNER/NAME:FILE", a file of a repository on the Hugging Face hub.
        context: Tokens that prompt and reply of one call can have together.
        parallel: Calls that are computed at the same time; more of them wait for their turn. On a processor more than
            one brings nothing: replies that are written side by side take as long as one after the other.
        prompts: Prompts that are kept, so that the next one with the same beginning is read only from where it differs:
            one for each kind of call of a method. Memory for `context` times as many tokens is taken.
        threads: Threads that compute; None for one per core. Where other work has the cores, one is as fast as two.
        settings: Further arguments of dspy.LM, such as temperature (0 where none is given), max_tokens (512), seed.

    Raises:
        UsageError: the file cannot be had or is no model, xllamacpp is not installed, or a setting does not fit.
    """
    known = {*_Settings.supported_params, *_OF_DSPY}
    if unknown := sorted(settings.keys() - known):
        raise UsageError(
            f"a local model has no setting {unknown[0]!r}; it has context, parallel, prompts, threads, "
            f"{', '.join(sorted(known))}"
        )
    engine = LocalModel(spec, context, parallel, prompts, threads)
    try:
        return dspy.LM(spec, engine=engine, async_engine=AsyncLocalModel(**asdict(engine)), **settings)
    except (TypeError, ValueError) as error:
        raise UsageError(f"LM {spec!r}: {error}") from None


@dataclass(frozen=True)
class _Settings:
    """What names a model and says how it is run. The model itself is not in here: an LM can be copied and saved."""

    spec: str
    context: int = 4096
    parallel: int = 1
    prompts: int = 6
    threads: int | None = None

    # What DSPy asks an engine that is not its own.
    supports_response_schema = True
    supported_params = (
        "temperature", "max_tokens", "top_p", "top_k", "stop", "seed", "frequency_penalty", "presence_penalty",
        "logprobs", "top_logprobs", "response_format",
    )  # fmt: skip
    usd_per_token = 0.0

    def __post_init__(self) -> None:
        for name in ("context", "parallel", "prompts", "threads"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1) and (name, value) != ("threads", None):
                raise UsageError(f"{name} of a local model is a whole number from 1, not {value!r}")
        self._model()  # loaded here, so that what is wrong with it is said here

    def dump_state(self) -> dict[str, Any]:
        """The settings, for a saved program."""
        return asdict(self)

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The engine, from what `dump_state` gave; raises UsageError where the file is not there."""
        return cls(**state)

    def _model(self) -> Model:
        file, threads = _file(self.spec), self.threads or _cores()
        with _loading:
            return _load(file, self.context, self.parallel, self.prompts, threads)


class LocalModel(_Settings):
    """A GGUF file as a DSPy engine; `local_lm` wraps it in a `dspy.LM`.

    A request for a JSON schema is decoded by it: the reply follows the schema unless max_tokens cuts it off.
    """

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            ContextLengthError: the prompt alone is longer than the context.
            InvalidRequestError: llama.cpp refuses the request, as for a schema that it cannot follow.
            UnsupportedFeatureError: the request offers tools.
        """
        return materialize_response(self.stream(request), request)

    def stream(self, request: Request) -> Iterator[Any]:
        """The reply as events, token by token. Decoding stops when the iterator is closed. Raises as `complete`."""
        reply = _Reply(request)
        yield reply.start
        for chunk in self._model().chunks(_body(request)):
            yield from reply.events(chunk)
        yield reply.end

    def close(self) -> None:
        """Nothing: other LMs may use the model, which is closed when the process ends."""


class AsyncLocalModel(_Settings):
    """`LocalModel` for asynchronous calls. A call that is cancelled stops decoding."""

    async def complete(self, request: Request) -> Response:
        """Answer one request. Raises as `LocalModel.complete`."""
        return await amaterialize_response(self.stream(request), request)

    async def stream(self, request: Request) -> AsyncGenerator[Any, None]:
        """The reply as events, token by token. Raises as `LocalModel.complete`."""
        reply = _Reply(request)
        yield reply.start
        chunks = self._model().chunks_async(_body(request))
        try:
            async for chunk in chunks:
                for event in reply.events(chunk):
                    yield event
        finally:
            await chunks.aclose()
        yield reply.end

    async def aclose(self) -> None:
        """Nothing, as `LocalModel.close`."""


def _body(request: Request) -> dict[str, Any]:
    """The request as llama.cpp takes it."""
    if request.tools:
        raise UnsupportedFeatureError("a local model is given no tools; describe them in the prompt", feature="tools")
    config = request.config
    if config.logprobs == 0:  # llama.cpp then gives none at all
        request = replace(request, config=replace(config, logprobs=1))
    body: dict[str, Any] = json.loads(_DIALECT.build_request(request, stream=True).body)
    return {
        **body,
        "max_tokens": config.max_tokens or _MAX_TOKENS,
        "temperature": config.temperature or 0.0,
        **({"top_k": config.top_k} if config.top_k is not None else {}),
    }


class _Reply:
    """Turns the chunks that llama.cpp sends into DSPy's events."""

    def __init__(self, request: Request) -> None:
        self.start = StreamStartEvent(model=request.model)
        self.end = StreamEndEvent(finish_reason="stop", provider_data={"usd": 0.0})

    def events(self, chunk: dict[str, Any]) -> Iterator[StreamDeltaEvent]:
        """The events of one chunk; the last ones only complete `end`."""
        if "error" in chunk:
            _fail(chunk["error"])
        if usage := chunk.get("usage"):
            tokens = Usage(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                cache_read_tokens=usage["prompt_tokens_details"]["cached_tokens"],
            )
            self.end = replace(self.end, usage=tokens)
        for choice in chunk["choices"]:
            if choice["finish_reason"] == "length":
                self.end = replace(self.end, finish_reason="length")
            if thought := choice["delta"].get("reasoning_content"):
                yield StreamDeltaEvent(ThinkingDelta(thought))
            if text := choice["delta"].get("content"):
                tokens = (choice.get("logprobs") or {}).get("content") or ()
                yield StreamDeltaEvent(TextDelta(text, logprobs=tuple(_logprob(token) for token in tokens)))


def _logprob(token: dict[str, Any]) -> TokenLogprob:
    top = tuple(TopLogprob(other["token"], other["logprob"]) for other in token["top_logprobs"])
    return TokenLogprob(token["token"], token["logprob"], top=top)


def _fail(error: dict[str, Any]) -> NoReturn:
    if error.get("type") == "exceed_context_size_error":
        raise ContextLengthError(
            f"the prompt has {error['n_prompt_tokens']} tokens, but the context has room for {error['n_ctx']}: load "
            "the model with a longer one (context=N), or show it fewer passages or demonstrations"
        )
    kind = InvalidRequestError if error.get("code") == 400 else ServerError
    raise kind(error.get("message", "llama.cpp failed without saying why"))


_loading = threading.Lock()
_load = cache(Model)
atexit.register(_load.cache_clear)  # before the interpreter is taken down; llama.cpp's threads end with their model


def _file(spec: str) -> Path:
    """The file that the spec names, downloaded if need be."""
    name = spec.removeprefix("gguf:")
    path = Path(name).expanduser()
    if not path.exists() and (found := re.fullmatch(r"([\w.-]+/[\w.-]+):(.+)", name)):
        path = _download(*found.groups())
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(
            f"cannot read {str(path)!r}: {error.strerror}; a local model is gguf:FILE, or gguf:OWNER/NAME:FILE for one "
            "on the Hugging Face hub"
        ) from None
    if magic != b"GGUF":
        raise UsageError(f"{path} is no GGUF file; llama.cpp's convert_hf_to_gguf.py makes one of a model's folder")
    return path.resolve()


@cache
def _download(repository: str, name: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(hf_hub_download(repository, name))
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise UsageError(f"cannot download {name} of {repository}: {str(error).strip().splitlines()[0]}") from None


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
