"""Self-verification: how answers are sampled, told apart and verified, in both forms; the case is made up."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response
from dspy.utils.callback import BaseCallback
from support.prompt_reading import inputs, wanted
from support.scripted import UNPARSABLE, render, respond

from programs.instruments.cost import Cost, measured
from programs.self_verification import SelfVerification
from retrieval import Memory, Passage, UsageError

QUESTION = "Where was Ada Quill, the finder of Zorx, born?"
GARBLED = UNPARSABLE


class Sampler(BaseCallback):
    """An engine and its callback: answers go by the number of the sample, which DSPy keeps from engines.

    Args:
        answers: By the number of the sample.
        checks: Of each candidate, what each of its verifications says.
        condition: What is chosen to be hidden.
    """

    def __init__(self, answers: Sequence[str], checks: Mapping[str, Sequence[str]], condition: str = "") -> None:
        self.answers, self.checks, self.condition = answers, checks, condition
        self.asked: list[dict[str, str]] = []
        self.temperatures: set[float | None] = set()
        self.sample = ContextVar[Any]("sample")  # the engine may run in a thread of its own

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.sample.set(inputs["kwargs"].get("rollout_id"))

    def complete(self, request: Request) -> Response:
        user = request.messages[-1].text or ""
        self.asked.append(inputs(user) if "JSON object" not in user else {})
        number, outputs = self.sample.get(), wanted(user)
        if outputs == ["condition"]:
            assert request.config.temperature is None
            return self.reply(self.condition, condition=self.condition)
        self.temperatures.add(request.config.temperature)
        if outputs == ["reasoning", "answer"]:
            answer = self.answers[number]
            return self.reply(answer, reasoning=f"Reason {number}.", answer=answer)
        candidate = inputs(user)["candidate"]
        said = self.checks[candidate][number]
        if "correct" in outputs:
            return self.reply(said, reasoning="Looking back.", statement=f"Born in {candidate}.", correct=said)
        return self.reply(said, reasoning="Looking back.", condition=said)

    def reply(self, said: str, **fields: str) -> Response:
        return respond(said if said == GARBLED else render(fields))


def run(
    answers: Sequence[str],
    checks: Mapping[str, Sequence[str]] = {},
    condition: str = "",
    **settings: Any,
) -> tuple[dspy.Prediction, Cost, Sampler]:
    sampler = Sampler(answers, checks, condition)
    lm = dspy.LM("test/sampler", engine=sampler, cache=False, num_retries=0)
    program = SelfVerification(None, n=len(answers), **settings)
    with dspy.context(lm=lm, callbacks=[sampler]), measured() as cost:
        seen = program(question=QUESTION)
    return seen, cost, sampler


CASE = ["Malmö", " Lund ", '"lund".', "Ystad", "malmö"]
CHECKS = {"Malmö": ["no"], "Lund": ["yes"], "Ystad": ["no"]}


def test_the_answer_that_stands_up_to_verification_wins() -> None:
    seen, cost, sampler = run(CASE, CHECKS)
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [],
        "passages": [],
        "evidence": [],
        "candidates": ["Malmö", "Lund", "Ystad"],
        "votes": [2, 2, 1],
        "scores": [0, 1, 0],
        "reasoning": "Reason 1.",
    }
    # The promise of the class docstring: n + dP LM calls and no search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (5 + 3, 0, 0)
    assert sampler.asked[:5] == [{"question": QUESTION}] * 5
    for candidate in CHECKS:
        assert {"question": QUESTION, "candidate": candidate} in sampler.asked[5:]
    assert sampler.temperatures == {0.3}


def test_where_all_differ_there_are_two_calls_for_each() -> None:
    _, cost, _ = run(["a", "b", "c", "d", "e"], {name: ["no"] for name in "abcde"})
    assert cost.lm_calls == 10


def test_where_all_agree_nothing_is_verified() -> None:
    seen, cost, _ = run(["Lund", "lund", "Lund."])
    assert (seen.answer, seen.candidates, seen.votes, seen.scores) == ("Lund", ["Lund"], [3], [])
    assert cost.lm_calls == 3


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        (["Malmö", "Lund", "Lund"], "Lund"),  # equal scores: the one that was sampled most often
        (["Malmö", "Lund"], "Malmö"),  # and then the first
        (["Lund", "Malmö"], "Lund"),
    ],
)
@pytest.mark.parametrize("said", ["yes", "no", GARBLED])
def test_equal_scores(answers: list[str], answer: str, said: str) -> None:
    seen, _, _ = run(answers, {"Malmö": [said], "Lund": [said]})
    assert seen.answer == answer
    assert seen.scores == [int(said == "yes")] * 2


def test_each_is_verified_as_often_as_asked_for() -> None:
    checks = {"Malmö": ["no", "yes", "no"], "Lund": ["yes", "no", "yes"], "Ystad": ["no"] * 3}
    seen, cost, sampler = run(CASE, checks, verifications=3, sampling=0.7)
    assert (seen.answer, seen.scores) == ("Lund", [1, 2, 0])
    assert cost.lm_calls == 5 + 3 * 3
    assert sampler.temperatures == {0.7}


class TestCondition:
    def run(self, condition: str, checks: Mapping[str, Sequence[str]]) -> tuple[dspy.Prediction, Cost, Sampler]:
        return run(["Malmö", "Lund", "Malmö"], checks, condition, verify="condition")

    def test_the_answer_from_which_the_hidden_part_is_found_wins(self) -> None:
        seen, cost, sampler = self.run("ADA quill", {"Malmö": ["Bo Quill"], "Lund": ['"Ada Quill."']})
        assert (seen.answer, seen.votes, seen.scores) == ("Lund", [2, 1], [0, 1])
        hidden = "Where was X, the finder of Zorx, born?"
        for candidate in ("Malmö", "Lund"):
            assert {"question": hidden, "candidate": candidate} in sampler.asked[4:]
        # One call more than verifying statements: the choice of what is hidden.
        assert cost.lm_calls == 3 + 1 + 2

    @pytest.mark.parametrize("condition", ["Bo Quill", "", " \n", GARBLED])
    def test_what_is_no_part_of_the_question_cannot_be_hidden(self, condition: str) -> None:
        seen, cost, _ = self.run(condition, {})
        assert (seen.answer, seen.scores) == ("Malmö", [0, 0])
        assert cost.lm_calls == 3 + 1 + (condition == GARBLED)


def test_yes_no_style() -> None:
    seen, cost, _ = run(["yes", "no", "Yes."], {"yes": ["no"], "no": ["yes"]}, style="yesno")
    assert (seen.answer, seen.candidates, seen.votes, seen.scores) == ("no", ["yes", "no"], [2, 1], [0, 1])
    assert cost.lm_calls == 5


def test_lost_answers_are_no_candidates() -> None:
    seen, cost, _ = run([GARBLED, "Lund", " \n", "..."])
    assert (seen.answer, seen.candidates, seen.votes) == ("Lund", ["Lund"], [1])
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 5)
    seen, _, _ = run([GARBLED, ""])
    assert (seen.answer, seen.candidates, seen.votes, seen.scores, seen.reasoning) == ("", [], [], [], "")


def test_dspys_cache_keeps_the_samples_apart() -> None:
    sampler = Sampler(["Malmö", "Lund", "Ystad"], {name: ["yes"] for name in ("Malmö", "Lund", "Ystad")})
    lm = dspy.LM("test/cached-sampler", engine=sampler, cache=True, num_retries=0)
    with dspy.context(lm=lm, callbacks=[sampler]):
        program = SelfVerification(None, n=3)
        first, again = program(question="Where was Bo Quill born?"), program(question="Where was Bo Quill born?")
    assert first.candidates == again.candidates == ["Malmö", "Lund", "Ystad"]
    assert len(sampler.asked) <= 6


def test_samples_without_chance_are_refused() -> None:
    with pytest.raises(UsageError, match=r"sampling .* must be above 0"):
        SelfVerification(None, sampling=0.0)


def test_a_retriever_is_never_searched() -> None:
    sampler = Sampler(["Lund"] * 5, {})
    retriever = Memory([Passage("ada", "Ada Quill was born in Ystad.")])
    with dspy.context(lm=dspy.LM("test/sampler", engine=sampler, cache=False), callbacks=[sampler]), measured() as cost:
        assert SelfVerification(retriever)(question=QUESTION).answer == "Lund"
    assert (cost.lm_calls, cost.searches) == (5, 0)


def test_the_limit_of_qpaugs_table() -> None:
    (asked, *_) = SelfVerification(None, style="three-words").predictors()
    assert "at most three words" in asked.signature.instructions
