"""Replies of a real model that were recorded, and which of them are read: by our types and adapters, and without."""

import gzip
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import dspy
import pydantic
from dspy.utils.exceptions import AdapterParseError

import signatures as package
from signatures import adapters as ours
from signatures.replies import (
    Choice,
    Keywords,
    Numbers,
    Probability,
    ProbabilityOrNone,
    Statements,
    Texts,
    Triples,
    YesNo,
    YesNoOrNone,
    YesNoOrUnanswerable,
)

__all__ = ["Recorded", "kind", "read_after", "read_before", "recorded", "shares", "signatures", "table"]


class Recorded(NamedTuple):
    """One reply."""

    signature: str
    adapter: str
    schema: bool
    text: str

    @property
    def way(self) -> str:
        """How it was asked for: the adapter, or by schema."""
        return "schema" if self.schema else self.adapter


class _Statement(pydantic.BaseModel):
    statement: str
    passages: list[int]


_AFTER = {"chat": ours.ChatAdapter(), "json": ours.JSONAdapter(), "xml": ours.XMLAdapter()}
_BEFORE = {"chat": dspy.ChatAdapter(), "json": dspy.JSONAdapter(), "xml": dspy.XMLAdapter()}
_KINDS: dict[Any, tuple[str, Any]] = {  # what a field is of, and the plain type that it would have without our types
    Numbers: ("numbers", list[int]),
    Statements: ("statements", list[_Statement]),
    Texts: ("lists of text", list[str]),
    Keywords: ("lists of text", list[str]),
    Triples: ("triples", list[list[str]]),
    YesNoOrUnanswerable: ("yes or no", None),
    YesNoOrNone: ("yes or no", bool | None),
    YesNo: ("yes or no", bool),
    Probability: ("probability", float),
    ProbabilityOrNone: ("probability", float),
    Choice: ("choice", None),
}


def recorded(file: Path) -> list[Recorded]:
    """The replies in a file of JSON lines, gzipped or not."""
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    return [Recorded(**json.loads(line)) for line in text.split("\n") if line]


@cache
def signatures() -> tuple[type[dspy.Signature], ...]:
    """All signatures of the package."""
    names = [
        found.name for found in pkgutil.iter_modules(package.__path__) if found.name not in ("adapters", "replies")
    ]
    modules = [importlib.import_module(f"signatures.{name}") for name in names]
    named = [getattr(module, name) for module in modules for name in module.__all__]
    return tuple(one for one in named if inspect.isclass(one))


@cache
def _by_name() -> dict[str, type[dspy.Signature]]:
    return {signature.__name__: signature for signature in signatures()}


def _kind_of(annotation: Any) -> tuple[str, Any] | None:
    found = [known for of, known in _KINDS.items() if annotation is not str and issubclass(annotation, of)]
    return found[0] if found else None


def kind(signature: str) -> str:
    """What makes the signature's replies hard to read: the first field that is no text, or one that may be left out."""
    fields = _by_name()[signature].output_fields.values()
    typed = [known[0] for field in fields if (known := _kind_of(field.annotation))]
    return (typed or ["text" if all(field.is_required() for field in fields) else "text, some may be empty"])[0]


@cache
def _twin(signature: str) -> type[dspy.Signature]:
    """The signature with plain types, and every output required."""
    outputs = {}
    for name, field in _by_name()[signature].output_fields.items():
        known = _kind_of(field.annotation)
        plain = (known[1] or field.annotation.shows) if known else str  # type: ignore[union-attr]
        outputs[name] = (plain, dspy.OutputField(desc=field.json_schema_extra["desc"]))  # type: ignore[index,call-overload]
    made = _by_name()[signature]
    inputs = {name: (str, dspy.InputField()) for name in made.input_fields}
    return dspy.Signature({**inputs, **outputs}, made.instructions)  # type: ignore[no-any-return]


def read_after(reply: Recorded) -> dict[str, Any] | None:
    """The fields by our types and adapters; None for an unparsable reply."""
    return _parsed(_AFTER[reply.adapter], _by_name()[reply.signature], reply.text)


def read_before(reply: Recorded) -> dict[str, Any] | None:
    """The fields by plain types and DSPy's adapters; None for an unparsable reply."""
    return _parsed(_BEFORE[reply.adapter], _twin(reply.signature), reply.text)


def _parsed(adapter: dspy.Adapter, signature: type[dspy.Signature], text: str) -> dict[str, Any] | None:
    try:
        return adapter.parse(signature, text)  # type: ignore[no-any-return]
    except AdapterParseError:
        return None


class Share(NamedTuple):
    """Of some replies: how many there are, and how many are read before and after."""

    replies: int
    before: int
    after: int


def shares(replies: Iterable[Recorded]) -> dict[tuple[str, str], Share]:
    """By kind and way, with "all" for either."""
    counts: dict[tuple[str, str], list[int]] = {}
    for reply in replies:
        read = (1, read_before(reply) is not None, read_after(reply) is not None)
        for key in _keys(reply):
            counts[key] = [a + b for a, b in zip(counts.get(key, [0, 0, 0]), read, strict=True)]
    return {key: Share(*counted) for key, counted in counts.items()}


def _keys(reply: Recorded) -> Iterator[tuple[str, str]]:
    for one in (kind(reply.signature), "all"):
        for way in (reply.way, "all"):
            yield one, way


def table(replies: Iterable[Recorded]) -> str:
    """The shares as a table in Markdown: percent before → after, and the number of replies."""
    found = shares(replies)
    ways = [way for way in ("chat", "json", "xml", "schema", "all") if ("all", way) in found]
    kinds = [*sorted({one for one, _ in found} - {"all"}), "all"]
    lines = ["| kind | " + " | ".join(ways) + " |", "| --- |" + " --- |" * len(ways)]
    for one in kinds:
        cells = [_cell(found[one, way]) if (one, way) in found else "" for way in ways]
        lines.append(f"| {one} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(share: Share) -> str:
    return f"{100 * share.before / share.replies:.0f} → {100 * share.after / share.replies:.0f} ({share.replies})"
