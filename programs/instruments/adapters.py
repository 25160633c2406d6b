"""The form in which programs ask an LM and read its replies: a tolerant adapter by name, and schemas for its JSON.

with dspy.context(lm=lm, adapter=load_adapter("json", structured="on")):
    prediction = program(question=question)

DSPy's own default is not relied on: another one is announced for version 3.5, which changes every prompt. And for a
model whose name it does not know, as on a server of one's own, DSPy asks for some JSON object and not for the schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import dspy
import pydantic
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
)

from odqa.bridge import unbound
from retrieval import UsageError
from signatures import adapters as tolerant

__all__ = ["NAMES", "ChatAdapter", "JSONAdapter", "Structured", "XMLAdapter", "adapter_name", "load_adapter"]

Structured = Literal["auto", "on", "off"]
"""Whether a request for JSON has the schema of the outputs with it. Servers such as vLLM, SGLang, llama.cpp, Ollama and
LM Studio decode by it, so that each reply has the wanted form. on: always; off: never; auto: until a server refuses."""

_refusing: set[tuple[str, str | None]] = set()  # models and addresses; as long as the process lives


class JSONAdapter(tolerant.JSONAdapter):
    """Asks for JSON, with a schema as `structured` says; see `Structured`.

    An engine that is no server gets a schema under `auto` if it declares `supports_response_schema`.
    """

    def __init__(self, structured: Structured = "auto") -> None:
        super().__init__()
        self.structured = structured

    def __call__(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> Any:
        """Ask the LM; where a server refuses the schema under `auto`, ask again without it."""
        asked = signature, demos, inputs
        if not (schema := self._schema(lm, signature)):
            return super().__call__(lm, lm_kwargs, *asked)
        with self._unless_refused():
            return super().__call__(lm, {**lm_kwargs, "response_format": schema}, *asked)
        with _learning(lm):
            return super().__call__(lm, dict(lm_kwargs), *asked)

    async def acall(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> Any:
        """`__call__` for asynchronous callers."""
        asked = signature, demos, inputs
        if not (schema := self._schema(lm, signature)):
            return await super().acall(lm, lm_kwargs, *asked)
        with self._unless_refused():
            return await super().acall(lm, {**lm_kwargs, "response_format": schema}, *asked)
        with _learning(lm):
            return await super().acall(lm, dict(lm_kwargs), *asked)

    @contextmanager
    def _unless_refused(self) -> Iterator[None]:
        """Ends the block where a server refuses the schema and may be asked without it."""
        try:
            yield
        except (LMInvalidRequestError, LMUnsupportedFeatureError) as error:
            if self.structured == "on" or isinstance(error, ContextWindowExceededError):
                raise

    def _prepare_response_format(self, lm: Any, lm_kwargs: Any, signature: Any) -> None:
        """Does nothing, in place of DSPy's choice: the schema is in `lm_kwargs` already, if there is to be one."""

    def _schema(self, lm: Any, signature: type[dspy.Signature]) -> dict[str, Any] | None:
        """What to ask of the LM as response_format."""
        engine = getattr(unbound(lm), "engine", "auto")
        declared = isinstance(engine, str) or getattr(engine, "supports_response_schema", False)
        if self.structured == "off" or (self.structured == "auto" and (not declared or _server(lm) in _refusing)):
            return None
        return _response_format(signature)


class _FallsBack:
    """What ChatAdapter and XMLAdapter have in common: after an unparsable reply they ask once more, for JSON."""

    def __init__(self, structured: Structured = "auto") -> None:
        super().__init__()
        self.structured = structured
        self._json = JSONAdapter(structured)

    def _make_json_adapter_fallback(self) -> JSONAdapter:
        return self._json


class ChatAdapter(_FallsBack, tolerant.ChatAdapter):
    """Asks for text with markers. `structured` is about the second request, for JSON, after an unparsable reply."""


class XMLAdapter(_FallsBack, tolerant.XMLAdapter):
    """Asks for XML. `structured` is about the second request, for JSON, after an unparsable reply."""


_ADAPTERS = {"chat": ChatAdapter, "json": JSONAdapter, "xml": XMLAdapter}
NAMES = tuple(_ADAPTERS)
"""The names that `load_adapter` knows."""


def load_adapter(name: str | None = None, structured: Structured = "auto") -> dspy.Adapter:
    """The adapter with this name, for `dspy.context(adapter=…)` or `dspy.configure(adapter=…)`.

    Args:
        name: chat, json or xml; None for chat, or for json where `structured` is on.
        structured: See `Structured`.

    Raises:
        UsageError: there is no such adapter, or a schema is asked for with one that is not for JSON.
    """
    name = name or ("json" if structured == "on" else "chat")
    if name not in _ADAPTERS:
        raise UsageError(f"there is no adapter {name!r}; there are: {', '.join(NAMES)}")
    if structured not in get_args(Structured):
        raise UsageError(f"structured is one of {', '.join(get_args(Structured))}, not {structured!r}")
    if structured == "on" and name != "json":
        raise UsageError(f"a schema makes JSON of every reply, which the adapter {name} does not ask for: use json")
    return _ADAPTERS[name](structured)


def adapter_name(adapter: dspy.Adapter | None) -> str:
    """The short name of an adapter, such as json; of none, that of DSPy's default."""
    return type(adapter or dspy.ChatAdapter()).__name__.removesuffix("Adapter").lower()


def _server(lm: Any) -> tuple[str, str | None]:
    given = unbound(lm).kwargs
    return lm.model, given.get("api_base") or given.get("base_url")


@contextmanager
def _learning(lm: Any) -> Iterator[None]:
    """Note that the server takes no schema, if it takes the request in the block, which has none."""
    try:
        yield
    except LMError:
        raise
    except Exception:  # a reply came, whether it could be read or not
        _refusing.add(_server(lm))
        raise
    _refusing.add(_server(lm))


def _response_format(signature: type[dspy.Signature]) -> dict[str, Any] | None:
    """The outputs' schema as OpenAI's chat interface takes it; None for outputs that have none, such as any mapping."""
    outputs: Any = {name: (field.annotation, ...) for name, field in signature.output_fields.items()}
    try:
        schema = _closed(pydantic.create_model("Outputs", **outputs).model_json_schema())
    except (pydantic.PydanticInvalidForJsonSchema, pydantic.PydanticSchemaGenerationError, _OpenEnded):
        return None
    return {"type": "json_schema", "json_schema": {"name": "outputs", "schema": schema, "strict": True}}


class _OpenEnded(Exception):
    """An object may have any names."""


def _closed(schema: Any) -> Any:
    """The schema in OpenAI's strict form, which all servers take: objects have just the properties that are named, and
    all of these."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items() if name not in ("properties", "default")}
    if schema.get("type") == "object":
        if not schema.get("properties"):
            raise _OpenEnded
        closed["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        closed |= {"required": list(schema["properties"]), "additionalProperties": False}
    return closed
