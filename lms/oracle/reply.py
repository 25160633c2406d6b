"""What the oracle knows of a question, and what a perfect model would say by it: a value for each wanted field."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lms.extractive.fields import fill
from lms.extractive.passages import JOINT
from lms.prompt import Field, Prompt, clean

__all__ = ["Gold", "PerfectReply", "fold", "leads_of"]

_NO_EVIDENCE = r"question|quer|topic|plan|history|missing|knowledge|analysis"  # all other inputs are evidence
_NOTED = r"^(?:notes|chain)$"  # what was drawn from passages before: no passages to draw from again
_LEADS = r"plan|quer|question|related|keyword|follow|passage|knowledge|background|missing"
_THINKING = r"reason|rationale|thought|explanation|analysis"
_TEXTS = r"evidence|summary|snippet"
_FINISH = re.compile("finish|stop|end|done|answer", re.I)
_USUAL: Any = object()  # stands for the extractive reader's value, in fields that no gold is known for
_YES = re.compile(r"\W*(?:yes|true)\W*", re.I)
_NO = re.compile(r"\W*(?:no|false)\W*", re.I)


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of one question.

    Attributes:
        question: The question, as the program gets it.
        answers: The right answers; the oracle gives the first.
        titles: Sets of titles; the passages of any one set suffice. Empty if they are not known.
        leads: Sub-questions and intermediate answers, in order.
        steps: Sub-questions with their answers, if both are known.
    """

    question: str
    answers: tuple[str, ...]
    titles: tuple[tuple[str, ...], ...] = ()
    leads: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()

    @property
    def yes_no(self) -> bool | None:
        """Whether the answer is yes; None if it is neither yes nor no."""
        if all(map(_YES.fullmatch, self.answers)):
            return True
        return False if all(map(_NO.fullmatch, self.answers)) else None


def leads_of(gold: Gold) -> Sequence[str]:
    """The texts that the oracle can make a query of, the surest first."""
    titles = [title for titles in gold.titles for title in titles]
    return [text for text in [*titles, *gold.leads, *gold.answers] if not (_YES.fullmatch(text) or _NO.fullmatch(text))]


def fold(text: str) -> str:
    """The text in one case and with single blanks, for comparisons."""
    return " ".join(text.casefold().split())


