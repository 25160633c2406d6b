"""Methods answer a question with a real model, which writes mostly nonsense, and rarely in the asked form: a method for
each way of asking. That every method bears any reply is shown without a model: test_any_reply.py, test_contract.py.

It is slow, and slowest in reading. So passages, replies and loops are as short as they can be, each method is asked by
schema right after it was asked plainly, and one call is computed at a time: what prompts begin with is read once.
"""

import asyncio
from functools import cache
from typing import Any, NamedTuple

import dspy
import pytest
from support.smollm2 import smollm2

import lms
from programs import load
from programs.instruments.adapters import load_adapter
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.adapters import ChatAdapter

QUESTION = "Where was Mikhail Tal born?"
PASSAGES = [
    Passage("tal", "Mikhail Tal was a chess player, born in Riga in 1936.", "Mikhail Tal"),
    Passage("riga", "Riga is the capital of Latvia.", "Riga"),
]
TOKENS = 12
MOST_PLAINLY = 4  # calls; what needs more is asked by schema alone


class Promise(NamedTuple):
    """The settings that a method is run with, and how often it then asks its predictors, by its docstring."""

    settings: dict[str, Any]
    least: int
    most: int


PROMISES = {
    "alce": Promise({"m": 1, "k": 1}, 1, 1),
    "blendfilter": Promise({"k": 1}, 7, 7),
    "chain_of_rewrite": Promise({"m": 1, "n": 1, "k": 1, "query_feedback": False}, 4, 9),
    "das": Promise({"k": 2}, 2, 2),
    "direct": Promise({"k": 1}, 1, 1),
    "migres": Promise({"rounds": 1, "threshold": -6.0, "m": 1, "k": 1}, 2, 3),
    "react": Promise({"k": 1, "steps": 2}, 1, 2),
    "rerank": Promise({"k": 2}, 2, 2),
    "self_ask": Promise({"k": 1, "follow_ups": 1}, 2, 3),
}


@cache
def lm() -> dspy.LM:
    return lms.load(smollm2(), context=1280, parallel=1, threads=1, max_tokens=TOKENS, cache=False)


def ask(name: str, adapter: dspy.Adapter) -> tuple[dspy.Prediction, Cost]:
    program = load(name)(Memory(PASSAGES, {QUESTION: ["tal", "riga"]}), **PROMISES[name].settings)
    with dspy.context(lm=lm(), adapter=adapter), measured() as cost:
        return program(question=QUESTION), cost


def check(name: str, seen: dspy.Prediction, cost: Cost) -> None:
    assert isinstance(seen.answer, str)
    assert PROMISES[name].least <= cost.lm_calls <= PROMISES[name].most
    assert cost.unparsable <= cost.lm_calls
    assert cost.searches == len(seen.queries)
    assert cost.usd == cost.paid_usd == 0.0
    assert cost.cached_calls == 0
    assert cost.input_tokens > 100 * cost.lm_calls
    assert 0 < cost.output_tokens <= TOKENS * cost.lm_calls


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISES)
def test_it_answers_plainly_and_by_schema_and_asks_as_often_as_promised(name: str) -> None:
    if PROMISES[name].most <= MOST_PLAINLY:
        # Without the second try as JSON, which would double the time: the schema is one of JSON anyway.
        check(name, *ask(name, ChatAdapter(use_json_adapter_fallback=False)))
    seen, cost = ask(name, load_adapter(structured="on"))
    check(name, seen, cost)
    if name in ("chain_of_rewrite", "das", "rerank"):
        # "binary" is for replies that repeat the prompt's form, as this model's often do, and say nothing.
        assert seen.measured_by.keys() <= {"logprobs", "binary"}
        assert name == "chain_of_rewrite" or "logprobs" in seen.measured_by
    if name in ("das", "rerank"):
        probabilities = list(seen.probabilities.values())
        assert all(0 <= p < 1 for p in probabilities)
        assert len(set(probabilities)) == len(probabilities) == 2


def test_the_answer_of_a_program_is_streamed() -> None:
    program = load("direct")(Memory(PASSAGES, {QUESTION: ["tal", "riga"]}), **PROMISES["direct"].settings)
    listener = dspy.streaming.StreamListener(signature_field_name="answer")
    streamed = dspy.streamify(program, stream_listeners=[listener])

    async def ask_and_listen() -> list[Any]:
        return [value async for value in streamed(question=QUESTION)]

    with dspy.context(lm=lm(), adapter=load_adapter(structured="on")):
        *chunks, seen = asyncio.run(ask_and_listen())
    assert len(chunks) > 2
    assert "".join(chunk.chunk for chunk in chunks).strip(' "') == seen.answer != ""  # as JSON, which may be cut off
