"""What a program will cost, found out without an LM: the program runs with stand-ins, and its calls are counted.

The program runs with its own settings and retriever, so no figure has to be kept up to date by hand. What its class
docstring promises is printed beside what was counted.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage

from odqa.bridge import unbound
from programs.instruments.cost import measured

__all__ = ["QUESTIONS", "Amount", "plan", "promise"]

QUESTIONS = (
    "Where was the chemist born who discovered samarium?",
    "Which of the two bridges is longer, the Golden Gate Bridge or the Brooklyn Bridge?",
    "Who wrote the novel on which the film is based that won the first Academy Award for Best Picture?",
    "Could a person who was born in 1950 have voted in the first elections after the Second World War?",
)
"""Asked when the caller has no question."""
_CHARACTERS = 4  # of English in a token, about


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of something one question takes."""

    least: float
    typical: float
    most: float


def plan(program: dspy.Module, reader: dspy.LM, questions: Sequence[str] = QUESTIONS) -> dict[str, Amount]:
    """How many `lm_calls`, `searches`, `input_tokens` and `output_tokens` a question takes.

    Two stand-ins answer. The first is the reader; its median is the typical amount. The second gives empty replies
    only, so that every call is made a second time and most loops run to their end. Least and most are the extremes over
    both. A real LM can go beyond them where a method has paths that neither stand-in takes.

    Args:
        program: The program, as it would be run.
        reader: A stand-in that replies in every format, such as the extractive reader.
        questions: At least one.
    """
    answered = [_counts(program, _StandIn(unbound(reader).engine), question) for question in questions]
    unanswered = [_counts(program, _StandIn(None), question) for question in questions]
    return {
        name: Amount(
            min(counts[name] for counts in answered + unanswered),
            median(counts[name] for counts in answered),
            max(counts[name] for counts in answered + unanswered),
        )
        for name in answered[0]
    }


def promise(program: type[dspy.Module]) -> str:
    """What the class docstring says of a question's cost, on one line: its section "Per question"."""
    paragraphs = (inspect.getdoc(program) or "").split("\n\n")
    return next((" ".join(text.split()) for text in paragraphs if text.startswith("Per question:")), "")


def _counts(program: dspy.Module, stand_in: "_StandIn", question: str) -> dict[str, int]:
    lm = dspy.LM("stand-in/none", engine=stand_in, cache=False, num_retries=0)
    with dspy.context(lm=lm), measured() as cost:
        program(question=question)
    return {
        "lm_calls": cost.lm_calls,
        "searches": cost.searches,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
    }


class _StandIn:
    """An engine that gives another engine's replies, or empty ones, and reports estimated tokens."""

    computes_here = True

    def __init__(self, engine: Any | None) -> None:
        self._engine = engine

    def complete(self, request: Request) -> Response:
        said = self._engine.complete(request).text or "" if self._engine else ""
        asked = _length(request.system) + sum(_length(message.parts) for message in request.messages)
        tokens = asked // _CHARACTERS, len(said) // _CHARACTERS
        usage = Usage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens))
        return _response(request.model, said, usage)


def _response(model: str, text: str, usage: Usage) -> Response:
    message = Message.assistant([TextPart(text)])
    return Response(id=None, model=model, message=message, finish_reason="stop", usage=usage)


def _length(text: Any) -> int:
    if text is None or isinstance(text, str):
        return len(text or "")
    return sum(len(part.text) for part in text if isinstance(part, TextPart))
