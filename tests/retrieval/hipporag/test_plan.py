"""A plan says what is then asked."""

from pathlib import Path

import pytest
from support.graph_passages import PASSAGES, Knowing

from programs.instruments.cost import measured
from retrieval import UsageError
from retrieval.hipporag import HippoRAG
from retrieval.hipporag.openie import Unfinished
from retrieval.hipporag.plan import make_plan

pytestmark = pytest.mark.needs("faiss")


def test_the_calls_are_those_that_are_then_made(tmp_path: Path, knowing: Knowing) -> None:
    plan = make_plan(PASSAGES, tmp_path / "index", knowing.lm)
    assert (plan.passages, plan.lm_calls) == (5, (10, 10, 20))
    assert knowing.asked == []
    with measured() as cost:
        HippoRAG.build(PASSAGES, tmp_path / "index", encoder="words", lm=knowing.lm)
    assert cost.lm_calls == plan.lm_calls[1]


def test_the_prompts_are_as_long_as_those_that_are_then_sent(tmp_path: Path, knowing: Knowing) -> None:
    characters = []
    reply, knowing.entities = knowing.reply, dict.fromkeys(knowing.entities, "[]")

    def counting(system: str, user: str) -> str:
        characters.append(len(system) + len(user))
        return reply(system, user)

    knowing.reply = counting  # type: ignore[method-assign]
    plan = make_plan(PASSAGES, tmp_path / "index", knowing.lm)
    HippoRAG.build(PASSAGES, tmp_path / "index", encoder="words", lm=knowing.lm)
    assert plan.input_tokens[0] == sum(characters) / 4


def test_what_is_paid_for_is_not_planned_again(tmp_path: Path, knowing: Knowing) -> None:
    out = tmp_path / "index"
    with pytest.raises(Unfinished):
        HippoRAG.build(PASSAGES, out, encoder="words", lm=knowing.lm, max_calls=3, lm_calls=1)
    plan = make_plan(PASSAGES, out, knowing.lm)
    assert plan.lm_calls == (7, 7, 14)
    assert make_plan(PASSAGES, out, knowing.lm) == plan
    HippoRAG.build(PASSAGES, out, encoder="words", lm=knowing.lm)
    assert make_plan(PASSAGES, out, knowing.lm) == (5, (0, 0, 0), (0, 0, 0), (0, 0, 0))


def test_amounts_grow_from_least_to_most(tmp_path: Path, knowing: Knowing) -> None:
    plan = make_plan(PASSAGES, tmp_path / "index", knowing.lm.copy(max_tokens=100))
    for least, typical, most in (plan.input_tokens, plan.output_tokens):
        assert least < typical < most
    assert plan.output_tokens[2] == 2 * 10 * 100


def test_an_empty_corpus_is_refused(tmp_path: Path, knowing: Knowing) -> None:
    with pytest.raises(UsageError, match="the corpus has no passages"):
        make_plan([], tmp_path / "index", knowing.lm)
