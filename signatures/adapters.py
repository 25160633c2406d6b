"""DSPy's adapters, with the fields found in replies that are not quite in the form that was asked for.

The prompts are DSPy's own, and so is the reading of each field. Only the search for the fields is more tolerant: it
knows markers in another case, another adapter's markers, "**Answer:** …", fenced or nested JSON, text before and after,
and replies cut off at the token limit. The classes have DSPy's names, by which its streaming knows what to listen to.
"""

import html
import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from odqa.bridge import apply_output_field_defaults, parse_value
from signatures.replies.as_written import Reply
from signatures.replies.cleaning import LONGEST, breaks_off, json_in, repaired, without_fence, without_thinking

__all__ = ["ChatAdapter", "JSONAdapter", "XMLAdapter", "is_tolerant"]

_SCHEMA_TYPES = ("string", "array", "object", "number", "integer", "boolean")
_LONGEST_REPLY = 200_000  # characters; what goes beyond is cut off

_Found = tuple[dict[str, Any], str]  # the fields, and the text before them
_Finder = Callable[[type[dspy.Signature], str], _Found]


class _Tolerant:
    """What the three adapters have in common."""

    finders: tuple[_Finder, ...]

    def format(self, signature: type[dspy.Signature], *args: Any, **kwargs: Any) -> Any:
        return super().format(_plain(signature), *args, **kwargs)  # type: ignore[misc,arg-type]

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        def unparsable(message: str | None = None) -> AdapterParseError:
            return AdapterParseError(type(self).__name__, signature, completion, message, fields)

        fields: dict[str, Any] = {}
        for name, value in _fields(signature, completion, self.finders).items():
            try:
                fields[name] = _value(value, signature.output_fields[name].annotation)
            except (ValueError, RecursionError, MemoryError) as error:
                raise unparsable(f"Failed to parse field {name}: {error}") from error
        fields = apply_output_field_defaults(signature, fields)
        if fields.keys() != signature.output_fields.keys():
            raise unparsable()
        return fields

    def _make_json_adapter_fallback(self) -> "JSONAdapter":
        return JSONAdapter(
            use_native_function_calling=self.use_native_function_calling,  # type: ignore[attr-defined]
            parallel_tool_calls=self.parallel_tool_calls,  # type: ignore[attr-defined]
        )


def is_tolerant(adapter: Any) -> bool:
    """Whether the adapter is one of these, or made from one."""
    return isinstance(adapter, _Tolerant)


def _fields(signature: type[dspy.Signature], reply: str, finders: Iterable[_Finder]) -> dict[str, Any]:
    """What the first finder that finds all required fields has for each; else what the best one has."""
    unfinished = breaks_off(reply[:_LONGEST_REPLY])
    reply = without_fence(without_thinking(reply[:_LONGEST_REPLY])).strip()
    required = {name for name, field in signature.output_fields.items() if field.is_required()}
    best: dict[str, Any] = {}
    for find in finders:
        fields, before = find(signature, reply)
        fields = {name: value for name, value in fields.items() if not _is_form(signature, name, value)}
        if unfinished:
            fields = {name: value for name, value in fields.items() if value}
        first = next(iter(signature.output_fields))
        if fields and first not in fields and _is_text(signature.output_fields[first].annotation):
            before = _marker(_names(signature)).sub("", before).strip()
            fields |= {first: before} if before else {}
        if required <= fields.keys() and fields:
            return fields
        best = max(best, fields, key=len)
    if not best and len(required) == 1 and reply and not re.match(r"\[\[\s*#|[{<]", reply):
        (name,) = required
        if len(signature.output_fields) == 1 or not _is_text(signature.output_fields[name].annotation):
            return {name: reply}  # the one field without any marker
    return best


def _marked(signature: type[dspy.Signature], reply: str) -> _Found:
    """By ChatAdapter's markers, in any case and not quite whole."""
    return _sections(signature, _marker(_names(signature, "completed")), reply)


def _headed(signature: type[dspy.Signature], reply: str) -> _Found:
    """By headings such as "**Answer:**", "### Answer" and "Answer:" at the beginning of a line."""
    return _sections(signature, _heading(_names(signature)), reply)


