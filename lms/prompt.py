"""Reads back the prompts that DSPy's adapters render: the inputs, the wanted fields, the format. Writes the reply.

It understands the formats of `dspy.ChatAdapter`, `dspy.JSONAdapter` and `dspy.XMLAdapter`. The names of the wanted
fields come from the last sentence of the last message, which follows everything that a caller can put into a field;
their types come from the system message. Nothing here raises, whatever the text.
"""

import ast
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

__all__ = ["Field", "Prompt", "clean", "parse", "render"]

# The sentence that asks for the reply, by reply format.
_REQUESTS = {
    "chat": "Respond with the corresponding output fields, starting with the field ",
    "json": "Respond with a JSON object in the following order of fields: ",
    "xml": "Respond with the corresponding output fields wrapped in XML tags ",
}
_NUMBERS = {"int": "integer", "float": "number", "bool": "boolean"}


@dataclass(frozen=True, slots=True)
class Field:
    """One wanted field: its name, its type as a JSON schema, and its description (may be empty)."""

    name: str
    schema: dict[str, Any]
    description: str

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A part of the schema, or the definition that it refers to; a constant becomes an enum's only option."""
        found: dict[str, Any] = self.schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
        return {**found, "enum": [found["const"]]} if "const" in found else found


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, read back.

    Attributes:
        format: "chat", "json", "xml", or "plain" if no adapter's format was recognised.
        instructions: The signature's instructions.
        inputs: The current inputs, as rendered, by name; for "plain" the whole prompt, named "question".
        outputs: The wanted fields, in order; for "plain" one text field, "answer".
    """

    format: str
    instructions: str
    inputs: dict[str, str]
    outputs: list[Field]


def parse(system: str, user: str) -> Prompt:
    """Read the system message and the last user message of a prompt."""
    style, start = max(((style, user.rfind(text)) for style, text in _REQUESTS.items()), key=lambda pair: pair[1])
    if start < 0:
        return Prompt("plain", system, {"question": user}, [Field("answer", {"type": "string"}, "")])
    asked = user[start + len(_REQUESTS[style]) :]
    wanted = re.findall(r"(?:^|, then )`(?:\[\[ ## |<)?(\w+)", asked)
    declared, _, rest = system.partition("All interactions will be structured in the following way")
    structure, _, instructions = rest.partition("In adhering to this structure, your objective is:")
    fields = {name: (kind, text) for name, kind, text in re.findall(r"(?m)^\d+\. `(\w+)` \((.*?)\):(.*)$", declared)}
    notes = _notes(structure)
    outputs = []
    for name in wanted:
        kind, text = fields.get(name, ("str", ""))
        outputs.append(Field(name, _schema(kind, notes.get(name, "")), text.strip()))
    names = [name for name in fields if name not in wanted]
    return Prompt(style, " ".join(instructions.split()), _inputs(user[:start], names), outputs)


def render(prompt: Prompt, values: dict[str, Any]) -> str:
    """The reply in the format that the prompt asked for; `values` has one value for each wanted field."""
    texts = {field.name: _text(field.schema, values[field.name]) for field in prompt.outputs}
    if prompt.format == "json":
        # DSPy parses a string in a JSON reply once more, like the text behind a marker: "0" becomes a number, unless
        # the field's type is plain text.
        strings = {name: texts[name] for name, value in values.items() if isinstance(value, str)}
        return json.dumps({**values, **strings}, ensure_ascii=False)
    if prompt.format == "xml":
        escaped = {name: text.replace("&", "&amp;").replace("<", "&lt;") for name, text in texts.items()}
        return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in escaped.items())
    if prompt.format == "chat":
        sections = [f"[[ ## {name} ## ]]\n{text}" for name, text in texts.items()]
        return "\n\n".join([*sections, "[[ ## completed ## ]]"])
    return "\n".join(texts.values())


def clean(text: str) -> str:
    """Text that is safe in every format: one line, printable, no field marker."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return re.sub(r"\[\[(?=\s*##)", "[ [", line)


def _inputs(body: str, names: list[str]) -> dict[str, str]:
    """The input fields of a message by name.

    They are read from the end: the last copy of a marker before the next field's marker is the real one, so that a
    value keeps the markers inside it.
    """
    values: dict[str, str] = {}
    for name in reversed(names):
        marks = list(re.finditer(rf"(?m)^(?:\[\[ ## {name} ## \]\]|<{name}>)$", body))
        if marks:
            values[name] = body[marks[-1].end() :].strip().removesuffix(f"</{name}>").strip()
            body = body[: marks[-1].start()]
    return dict(reversed(values.items()))


def _notes(structure: str) -> dict[str, str]:
    """What the system message says about the type of each field, by field name."""
    described = structure.partition("Outputs will be a JSON object with the following fields.")[2].strip()
    if described:
        with suppress(ValueError, TypeError):  # a structure that JSONAdapter did not write is read as it is
            structure = "\n".join(str(line) for line in dict(json.loads(described)).values())
    return dict(re.findall(r"(?m)^\{(\w+)\} +# note: the value you produce (.*)$", structure))


def _schema(kind: str, note: str) -> dict[str, Any]:
    """The JSON schema of a field, from the name of its type and from the note on it."""
    if "JSON schema: " in note:
        try:
            schema = json.loads(note.partition("JSON schema: ")[2])
        except ValueError:
            schema = {}
        return schema if isinstance(schema, dict) else {}
    if "one of: " in note or kind.startswith("Literal["):
        told = note.partition("one of: ")[2]
        with suppress(ValueError, SyntaxError):  # the type's name tells 1 from "1", and "a; b" from two options
            options = list(ast.literal_eval(kind.removeprefix("Literal")))
            if not told or "; ".join(map(str, options)) == told:
                return {"enum": options}
        return {"enum": [int(option) if option.isdecimal() else option for option in told.split("; ")]}
    if kind in _NUMBERS:
        return {"type": _NUMBERS[kind]}
    if kind.startswith("list["):  # XMLAdapter shows no schema for these
        return {"type": "array", "items": _schema(kind[5:-1], "")}
    return {"type": "object"} if kind.startswith("dict") else {"type": "string"}


def _text(schema: dict[str, Any], value: Any) -> str:
    """A value as text behind a field marker: text as it is, everything else as JSON."""
    # DSPy also takes `str | None` as it is, but reads every other union as JSON.
    optional = {"type": "string"} in schema.get("anyOf", []) and {"type": "null"} in schema["anyOf"]
    as_is = schema == {"type": "string"} or "enum" in schema or optional
    return str(value) if as_is and value is not None else json.dumps(value)
