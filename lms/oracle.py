"""The oracle: in the place of a language model a responder that knows each question's gold and does not err.

A run with it gives the best score that a method can reach with its retriever: what is lost was not found, or found and
not kept. It follows the method as far as its prompts go and does what a perfect model would:

selections      exactly the gold passages among those shown
queries, plans, drafts, passages from memory
                the titles of the gold passages that are not shown, the intermediate answers and the answer
answers         the gold answer where what is shown covers the gold passages; else "unknown", and where only yes or no
                is allowed, one of them by lot
what is missing "unanswerable" and the missing titles, until nothing is missing: the gold passages are shown, or each
                step with its answer
statements      one for each gold passage shown, with its number
documents       written from passages: the gold ones shown with their titles, which cover what these cover, and what
                leads to those that are missing
probabilities   that an answer is right: 1 where what is shown covers the gold passages

What it knows leads the search, and is no evidence: a text that an LM wrote from memory covers no gold passage. In a
prompt that has no field for evidence, closed book, it answers: what a perfect memory scores there says nothing.

A passage is gold where it has the title of a gold passage. Where a question's gold titles are not known, one that has
an answer in it is; where the answer is yes or no as well, any passage, so that the score is an upper bound.

With an error rate, that share of the calls goes wrong: each such call is answered as if another of the questions had
been asked, and answers are given in any case and are wrong.
"""

import random
import re
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage, response_to_events

from lms.extractive.fields import fill
from lms.extractive.prompt import Field, Task, clean, parse, render
from retrieval.errors import UsageError

__all__ = ["AsyncOracleEngine", "Gold", "OracleEngine", "oracle_lm"]

_NO_EVIDENCE = r"question|quer|topic|plan|history|missing|knowledge|analysis"  # all other inputs are
_LEADS = r"plan|quer|question|related|keyword|follow|passage|knowledge|background|missing"
_THINKING = r"reason|rationale|thought|explanation|analysis"
_TEXTS = r"evidence|summary|snippet"
_JOINT = " ¶ "  # between the passages of a document
_FINISH = re.compile("finish|stop|end|done|answer", re.I)
_YES = re.compile(r"\W*(?:yes|true)\W*", re.I)
_NO = re.compile(r"\W*(?:no|false)\W*", re.I)
_LONGEST = 12  # words of a lead that a prompt is searched for


@dataclass(frozen=True, slots=True)
class Gold:
    """What is known of one question.

    Attributes:
        question: As the program gets it.
        answers: All of them right; the first is given.
        titles: Sets of titles; the passages of any one set suffice. Empty where they are not known.
        leads: Sub-questions and intermediate answers, in the order in which they are met.
        steps: Sub-questions with their answers, where both are known.
    """

    question: str
    answers: tuple[str, ...]
    titles: tuple[tuple[str, ...], ...] = ()
    leads: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()

    @property
    def yes_no(self) -> bool | None:
        """The answer as truth; None where it is another one."""
        if all(map(_YES.fullmatch, self.answers)):
            return True
        return False if all(map(_NO.fullmatch, self.answers)) else None