def _tagged(signature: type[dspy.Signature], reply: str) -> _Found:
    """By XML tags, closed or not."""
    names = _names(signature)
    found: dict[str, Any] = {}
    before = reply
    for opening in re.finditer(rf"<({names})\s*(/?)>", reply, re.IGNORECASE):
        name = _normal(opening[1])
        if name in found:
            continue
        before = before if found else reply[: opening.start()]
        rest = "" if opening[2] else reply[opening.end() :]
        inner = re.split(rf"</\s*{opening[1]}\s*>", rest, maxsplit=1, flags=re.IGNORECASE)[0]
        if inner is rest or len(inner) == len(rest):  # not closed
            inner = re.split(rf"</?(?:{names})\s*>|</?\w*\Z", rest, maxsplit=1, flags=re.IGNORECASE)[0]
        items = re.findall(r"<item>(.*?)(?:</item>|(?=<item>)|\Z)", inner, re.DOTALL)
        nested = items and not _is_reply(signature.output_fields[name].annotation)
        found[name] = [html.unescape(item) for item in items] if nested else html.unescape(inner).strip()
    return found, before


def _keyed(signature: type[dspy.Signature], reply: str) -> _Found:
    """By the keys of a JSON object, in whatever it is nested."""
    try:
        objects, before = [json.loads(reply)], ""
    except (ValueError, RecursionError):
        before, brace, _ = reply.partition("{")
        objects = json_in(reply, "{") if brace else []
    best: dict[str, Any] = {}
    for fields in _objects(objects, depth=3):
        by_name = {_normal(str(key)): value for key, value in fields.items()}
        known = {
            name: by_name[name] for name, field in signature.output_fields.items() if _is_there(name, field, by_name)
        }
        best = max(best, known, key=len)
    return best, before


def _sections(signature: type[dspy.Signature], marker: re.Pattern[str], reply: str) -> _Found:
    """The text between the markers; of a field that comes twice the first that is not blank."""
    markers = list(marker.finditer(reply))
    ends = [found.start() for found in markers[1:]] + [len(reply)]
    fields: dict[str, Any] = {}
    for found, end in zip(markers, ends, strict=False):
        name = _normal(next(filter(None, found.groups()), ""))
        text = _without_tail(reply[found.end() : end].strip())
        if name in signature.output_fields and not (fields.get(name) or _is_form(signature, name, text)):
            fields[name] = text
    return fields, reply[: markers[0].start()] if markers else ""


class ChatAdapter(_Tolerant, dspy.ChatAdapter):
    """DSPy's ChatAdapter, which finds the fields tolerantly. Where it finds too few, DSPy asks again, for JSON."""

    finders = (_marked, _keyed, _tagged, _headed)


class JSONAdapter(_Tolerant, dspy.JSONAdapter):
    """DSPy's JSONAdapter, which finds the fields of a reply tolerantly."""

    finders = (_keyed, _marked, _tagged, _headed)


