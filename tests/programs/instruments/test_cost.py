from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import Function, Priced, engine_lm, render

from programs.instruments.cost import measured
from programs.steps.ask import ask
from programs.steps.side_by_side import side_by_side
from retrieval import Memory, Passage


@pytest.fixture
def lm() -> dspy.LM:
    return engine_lm(Function(lambda system, user: render({"answer": "a"})))


def test_calls_in_threads_are_counted_and_blocks_do_not_mix(lm: dspy.LM) -> None:
    predict, retriever = dspy.Predict("question -> answer"), Memory([Passage("1", "a")])
    with dspy.context(lm=lm), measured() as outer:
        with measured() as inner:
            side_by_side(lambda: predict(question="1"), lambda: predict(question="2"), lambda: retriever("a"))
        predict(question="3")
        retriever.search("not counted: a backend's own", 1)
    assert (inner.lm_calls, inner.searches, inner.input_tokens, inner.output_tokens) == (2, 1, 20, 4)
    assert (outer.lm_calls, outer.searches, outer.input_tokens, outer.output_tokens) == (3, 1, 30, 6)
    assert 0 < inner.seconds < outer.seconds


def test_depth_is_the_longest_chain_of_calls_and_each_block_has_its_own(lm: dspy.LM) -> None:
    predict = dspy.Predict("question -> answer")

    def chain(length: int) -> None:
        for n in range(length):
            predict(question=str(n))

    with dspy.context(lm=lm), measured() as outer:
        chain(2)
        with measured() as inner:
            side_by_side(lambda: chain(1), lambda: side_by_side(lambda: chain(3), lambda: chain(1)), lambda: None)
            chain(1)
    assert (inner.lm_calls, inner.depth) == (6, 4)
    assert (outer.lm_calls, outer.depth) == (8, 6)
    with measured() as nothing:
        pass
    assert nothing.depth == 0


def test_an_unparsable_reply_is_two_calls_and_one_unparsable() -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: "no"))), measured() as cost:
        ask(dspy.ChainOfThought("question -> answer"), question="1")
    assert (cost.lm_calls, cost.unparsable, cost.input_tokens) == (2, 1, 20)


def test_the_counts_are_there_when_the_block_raises(lm: dspy.LM) -> None:
    def fail() -> None:
        dspy.Predict("question -> answer")(question="1")
        raise KeyError

    with dspy.context(lm=lm), pytest.raises(KeyError), measured() as cost:
        fail()
    assert (cost.lm_calls, cost.input_tokens) == (1, 10)


@pytest.fixture
def server() -> Iterator[str]:
    with Provider(lambda prompt, before: render({"answer": "a"})).running() as provider:
        yield provider.url


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "again"), [("lm15", (1, 1, 7, 3)), ("litellm", (1, 1, 7, 3))])
@pytest.mark.leaves_sockets
def test_a_cached_reply_counts_with_the_tokens_it_cost_when_first_paid(
    server: str, engine: str, again: tuple[int, ...], tmp_path: Path
) -> None:
    lm = dspy.LM("openai/gpt-4o-mini", api_base=server, api_key="none", engine=engine, max_tokens=100)
    question = f"asked for the first time with {engine} in {tmp_path}"  # a key that no cache on disk has
    seen, costs = [], []
    for _ in range(2):
        with dspy.context(lm=lm), measured() as cost:
            dspy.Predict("question -> answer")(question=question)
        seen.append((cost.lm_calls, cost.cached_calls, cost.input_tokens, cost.output_tokens))
        costs.append(cost)
    assert seen == [(1, 0, 7, 3), again]
    first, second = costs
    assert first.usd == second.usd == first.paid_usd > 0
    assert (first.paid_input_tokens, first.paid_output_tokens) == (7, 3)
    assert (second.paid_usd, second.paid_input_tokens, second.paid_output_tokens) == (0, 0, 0)


def test_each_predictor_has_its_share_under_its_name(lm: dspy.LM) -> None:
    class Program(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.draft = dspy.ChainOfThought("question -> answer")
            self.read = dspy.Predict("question -> answer")

        def forward(self, question: str) -> None:
            side_by_side(*(lambda: ask(self.draft, question=question) for _ in range(2)))
            ask(self.read, question=question)
            ask(dspy.Predict("question -> title"), question=question)  # none of the program's

    with dspy.context(lm=lm), measured() as outer:
        with measured() as cost:
            Program()(question="1")
        dspy.settings.lm("without a predictor")
    assert list(cost.predictors) == ["Predict", "draft.predict", "read"]
    assert cost.predictors["draft.predict"].lm_calls == 4  # a reply without reasoning does not fit
    assert (cost.predictors["read"].lm_calls, cost.predictors["read"].input_tokens) == (1, 10)
    assert (cost.lm_calls, cost.input_tokens) == (7, 70)
    assert outer.predictors.keys() == {*cost.predictors, "no module"}
    assert outer.lm_calls == 8


def test_the_price_of_an_lm_that_is_in_no_list_is_unknown(lm: dspy.LM) -> None:
    with measured() as nothing:
        pass
    with dspy.context(lm=lm), measured() as cost:
        dspy.Predict("question -> answer")(question="1")
    assert (nothing.usd, nothing.paid_usd) == (0.0, 0.0)
    assert (cost.usd, cost.paid_usd, cost.predictors["self"].usd) == (None, None, None)


def test_the_price_that_an_engine_states_is_taken() -> None:
    with dspy.context(lm=engine_lm(Priced(lambda system, user: render({"answer": "x"})))), measured() as cost:
        dspy.Predict("question -> answer")(question="1")
        dspy.Predict("question -> answer")(question="2")
    assert (cost.usd, cost.paid_usd, cost.predictors["self"].usd) == (0.5, 0.5, 0.5)