class OracleEngine:
    """The oracle as a DSPy engine; `oracle_lm` wraps it in a `dspy.LM`.

    Args:
        golds: What is known of each question that will be asked.
        error_rate: Share of the calls that go wrong, 0 to 1.
        seed: Which ones: the same calls for the same seed, whatever the order in which they are made.

    Raises:
        UsageError: the error rate is none, or there are no questions.
    """

    def __init__(self, golds: Iterable[Gold], *, error_rate: float = 0.0, seed: int = 0) -> None:
        if not 0 <= error_rate <= 1:
            raise UsageError(f"the oracle's error rate must be from 0 to 1, not {error_rate}")
        self._golds = {_fold(gold.question): gold for gold in golds}
        if not self._golds:
            raise UsageError("the oracle needs the gold of at least one question")
        self._longest_first = sorted(self._golds, key=len, reverse=True)
        self._by_lead: dict[str, Gold] = {}
        for gold in self._golds.values():
            for lead in [*_leads(gold), *(question for question, _ in gold.steps)]:
                self._by_lead.setdefault(_fold(lead), gold)
        self._error_rate = error_rate
        self._seed = seed

    def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        system = request.system if isinstance(request.system, str) else _text(request.system or ())
        users = [_text(message.parts) for message in request.messages if message.role == "user"]
        user = users[-1] if users else ""
        task = parse(system, user)
        gold, own = self._asked(task)
        lot = random.Random(f"{self._seed}\n{system}\n{user}")
        wrong = gold if lot.random() < self._error_rate else None
        if wrong:
            others = [other for other in self._golds.values() if other is not wrong]
            gold = lot.choice(others) if others else Gold("", ("unknown",))
        values = fill(task) if gold is None else _Replies(task, gold, own, wrong).values()
        reply = render(task, values)
        usage = Usage(input_tokens=len(f"{system} {user}".split()), output_tokens=len(reply.split()))
        message = Message.assistant([TextPart(reply)])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    def stream(self, request: Request) -> Iterator[Any]:
        """The events of the one reply."""
        events: Iterator[Any] = response_to_events(self.complete(request))
        return events

    def close(self) -> None:
        """There is nothing to close."""

    def _asked(self, task: Task) -> tuple[Gold | None, bool]:
        """The question that a prompt is about, and whether it asks that one itself and not one on the way to it.

        It is the one that stands in the prompt's question alone, else with something beside it, else one that a title
        or another lead in it belongs to: what the oracle itself wrote for a query.
        """
        texts = [_fold(text) for name, text in task.inputs.items() if re.search(r"question|quer", name.lower())]
        for text in texts:
            if text in self._golds:
                return self._golds[text], True
        for text in texts:
            if found := next((question for question in self._longest_first if question in text), None):
                return self._golds[found], True
        for text in texts:
            words = text.split()
            for length in range(min(_LONGEST, len(words)), 0, -1):
                for start in range(len(words) - length + 1):
                    if gold := self._by_lead.get(" ".join(words[start : start + length])):
                        return gold, False
        return None, False


class AsyncOracleEngine:
    """`OracleEngine` for asynchronous calls; a call runs through without waiting."""

    def __init__(self, engine: OracleEngine) -> None:
        self._engine = engine

    async def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        return self._engine.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """The events of the one reply."""
        for event in self._engine.stream(request):
            yield event

    async def aclose(self) -> None:
        """There is nothing to close."""


def oracle_lm(golds: Iterable[Gold], *, error_rate: float = 0.0, seed: int = 0) -> dspy.LM:
    """The oracle as a `dspy.LM`, for `dspy.configure(lm=…)` or `dspy.context(lm=…)`; see `OracleEngine`."""
    engine = OracleEngine(golds, error_rate=error_rate, seed=seed)
    name = f"oracle/error-rate-{error_rate:g}" if error_rate else "oracle/perfect"
    return dspy.LM(name, engine=engine, async_engine=AsyncOracleEngine(engine), cache=False)


