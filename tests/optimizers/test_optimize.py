"""Compiling from a program to a state file: what learns, what it costs, what is written, and how it goes on."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.clients.base_lm import GLOBAL_HISTORY
from dspy.lm15 import Request, Response
from support.compiling import SETTINGS, compiled
from support.learning_lm import HELD_OUT, KEY, TABLE, TRAIN, LearningLM
from support.scripted import engine_lm

from eval.metrics import em
from odqa.limits import Limiter, Limits
from optimizers import load
from optimizers.optimize import Outcome, optimize
from programs.blendfilter import BlendFilter
from programs.instruments.state import load_state
from programs.migres import MIGRES
from retrieval import OdqaError, UsageError


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["copro", "gepa"])
def test_the_others_stay_as_they_are_and_cost_nothing(recipe: str, tmp_path: Path) -> None:
    names = {"only": ["answer", "topic"], "freeze": ["topic"]}
    outcome = compiled(recipe, BlendFilter(TABLE), LearningLM("Person 1"), tmp_path, **names)
    old = dict(BlendFilter(TABLE).named_predictors())
    new = dict(outcome.program.named_predictors())
    changed = [name for name in old if new[name].dump_state() != old[name].dump_state()]
    assert list(old) == list(new)
    assert changed == ["answer.predict"]
    assert KEY in new["answer.predict"].signature.instructions
    assert type(outcome.program) is BlendFilter
    saved = json.loads((tmp_path / "state.json").read_text())
    assert saved["manifest"]["learning"] == ["answer.predict"]
    assert KEY in saved["answer.predict"]["signature"]["instructions"]
    load_state(BlendFilter(TABLE), tmp_path / "state.json")


def test_a_name_that_no_predictor_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no predictor 'answers'; there are: draft.predict, recall, topic"):
        compiled("copro", BlendFilter(TABLE), LearningLM(), tmp_path, only=["answers"])
    with pytest.raises(UsageError, match="nothing to learn"):
        compiled("copro", BlendFilter(TABLE), LearningLM(), tmp_path, only=["answer"], freeze=["answer.predict"])


class Counting(LearningLM):
    calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        return super().complete(request)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["copro", "simba", "gepa"])
def test_a_budget_stops_it_and_what_was_paid_is_not_paid_again(recipe: str, tmp_path: Path) -> None:
    whole = Counting("Person 1")
    expected = compiled(recipe, MIGRES(TABLE), whole, tmp_path / "whole", only=["detect"])
    cut = Counting("Person 1")
    with pytest.raises(OdqaError, match=r"the limit of 9 LM calls is reached.* with a higher limit"):
        compiled(recipe, MIGRES(TABLE), cut, tmp_path / "cut", only=["detect"], limiter=Limiter(Limits(calls=9)))
    assert not (tmp_path / "cut" / "state.json").exists()
    assert cut.calls <= 8 + 9 + 4  # before, the limit, and what was under way
    outcome = compiled(recipe, MIGRES(TABLE), cut, tmp_path / "cut", only=["detect"])
    assert outcome.cost.lm_calls == expected.cost.lm_calls
    assert cut.calls <= whole.calls + 2  # what was under way when the limit was reached may be lost
    assert (tmp_path / "cut" / "state.json").read_bytes() == (tmp_path / "whole" / "state.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("cache", [False, True])
def test_what_a_recipe_asks_again_is_answered_from_its_own_directory(cache: bool, tmp_path: Path) -> None:
    """DSPy's optimizers count on a cache. The directory is one, and no other compiling gets replies from it."""
    seen: list[Counter[str]] = []

    class Asked(LearningLM):
        def complete(self, request: Request) -> Response:
            seen[-1][repr(request)] += 1
            return super().complete(request)

    def compiling(name: str) -> Outcome:
        seen.append(Counter())
        lm = engine_lm(Asked("Person 1")).copy(cache=cache)
        with dspy.context(lm=lm):
            return optimize(
                MIGRES(TABLE), partial(load("copro"), **SETTINGS["copro"]), train=TRAIN, held_out=HELD_OUT, metric=em,
                out=tmp_path / f"{name}.json", directory=tmp_path / name, threads=1, only=["detect"],
            )  # fmt: skip

    first, second = compiling("first"), compiling("second")
    assert first.cost.lm_calls == second.cost.lm_calls
    assert seen[0] == seen[1]  # the second compiling asks the LM all that the first did
    assert (first.cost.cached_calls > 0) is (second.cost.cached_calls > 0) is cache
    again = compiling("first")
    assert not seen[-1]  # and what is repeated in the same directory is asked nobody
    assert (again.cost.lm_calls, again.cost.cached_calls) == (first.cost.lm_calls, first.cost.cached_calls)
    assert again.cost.paid_input_tokens == first.cost.paid_input_tokens


def test_questions_in_both_parts_are_refused(tmp_path: Path) -> None:
    shouted = HELD_OUT[0].copy(question=HELD_OUT[0].question.upper())
    with pytest.raises(UsageError, match=r"1 questions are both .*where was person 6"):
        compiled("bootstrap_few_shot", BlendFilter(TABLE), LearningLM(), tmp_path, train=[*TRAIN, shouted])


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_state_is_json_repeats_and_loads(recipe: str, tmp_path: Path) -> None:
    texts = []
    for run in ("one", "two"):
        learner, about = LearningLM(hint="Person"), {"lm": "learner"}
        outcome = compiled(recipe, BlendFilter(TABLE), learner, tmp_path / run, manifest=about)
        texts.append((tmp_path / run / "state.json").read_text())
    assert texts[0] == texts[1]
    manifest = json.loads(texts[0])["manifest"]
    assert (manifest["lm"], manifest["metric"], manifest["program"]) == ("learner", "em", "BlendFilter")
    assert not set(manifest["train"]) & set(manifest["held_out"])
    assert manifest["after"]["n"] == 4
    assert manifest["after"]["scores"]["em"].keys() == {"mean", "n", "low", "high"}
    answer = manifest["parts"]["answer.predict"]
    assert (answer["before"]["mean"], answer["before"]["n"], answer["after"]["mean"]) == (1.0, 4, 1.0)
    assert list(manifest["parts"]) == [name for name, _ in outcome.program.named_predictors()]
    program = BlendFilter(TABLE)
    load_state(program, tmp_path / "one" / "state.json")
    assert program.dump_state() == outcome.program.dump_state()


def test_while_it_compiles_prompts_and_calls_do_not_pile_up(tmp_path: Path) -> None:
    kept: list[tuple[int, int | None]] = []
    GLOBAL_HISTORY.clear()  # other tests may have filled it

    def counted(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float | None:
        if example in TRAIN:
            kept.append((len(GLOBAL_HISTORY), dspy.settings.trace and len(dspy.settings.trace)))
        return em(example, prediction)

    compiled("bootstrap_random_search", BlendFilter(TABLE), LearningLM("Person 1"), tmp_path, metric=counted)
    assert len(kept) > 2 * len(TRAIN)
    assert {history for history, _ in kept} == {len(GLOBAL_HISTORY)} == {0}
    assert max(trace or 0 for _, trace in kept) <= 7
