"""Replies that are not in form lead every method to what was meant, with every adapter; what cannot be meant counts."""

import json
import time
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from support.meant_replies import QUESTION, Written, as_asked, in_form, methods, out_of_form, retriever_for
from support.patience import CPU_SECONDS
from support.scripted import UNPARSABLE, Function, engine_lm, render

from lms.prompt import Prompt, parse
from programs import load
from programs.instruments.cost import Spent, measured
from signatures.adapters import ChatAdapter, JSONAdapter, XMLAdapter


def cut_off(fields: Written, style: str) -> str:
    """Fenced, in another order, with markers in another case, and cut off at the token limit."""
    fields = dict(reversed(fields.items()))
    if style == "json":
        return f"```json\n{json.dumps({name.title(): said for name, said in fields.items()})[:-1]}"
    if style == "xml":
        return as_asked({name.title(): said for name, said in fields.items()}, style).rpartition("\n</")[0]
    return f"```\n{render({name.upper(): said for name, said in fields.items()})}\n\n[[ ## comp"


def ask(
    method: str, settings: dict[str, Any], adapter: dspy.Adapter, reply: Callable[[Prompt], str]
) -> tuple[dspy.Prediction, Spent]:
    lm = engine_lm(Function(lambda system, user: reply(parse(system, user))))
    with dspy.context(lm=lm, adapter=adapter), measured() as cost:
        return load(method)(retriever_for(method), **settings)(question=QUESTION), cost


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [ChatAdapter, JSONAdapter, XMLAdapter])
@pytest.mark.parametrize(("method", "settings"), methods())
def test_what_was_meant_is_what_counts(method: str, settings: dict[str, Any], adapter: type[dspy.Adapter]) -> None:
    wanted, cost = ask(method, settings, adapter(), lambda prompt: as_asked(in_form(prompt), prompt.format))
    seen, paid = ask(method, settings, adapter(), lambda prompt: cut_off(out_of_form(prompt), prompt.format))
    assert seen.toDict() == wanted.toDict()
    assert (paid.lm_calls, paid.searches, paid.unparsable) == (cost.lm_calls, cost.searches, 0)
    assert wanted.answer


@pytest.mark.parametrize("adapter", [ChatAdapter, JSONAdapter, XMLAdapter])
@pytest.mark.parametrize(("method", "settings"), methods())
def test_what_cannot_be_meant_is_counted(method: str, settings: dict[str, Any], adapter: type[dspy.Adapter]) -> None:
    seen, cost = ask(method, settings, adapter(), lambda prompt: UNPARSABLE)
    assert seen.answer == ""
    assert cost.unparsable > 0


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [ChatAdapter, JSONAdapter, XMLAdapter])
@pytest.mark.parametrize("piece", ["(", "[", "{", "1 ", "- a\n"])
@pytest.mark.parametrize("method", ["blendfilter", "migres"])
def test_a_reply_without_end_takes_no_time(method: str, piece: str, adapter: type[dspy.Adapter]) -> None:
    runaway = piece * (100_000 // len(piece))
    begin = time.process_time()
    ask(
        method, {}, adapter(), lambda prompt: as_asked({field.name: runaway for field in prompt.outputs}, prompt.format)
    )
    assert time.process_time() - begin < CPU_SECONDS