class PerfectReply:
    """The reply of a perfect model to one prompt: `values` gives the value of each field.

    Args:
        prompt: The prompt to reply to.
        gold: The gold to reply by.
        own: Whether the prompt asks the gold's own question, and not one on the way to it.
        wrong: The true gold of a call that goes wrong; None for a right one.
    """

    def __init__(self, prompt: Prompt, gold: Gold, own: bool, wrong: Gold | None) -> None:
        self._prompt = prompt
        self._gold = gold
        self._own = own
        self._wrong = wrong
        title = prompt.inputs.get("title")
        no_evidence = f"{_NO_EVIDENCE}|{_NOTED}" if "context" in prompt.inputs else _NO_EVIDENCE
        evidence = [
            f"{title} | {text}" if title else text
            for name, text in prompt.inputs.items()
            if name != "title" and not re.search(no_evidence, name.lower())
        ]
        numbered = [re.findall(r"(?m)^\[(\d+)\] (.*)$", text) or _unnumbered(text) for text in evidence]
        lines = [line for lines in numbered for line in lines]
        self._shown = [(int(number), part) for number, line in lines for part in line.split(JOINT)]
        self._relevant = [(number, line) for number, line in self._shown if self._is_gold(line)]
        self._missing = self._not_shown()
        self._covered = not evidence or (bool(self._relevant) and not self._missing) or self._all_stated()

    def values(self) -> dict[str, Any]:
        """A value for each wanted field, chosen by its type and then by its name."""
        usual: dict[str, Any] = {}
        found = {}
        for field in self._prompt.outputs:
            value = self._value(field)
            if value is _USUAL:
                usual = usual or fill(self._prompt)
                value = usual[field.name]
            found[field.name] = value
        return found

    def _value(self, field: Field) -> Any:
        schema, name = field.schema, field.name.lower()
        choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
        optional = bool(choices)
        schema = field.resolved(choices[0] if choices else schema)
        kind = schema.get("type")
        if "enum" in schema:
            options: list[Any] = schema["enum"]
            if {"yes", "no"} <= set(options):
                return self._yes_or_no(name, optional, "unanswerable" in options)
            if {"single", "multiple"} <= set(options):  # searches: a closed book would get the answer without any
                return (
                    "multiple" if len(self._gold.titles[0] if self._gold.titles else self._gold.steps) > 1 else "single"
                )
            ends = [option for option in options if _FINISH.fullmatch(str(option))]
            return next((o for o in options if (o in ends) is self._gives_answer()), options[0]) if ends else _USUAL
        if kind == "array":
            return self._list(name, field.resolved(schema.get("items", {})))
        if kind == "boolean":
            return self._verdict(name, optional)
        if kind in ("number", "integer"):
            if re.search("correct", name):
                return int(self._gives_answer())
            return 0 if bool(self._relevant) is bool(re.search("unknown|irrelevan", name)) else 1
        return self._text(name, optional) if kind == "string" else _USUAL

    def _verdict(self, name: str, optional: bool) -> bool | None:
        """The truth of what a field asks for; None where it may say nothing and there is no answer yet."""
        if re.search("answer", name):
            return None if optional and not self._gives_answer() else self._truth()
        return not self._gives_answer() if re.search("need|missing", name) else self._gives_answer()

    def _yes_or_no(self, name: str, optional: bool, may_decline: bool) -> str | None:
        if may_decline and not self._gives_answer():
            return "unanswerable"
        verdict = self._verdict(name, optional)
        return None if verdict is None else "yes" if verdict else "no"

    def _list(self, name: str, items: dict[str, Any]) -> Any:
        """Numbers of the gold passages, statements or notes on them, or queries, by the type of the items."""
        if items.get("type") == "integer":
            return [number for number, _ in self._relevant]
        if items.get("type") == "string":
            return [_titled_text(line) for _, line in self._relevant] if "notes" in name else self._queries()
        texts = [name for name, part in items.get("properties", {}).items() if part.get("type") == "string"]
        numbers = [name for name, part in items.get("properties", {}).items() if part.get("type") == "array"]
        if len(texts) != 1 or len(numbers) != 1:
            return _USUAL
        return [{texts[0]: _titled_text(line), numbers[0]: [n]} for n, line in self._relevant]

    def _text(self, name: str, optional: bool) -> Any:
        if re.search(_THINKING, name):
            return self._known()
        if re.search("sentence", name):  # of a chain of thought: the next thing to look up, and at last the answer
            return f"So the answer is: {self._answer()}" if self._gives_answer() else self._queries()[0]
        if re.search(_TEXTS, name):
            texts = [line.rpartition(" | ")[2] for _, line in self._relevant]
            return " ".join(texts) or ("" if "evidence" in name else "irrelevant")
        if re.search("information", name):
            return JOINT.join(_titled_text(line) for _, line in self._relevant) or "No helpful information"
        if re.search("document", name):
            parts = [*(line for _, line in self._relevant), *self._missing]
            return JOINT.join(dict.fromkeys(map(_titled_text, parts)))
        if re.search(_LEADS, name):
            if optional and self._gives_answer():
                return None
            if re.search("follow|query", name):
                return "" if self._gives_answer() else self._queries()[0]
            return "" if "missing" in name and self._gives_answer() else self._known()
        if re.search("candidate", name):
            return self._candidate()
        if re.search("answer", name):
            return None if optional and not self._gives_answer() else self._answer()
        return _USUAL

    def _gives_answer(self) -> bool:
        """Whether the reply gives an answer: what is shown covers it, or the call goes wrong."""
        return self._covered or self._wrong is not None

    def _answer(self) -> str:
        if not self._own:
            return self._intermediate()
        if self._gives_answer():
            return self._said()
        asks = f"{self._prompt.instructions} {' '.join(field.description for field in self._prompt.outputs)}".lower()
        return "unanswerable" if "unanswerable" in asks else "unknown"

    def _said(self) -> str:
        """The answer to give; in a call that goes wrong another question's answer, or the wrong one of yes and no."""
        if self._wrong is None:
            return clean(self._gold.answers[0])
        if self._wrong.yes_no is not None:
            return "no" if self._wrong.yes_no else "yes"
        return clean(self._gold.answers[0])

    def _truth(self) -> bool:
        """Yes or no; drawn at random, but the same for one question each time, if the gold is not shown."""
        if self._wrong is not None:
            return not self._wrong.yes_no
        if self._covered:
            return bool(self._gold.yes_no)
        return zlib.crc32(fold(self._gold.question).encode()) % 2 == 0

    def _intermediate(self) -> str:
        """The answer to a question on the way, if it is known and a gold passage is shown."""
        asked = fold(self._prompt.inputs.get("question", ""))
        answer = next((answer for question, answer in self._gold.steps if fold(question) in asked), "")
        return clean(answer) if answer and self._relevant else "unknown"

    def _candidate(self) -> str:
        """The answer that a gold document states, else the next title to look for; "unknown" for any other document."""
        if self._wrong is not None:
            return self._said()
        if not self._relevant:
            return "unknown"
        text = " ".join(line for _, line in self._relevant)
        stated = next((answer for answer in self._gold.answers if _has(text, answer)), "")
        return clean(stated or next(iter(self._missing), "") or self._gold.answers[0])

    def _known(self) -> str:
        """The missing titles, what leads to them, and the answer, in one line."""
        answers = [] if self._gold.yes_no is not None else [self._gold.answers[0]]
        return clean(". ".join(dict.fromkeys([*self._missing, *self._gold.leads, *answers])))

    def _queries(self) -> list[str]:
        """At most three queries: the missing titles, then what leads to them, without those that were sent before.

        If none is left, the question with a title.
        """
        sent = "\n".join(self._prompt.inputs.get(name, "") for name in ("history", "steps", "chain"))
        before = [fold(text) for text in re.findall(r"(?m)^(?:Action \d+: search for )?(.*)$", sent)]
        shown = {title for titles in self._gold.titles for title in titles} - set(self._missing)
        leads = [clean(lead) for lead in dict.fromkeys([*self._missing, *leads_of(self._gold)]) if lead not in shown]
        fresh = [lead for lead in leads if fold(lead) not in before]
        return fresh[:3] or [clean(" ".join([*leads[:1], self._gold.question]))]

    def _not_shown(self) -> list[str]:
        """The missing titles of the set of which fewest are missing."""
        sets = [
            [title for title in titles if not any(_titled(line, title) for _, line in self._shown)]
            for titles in self._gold.titles
        ]
        return min(sets, key=len, default=[])

    def _all_stated(self) -> bool:
        """Whether what is shown states each step, word for word and with its answer."""
        steps, lines = self._gold.steps, [line for _, line in self._shown]
        return bool(steps) and all(
            any(fold(question) in fold(line) and _has(line, answer) for line in lines) for question, answer in steps
        )

    def _is_gold(self, line: str) -> bool:
        if self._gold.titles:
            return any(_titled(line, title) for titles in self._gold.titles for title in titles)
        return self._gold.yes_no is not None or any(_has(line, answer) for answer in self._gold.answers)


def _titled_text(line: str) -> str:
    """A passage as text, with its title in front."""
    return clean(line.replace(" | ", ": ", 1))


def _titled(line: str, title: str) -> bool:
    """Whether a line is a passage with this title, or the oracle's statement on such a passage."""
    return fold(line).startswith((f"{fold(title)} | ", f"{fold(title)}: "))


def _has(text: str, answer: str) -> bool:
    """Whether a text contains the words of the answer, one after the other."""
    words = _words(answer)
    return bool(words) and f" {words} " in f" {_words(text)} "


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _unnumbered(text: str) -> list[tuple[str, str]]:
    return [("0", " ".join(text.split()))] if text else []
