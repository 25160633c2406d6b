from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMError
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scripted import Function, Reply, engine_lm, render, scripted

from programs.instruments.cost import measured
from programs.steps.ask import ask, chain_of_thought
from signatures.answer import AnswerShort


class Act(dspy.Signature):
    """Do something."""

    question: str = dspy.InputField()
    text: str = dspy.OutputField()
    numbers: list[int] = dspy.OutputField()


def test_a_reply_that_fits_comes_back_as_it_is() -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"text": "t", "numbers": "[1, 2]"})))):
        reply = ask(dspy.Predict(Act), question="q")
    assert (reply.text, reply.numbers) == ("t", [1, 2])


@pytest.mark.parametrize("kind", [dspy.Predict, dspy.ChainOfThought])
@settings(deadline=1000)
@given(said=st.text())
def test_any_other_reply_gives_none_in_every_output(kind: type[dspy.Module], said: str) -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: said))):
        reply = ask(kind(Act), question="q")
    assert (reply.text, reply.numbers) == (None, None)


@pytest.mark.parametrize("said", ["[" * 5000, "x y " * 25_000, "-" * 100_000], ids=lambda said: said[:3])
def test_a_typed_field_that_breaks_the_parser_gives_none_too(said: str) -> None:
    replies = Function(lambda system, user: render({"text": "t", "numbers": said}))
    with dspy.context(lm=engine_lm(replies)), measured() as cost:
        reply = ask(dspy.Predict(Act), question="q")
    assert (reply.text, reply.numbers) == (None, None)
    assert cost.unparsable == 1


@given(question=st.text(st.characters()))
def test_any_question_can_be_asked_lone_surrogates_too(question: str) -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"text": "t", "numbers": "[]"})))):
        assert ask(dspy.Predict(Act), question=question + "\ud800").text == "t"


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [None, dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
@pytest.mark.parametrize("said", ["[" * 5000, "{" * 5000, '{"a":' * 5000, "9" * 5000, '{"numbers": ' + "9" * 5000])
def test_whatever_an_adapter_raises_while_it_reads_is_unparsable(adapter: dspy.Adapter | None, said: str) -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: said)), adapter=adapter), measured() as cost:
        reply = ask(dspy.Predict(Act), question="q")
    assert (reply.text, reply.numbers) == (None, None)
    assert cost.unparsable == 1


def test_what_a_caller_does_wrong_is_raised() -> None:
    class Broken(dspy.ChatAdapter):
        def format(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("no such field")

    with (
        dspy.context(lm=engine_lm(Function(lambda system, user: "")), adapter=Broken()),
        pytest.raises(ValueError, match="no such field"),
    ):
        ask(dspy.Predict(Act), question="q")


def test_without_an_adapter_replies_are_read_tolerantly() -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: "**Answer:** Paris"))):
        assert ask(dspy.Predict(AnswerShort), context="", question="q").answer == "Paris"
        with dspy.context(adapter=dspy.ChatAdapter()):  # the caller's choice
            assert ask(dspy.Predict(AnswerShort), context="", question="q").answer is None


def test_an_error_of_the_provider_is_raised() -> None:
    def down(system: str, user: str) -> str:
        raise ConnectionError("no route")

    with dspy.context(lm=engine_lm(Function(down))), pytest.raises(LMError):
        ask(dspy.Predict(Act), question="q")


def test_the_reasoning_is_asked_for_as_described() -> None:
    program = chain_of_thought(AnswerShort, "two sentences that name everybody")
    with scripted(Reply(AnswerShort, {"reasoning": "Ada.", "answer": "Lund"})) as script:
        assert ask(program, context="", question="Where?").reasoning == "Ada."
    assert "`reasoning` (str): two sentences that name everybody" in script.prompts[0][0]


def test_a_caller_without_an_adapter_gets_the_same_prompt_whatever_dspy_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts: list[str] = []
    lm = engine_lm(Function(lambda system, user: prompts.append(user) or render({"answer": "a"})))
    for default in (dspy.ChatAdapter, dspy.XMLAdapter):
        monkeypatch.setattr("dspy.predict.predict.ChatAdapter", default)
        with dspy.context(lm=lm, adapter=None):
            ask(dspy.Predict("question -> answer"), question="Who?")
    assert prompts[0] == prompts[1]
    assert "[[ ## question ## ]]" in prompts[0]