class _Replies:
    """The values of one reply.

    Args:
        task: What is asked.
        gold: What is taken for the gold.
        own: Whether the gold's own question is asked.
        wrong: The true gold of a call that goes wrong.
    """

    def __init__(self, task: Task, gold: Gold, own: bool, wrong: Gold | None) -> None:
        self._task = task
        self._gold = gold
        self._own = own
        self._wrong = wrong
        evidence = [text for name, text in task.inputs.items() if not re.search(_NO_EVIDENCE, name.lower())]
        numbered = [re.findall(r"(?m)^\[(\d+)\] (.*)$", text) or _unnumbered(text) for text in evidence]
        lines = [line for lines in numbered for line in lines]
        self._shown = [(int(number), part) for number, line in lines for part in line.split(_JOINT)]
        self._relevant = [(number, line) for number, line in self._shown if self._is_gold(line)]
        self._missing = self._not_shown()
        self._covered = not evidence or (bool(self._relevant) and not self._missing) or self._all_stated()

    def values(self) -> dict[str, Any]:
        """A value for each wanted field; by its type, and then by its name."""
        usual: dict[str, Any] = {}
        found = {}
        for field in self._task.outputs:
            value = self._value(field)
            if value is _USUAL:
                usual = usual or fill(self._task)
                value = usual[field.name]
            found[field.name] = value
        return found

    def _value(self, field: Field) -> Any:
        schema, name = field.schema, field.name.lower()
        choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
        optional = bool(choices)
        schema = _resolved(choices[0] if choices else schema, field)
        kind = schema.get("type")
        if "enum" in schema:
            options: list[Any] = schema["enum"]
            ends = [option for option in options if _FINISH.fullmatch(str(option))]
            return next((o for o in options if (o in ends) is self._answers()), options[0]) if ends else _USUAL
        if kind == "array":
            return self._list(_resolved(schema.get("items", {}), field))
        if kind == "boolean":
            if re.search("answer", name):
                return None if optional and not self._answers() else self._truth()
            return not self._answers() if re.search("need|missing", name) else self._answers()
        if kind in ("number", "integer"):
            if re.search("correct", name):
                return int(self._answers())
            return 0 if bool(self._relevant) is bool(re.search("unknown|irrelevan", name)) else 1
        return self._text(name, optional) if kind == "string" else _USUAL

    def _list(self, items: dict[str, Any]) -> Any:
        """Numbers of the gold passages, statements on them, or queries."""
        if items.get("type") == "integer":
            return [number for number, _ in self._relevant]
        if items.get("type") == "string":
            return self._queries()
        texts = [name for name, part in items.get("properties", {}).items() if part.get("type") == "string"]
        numbers = [name for name, part in items.get("properties", {}).items() if part.get("type") == "array"]
        if len(texts) != 1 or len(numbers) != 1:
            return _USUAL
        return [{texts[0]: _titled_text(line), numbers[0]: [n]} for n, line in self._relevant]

    def _text(self, name: str, optional: bool) -> Any:
        if re.search(_THINKING, name):
            return self._known()
        if re.search(_TEXTS, name):
            texts = [line.rpartition(" | ")[2] for _, line in self._relevant]
            return " ".join(texts) or ("" if "evidence" in name else "irrelevant")
        if re.search("document", name):
            parts = [*(line for _, line in self._relevant), *self._missing]
            return _JOINT.join(dict.fromkeys(map(_titled_text, parts)))
        if re.search(_LEADS, name):
            if optional and self._answers():
                return None
            if re.search("follow|query", name):
                return "" if self._answers() else self._queries()[0]
            return "" if "missing" in name and self._answers() else self._known()
        if re.search("candidate", name):
            return self._candidate()
        if re.search("answer", name):
            return None if optional and not self._answers() else self._answer()
        return _USUAL

    def _answers(self) -> bool:
        """Whether the reply gives an answer: it is covered, or goes wrong."""
        return self._covered or self._wrong is not None

    def _answer(self) -> str:
        if not self._own:
            return self._intermediate()
        if self._answers():
            return self._said()
        asks = f"{self._task.instructions} {' '.join(field.description for field in self._task.outputs)}".lower()
        return "unanswerable" if "unanswerable" in asks else "unknown"

    def _said(self) -> str:
        """The answer; of a call that goes wrong the other question's, or the wrong one of yes and no."""
        if self._wrong is None:
            return clean(self._gold.answers[0])
        if self._wrong.yes_no is not None:
            return "no" if self._wrong.yes_no else "yes"
        return clean(self._gold.answers[0])

    def _truth(self) -> bool:
        """Yes or no; where the gold is not shown, by lot, but always the same for one question."""
        if self._wrong is not None:
            return not self._wrong.yes_no
        if self._covered:
            return bool(self._gold.yes_no)
        return zlib.crc32(_fold(self._gold.question).encode()) % 2 == 0

    def _intermediate(self) -> str:
        """The answer to a question on the way: as far as it is known, and something gold is shown."""
        asked = _fold(self._task.inputs.get("question", ""))
        answer = next((answer for question, answer in self._gold.steps if _fold(question) in asked), "")
        return clean(answer) if answer and self._relevant else "unknown"

    def _candidate(self) -> str:
        """The answer in a gold document; where it has none in it, the next that leads on; in all others none."""
        if self._wrong is not None:
            return self._said()
        if not self._relevant:
            return "unknown"
        text = " ".join(line for _, line in self._relevant)
        stated = next((answer for answer in self._gold.answers if _has(text, answer)), "")
        return clean(stated or next(iter(self._missing), "") or self._gold.answers[0])

    def _known(self) -> str:
        """In one line the missing titles, what leads to them, and the answer."""
        answers = [] if self._gold.yes_no is not None else [self._gold.answers[0]]
        return clean(". ".join(dict.fromkeys([*self._missing, *self._gold.leads, *answers])))

    def _queries(self) -> list[str]:
        """At most three: the missing titles, then what leads to them, without those that were sent before; last the
        question with a title."""
        before = [_fold(text) for text in self._task.inputs.get("history", "").splitlines()]
        shown = {title for titles in self._gold.titles for title in titles} - set(self._missing)
        leads = [clean(lead) for lead in dict.fromkeys([*self._missing, *_leads(self._gold)]) if lead not in shown]
        fresh = [lead for lead in leads if _fold(lead) not in before]
        return fresh[:3] or [clean(" ".join([*leads[:1], self._gold.question]))]

    def _not_shown(self) -> list[str]:
        """The titles that are missing for the set that fewest are missing for."""
        sets = [
            [title for title in titles if not any(_titled(line, title) for _, line in self._shown)]
            for titles in self._gold.titles
        ]
        return min(sets, key=len, default=[])

    def _all_stated(self) -> bool:
        """Whether each step stands among what is shown, word for word and with its answer."""
        steps, lines = self._gold.steps, [line for _, line in self._shown]
        return bool(steps) and all(
            any(_fold(question) in _fold(line) and _has(line, answer) for line in lines) for question, answer in steps
        )

    def _is_gold(self, line: str) -> bool:
        if self._gold.titles:
            return any(_titled(line, title) for titles in self._gold.titles for title in titles)
        return self._gold.yes_no is not None or any(_has(line, answer) for answer in self._gold.answers)