class XMLAdapter(_Tolerant, dspy.XMLAdapter):
    """DSPy's XMLAdapter, which finds the fields tolerantly. Where it finds too few, DSPy asks again, for JSON."""

    finders = (_tagged, _marked, _keyed, _headed)

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Nested elements are read by DSPy, as long as the reply is well-formed."""
        reply = completion[:_LONGEST_REPLY]
        if all(f"<{name}>" in reply and f"{{{name}}}" not in reply for name in signature.output_fields):
            try:
                for name, value in _tagged(signature, reply)[0].items():
                    annotation = signature.output_fields[name].annotation
                    if isinstance(value, str) and annotation is not str and not _is_reply(annotation):
                        repaired(value)  # which DSPy does again, if it can be done
                return dspy.XMLAdapter.parse(self, signature, reply)  # type: ignore[no-any-return]
            except (AdapterParseError, ValueError, RecursionError):
                pass
        return super().parse(signature, completion)


# A marker of ChatAdapter in which the reply breaks off.
_TAIL = 60  # characters
_UNFINISHED = re.compile(r"\[\[(?:[ \t]*#+[\w \t]*#*[ \t]*\]?)?\Z")


@lru_cache(maxsize=256)
def _marker(names: str) -> re.Pattern[str]:
    return re.compile(
        rf"\[\[[ ]*#+[ ]*({names})[ ]*#*[ ]*\]{{0,2}}[ ]*:?|^[ *]{{0,4}}\[+[ ]*#*[ ]*({names})[ ]*#*[ ]*\]+[ *:]*"
        rf"|^[ ]*#+[ ]*({names})[ ]*#+[ ]*$|^[ ]*\[\[ ## (\w+) ## \]\]",
        re.IGNORECASE | re.MULTILINE,
    )


@lru_cache(maxsize=256)
def _heading(names: str) -> re.Pattern[str]:
    return re.compile(
        rf"^[ \t>*_#-]{{0,8}}(?:\d[.)][ ]*)?[*_`\"]{{0,3}}(?:the |my )?(?:final |short )?({names})[*_`\"]{{0,3}}"
        rf"(?:[ ]*[:=][*_`\"]{{0,3}}[ \t]*|$(?<=[*_]))|^[ ]*#+[ ]*({names})[ ]*$",
        re.IGNORECASE | re.MULTILINE,
    )


def _without_tail(text: str) -> str:
    return text[:-_TAIL] + _UNFINISHED.sub("", text[-_TAIL:]).rstrip() if "[[" in text[-_TAIL:] else text


def _names(signature: type[dspy.Signature], *more: str) -> str:
    """The names of the output fields as alternatives of a regular expression."""
    return "|".join(re.escape(name).replace("_", "[_ -]") for name in (*signature.output_fields, *more))


def _normal(name: str) -> str:
    return re.sub(r"[ -]", "_", name.strip().lower())


def _objects(value: Any, depth: int) -> Iterable[dict[Any, Any]]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list) and depth:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _objects(inner, depth - 1)


def _is_there(name: str, field: Any, values: dict[str, Any]) -> bool:
    """Whether JSON has a value for the field; null is one only for a required field of a type that can read it."""
    if _is_schema(values.get(name)):  # the LM repeats what it was asked with
        return False
    return values.get(name) is not None or (name in values and field.is_required() and _is_reply(field.annotation))


# What the prompt has in the place of a value: "{answer}        # note: the value you produce must be …".
_FORM = re.compile(r"[\"'<]?\{(\w+)\}[\"'>]?(?:\s*#\s*note:.*)?", re.DOTALL)


def _is_form(signature: type[dspy.Signature], name: str, value: Any) -> bool:
    """Whether the value only repeats the prompt: the place of a field, or what is said about this one."""
    if not isinstance(value, str):
        return False
    copied = _FORM.fullmatch(value.strip())
    said = signature.output_fields[name].json_schema_extra.get("desc", "")
    return bool(copied and copied[1] in signature.fields) or value.strip(' .`"') == said.strip(" .")


def _is_schema(value: Any) -> bool:
    """Whether the value is that of a property in a JSON schema, as {"type": "string"}."""
    return isinstance(value, dict) and value.get("type") in _SCHEMA_TYPES and not {"statement", "text"} & value.keys()


def _value(value: Any, annotation: Any) -> Any:
    if annotation is str:
        if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            return "\n".join(map(str, value))
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
    if isinstance(value, str) and not _is_reply(annotation):
        value = value[:LONGEST]
        repaired(value)  # which DSPy does again, if it can be done
    return parse_value(value, annotation)


def _is_text(annotation: Any) -> bool:
    return annotation is str or (_is_reply(annotation) and annotation.shows is str)


def _is_reply(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Reply)


@lru_cache(maxsize=256)
def _plain(signature: type[dspy.Signature]) -> type[dspy.Signature]:
    """The signature with the plain types that the reply types show as: every adapter knows how to ask for them."""
    for name, field in signature.output_fields.items():
        if _is_reply(field.annotation):
            signature = signature.with_updated_fields(name, type_=field.annotation.shows)
    return signature
