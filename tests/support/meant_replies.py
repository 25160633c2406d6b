"""A question that every method can be asked, and what an LM replies to each field of its prompts."""

import inspect
import json
import typing
from typing import Any

from support.scripted import render

from lms.prompt import Field, Prompt
from programs import load, names
from retrieval import Memory, Passage

__all__ = [
    "FOUND", "PASSAGES", "QUESTION", "SETTINGS", "Written", "as_asked", "in_form", "methods", "out_of_form",
    "retriever_for",
]  # fmt: skip

QUESTION = "Was the finder of the planet Zorx born in Lund?"
FOUND = ["zorx", "bakers"]
PASSAGES = [
    Passage("zorx", "Zorx is a planet found in 2190 by Ada Quill.", "Zorx"),
    Passage("bakers", "The Zorxes were a band of bakers.", "Zorxes"),
    Passage("ada", "Ada Quill was born in Lund.", "Ada Quill"),
]
LAST = "Where was Ada Quill born?"
_YES_OR_NO: dict[str, dict[str, Any]] = {"style": {"style": "yesno"}, "preset": {"preset": "commonsense"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "migres": {"threshold": -6.0},
    "retrieve_read": {"threshold": -6.0},
    "flare": {"theta": 1.0, "beta": 0.0},  # without log-probabilities
}


def methods() -> list[tuple[str, dict[str, Any]]]:
    """Every method by its name, with settings for short answers and, where it has any, for yes or no."""
    found = []
    for name in names():
        parameters = inspect.signature(load(name).__init__).parameters
        usual = SETTINGS.get(name, {})
        choices = {setting: typing.get_args(parameter.annotation) for setting, parameter in parameters.items()}
        yesno = [more for setting, more in _YES_OR_NO.items() if more[setting] in choices.get(setting, ())]
        found += [(name, usual | more) for more in [{}, *yesno]]
    return [*found, ("alce", {"mode": "summ"}), ("self_verification", {"verify": "condition"})]


def retriever_for(method: str) -> Memory:
    """What the question finds; HyDE needs scores, which a table of answers has none of."""
    return Memory(PASSAGES, {} if method == "hyde" else {QUESTION: FOUND})


Written = dict[str, Any]
"""The values of a reply: as they were asked for, or as text."""


def in_form(prompt: Prompt) -> Written:
    return {field.name: value(field, prompt)[0] for field in prompt.outputs}


def out_of_form(prompt: Prompt) -> Written:
    """The same values as LMs like to write them. Empty ones are left out."""
    said = {field.name: value(field, prompt)[1] for field in prompt.outputs}
    return {name: text for name, text in said.items() if text}


def value(field: Field, prompt: Prompt) -> tuple[Any, str]:
    """What a field is to hold, as it was asked for and as an LM may write it; with no text it may be left out."""
    name, shown = field.name, " ".join(prompt.inputs.values())
    told = "born in Lund." in shown
    options = next((part["enum"] for part in [field.schema, *field.schema.get("anyOf", [])] if "enum" in part), [])
    if name == "answer" and "unanswerable" in f"{options} {field.description}" and not told:
        return "unanswerable", "The facts do not mention where she was born."
    if name == "action":
        return ("finish", "Finish[yes]") if told else ("search", "Search.")
    if name == "needed":
        return ("no", "No, it can be answered now.") if told else ("yes", "Yes.")
    if name == "sufficient":
        return ("yes", "Yes, it follows.") if told else ("no", "No.")
    if name in ("query", "follow_up"):
        return ("", "None" if name == "query" else "") if told else (LAST, LAST)
    if name == "strategy":
        return "multiple", "Multi-step retrieval."
    if "yes" in options:
        return ("yes", "**Yes**, because she was.") if told or name != "answer" else (options[0], "Yes")
    if options:
        return options[-1], f"The {options[-1]} one."
    if name in ("relevant", "useful"):
        return [1, 2], "[1] [2]"
    if name == "statements":
        lines = [line.partition(" | ")[2] for line in prompt.inputs["context"].splitlines()]
        found = [(line, n) for n, line in enumerate(lines, 1)]
        if "history" in prompt.inputs:  # the next sentence alone
            found = [(line, n) for line, n in found if line not in prompt.inputs["history"]][:1]
        written = [{"statement": line, "passages": [n]} for line, n in found]
        return written, "\n".join(f"- {line} [{n}]" for line, n in found) or "None"
    if name == "query" and "notes" in prompt.inputs:
        return LAST, f"1. {LAST}" if not told else LAST
    if name == "new_notes":
        said = "Ada Quill was born in Lund." if told else "Zorx was found by Ada Quill."
        return [said], f"Here are the new notes:\n- {said}"
    if name == "information":
        said = "Ada Quill was born in Lund." if told else ""
        return said or "No helpful information", said or "The passages do not say anything about that."
    if name == "sentence":
        said = "So the answer is yes." if told else "Zorx was found by Ada Quill."
        return said, f"{said} She was born there."  # running on
    if name in ("queries", "related", "searches"):
        return ["Who found Zorx?", LAST], f"1. Who found Zorx?\n2. {LAST}"
    if name == "keywords":
        return ["planet", "astronomer"], "planet, astronomer"
    if "probability" in name:
        return 0.05, "5%"
    if name == "candidate":
        return ("Quill", "Quill") if "Ada Quill" in shown else ("unknown", "The document does not mention it.")
    if name in ("summary", "snippet") and "irrelevant" in field.description and not told:
        return "irrelevant", "Irrelevant."
    if name in ("passage", "knowledge") and "[NONE]" in field.description:
        return "[NONE]", "I'm sorry, but I do not know that."
    if name in ("reasoning", "thought", "explanation", "evidence"):
        return "", ""
    if name == "missing":
        return ("", "N/A") if told else ("Where Ada Quill was born.", "Where Ada Quill was born.")
    return {"condition": "Zorx"}.get(name, f"Ada ({name})"), {"condition": "Zorx"}.get(name, f"Ada ({name})")


def as_asked(fields: Written, style: str) -> str:
    if style == "json":
        return json.dumps(fields)
    texts = {name: said if isinstance(said, str) else json.dumps(said) for name, said in fields.items()}
    if style == "xml":
        return "\n".join(f"<{name}>\n{said}\n</{name}>" for name, said in texts.items())
    return f"{render(texts)}\n\n[[ ## completed ## ]]"