_USUAL: Any = object()  # the extractive reader's value, for fields that no gold is known for


def _leads(gold: Gold) -> Sequence[str]:
    """What a query of the oracle's can be made of, the surest first."""
    titles = [title for titles in gold.titles for title in titles]
    return [text for text in [*titles, *gold.leads, *gold.answers] if not (_YES.fullmatch(text) or _NO.fullmatch(text))]


def _titled_text(line: str) -> str:
    """A passage as text: its title stays in front."""
    return clean(line.replace(" | ", ": ", 1))


def _titled(line: str, title: str) -> bool:
    """Whether a line is a passage with this title, or a statement of the oracle's on one."""
    return _fold(line).startswith((f"{_fold(title)} | ", f"{_fold(title)}: "))


def _has(text: str, answer: str) -> bool:
    """Whether a text has the words of the answer, one after the other."""
    words = _words(answer)
    return bool(words) and f" {words} " in f" {_words(text)} "


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _unnumbered(text: str) -> list[tuple[str, str]]:
    return [("0", " ".join(text.split()))] if text else []


def _resolved(schema: dict[str, Any], field: Field) -> dict[str, Any]:
    """A schema, or the definition that it refers to."""
    found: dict[str, Any] = field.schema.get("$defs", {}).get(schema.get("$ref", "").rpartition("/")[2], schema)
    return found


def _text(parts: Any) -> str:
    """The text among a message's parts."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
