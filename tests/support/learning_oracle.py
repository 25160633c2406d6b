"""An LM that knows the answers but has to learn, from demonstrations or instructions, how to reply well.

Untaught, it answers in whole sentences, keeps every passage, takes statements from all of them, repeats the question as
a query, and says only that something is missing. It imitates demonstrations, good or bad: for each field the majority
decides. It understands the instructions in `KEYS`. It replies well to a few questions in any case.
"""

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from dspy.lm15 import Request, Response
from support.scripted import render, respond

from lms.oracle import Gold, OracleEngine
from lms.prompt import Prompt, parse

__all__ = ["KEYS", "LearningOracle"]

KEYS = {
    "answer": "Give the bare name.",
    "relevant": "Keep what the answer depends on and nothing else.",
    "statements": "Draw on what the answer depends on and nothing else.",
    "queries": "Ask for what is missing by its name.",
    "missing": "Say by name what is missing.",
    "passage": "Name everything that may help.",
}
"""The instructions that teach it, by the output field that they concern."""

_REASONS = {  # words of the feedback, and the fields whose instructions it then writes
    "it is to stand alone": ["answer"],
    "not needed and were kept": ["relevant"],
    "statements were taken from them": ["statements"],
    "No query found": ["queries", "missing", "passage"],
    "too far down to be read": ["queries", "missing", "passage"],
}
_SENTENCE = "As far as I can tell from all that it is {} , I think"
_SOMETHING = "Something is missing ."
_NOTHING = "I know little about that ."
_SHORT = 6  # words


class LearningOracle(OracleEngine):
    """The oracle, spoilt field by field unless it was taught.

    Args:
        golds: The gold of each question that will be asked.
        knack: The percentage of the questions that it replies well to in any case.
        deaf: Whether it learns nothing.
    """

    def __init__(self, golds: Iterable[Gold], *, knack: int = 25, deaf: bool = False) -> None:
        super().__init__(golds)
        self._knack = knack
        self._deaf = deaf
        self.taught: list[str] = []
        """The prompts that asked it for instructions."""

    def complete(self, request: Request) -> Response:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        user = request.messages[-1].text or ""
        prompt = parse(system, user)
        proposed = _proposed(prompt, user)
        if proposed is not None:
            self.taught.append(user)
            return respond(_written(proposed, user))
        reply = _fields(super().complete(request).text or "")
        texts = [message.text or "" for message in request.messages[:-1]]
        shown = [
            ({"": asked, **_fields(asked)}, _fields(said)) for asked, said in zip(texts[::2], texts[1::2], strict=True)
        ]
        gifted = self._gifted(prompt)
        for name in reply:
            if not gifted and name in KEYS and not (self._knows(name, system, shown) and not self._deaf):
                reply[name] = _clumsy(name, reply[name], prompt)
        return respond(_written(reply, user))

    def _gifted(self, prompt: Prompt) -> bool:
        gold, _ = self.gold_for(prompt)
        return gold is not None and zlib.crc32(gold.question.encode()) % 100 < self._knack

    def _knows(self, name: str, system: str, shown: list[tuple[Mapping[str, str], Mapping[str, str]]]) -> bool:
        told = KEYS[name] in system
        examples = [_is_good(name, asked, said[name]) for asked, said in shown if said.get(name)]
        return sum(examples) * 2 > len(examples) if examples else told


def _clumsy(name: str, value: str, prompt: Prompt) -> str:
    """The untaught value of a field."""
    lines = {int(n): text for text in prompt.inputs.values() for n, text in _numbered(text)}
    if name == "answer":
        settled = value in ("yes", "no") or value.startswith(("unanswerable", "unknown"))
        return value if settled else _SENTENCE.format(value)
    if name == "relevant":
        return json.dumps(list(lines))
    if name == "statements":
        every = [{"statement": line.replace(" | ", ": ", 1), "passages": [n]} for n, line in lines.items()]
        return json.dumps(every)
    if name == "queries":
        return json.dumps([prompt.inputs.get("question", "")])
    if name == "missing":
        return _SOMETHING if value else ""
    return _NOTHING


def _is_good(name: str, asked: Mapping[str, str], said: str) -> bool:
    """Whether a demonstration shows a good value of this field."""
    count = len(_numbered(asked[""]))
    if name == "answer":
        return len(said.split()) <= _SHORT
    if name == "relevant":
        return len(json.loads(said)) < count
    if name == "statements":
        return len({n for one in json.loads(said) for n in one["passages"]}) < count
    if name == "queries":
        return asked.get("question") not in json.loads(said)
    return said not in (_SOMETHING, _NOTHING)


def _proposed(prompt: Prompt, user: str) -> dict[str, Any] | None:
    """The reply to a prompt that asks for instructions: the keys that the feedback gives reason for; else None."""
    names = [field.name for field in prompt.outputs]
    fields = dict.fromkeys(field for reason, fields in _REASONS.items() if reason in user for field in fields)
    keys = " ".join(KEYS[field] for field in fields)
    if "proposed_prefix_for_output_field" in names:  # COPRO: good only once it sees scores
        text = " ".join(KEYS.values()) if "Resulting Score" in user else "Answer nicely ."
        return {"proposed_instruction": text, "proposed_prefix_for_output_field": "Answer:"}
    if "module_advice" in names:  # SIMBA
        modules = json.loads(prompt.inputs["module_names"])
        return {"discussion": "So .", "module_advice": json.dumps(dict.fromkeys(modules, keys) if keys else {})}
    if "new_instruction" in names:  # GEPA
        return {"new_instruction": keys or "Answer nicely ."}
    if "proposed_instruction" in names:  # MIPROv2: good every other time
        good = zlib.crc32(user.encode()) % 2
        return {"proposed_instruction": " ".join(KEYS.values()) if good else "Answer nicely ."}
    if {"observations", "summary", "program_description", "module_description"} & set(names):
        return dict.fromkeys(names, "About many things .")
    return None


def _written(reply: Mapping[str, Any], user: str) -> str:
    """The reply in DSPy's chat format, or as JSON if the prompt asks for it, as GEPA does."""
    return json.dumps(reply) if "Respond with a JSON object" in user else render(dict(reply))


def _fields(text: str) -> dict[str, str]:
    """The fields of a message in DSPy's chat format."""
    parts = re.split(r"(?m)^\[\[ ## (\w+) ## \]\]$", text)[1:]
    return {name: value.strip() for name, value in zip(parts[::2], parts[1::2], strict=True) if name != "completed"}


def _numbered(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(?m)^\[(\d+)\] (.*)$", text)
