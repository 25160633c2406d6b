"""Every recipe on a small world whose LM answers right only when it is shown how, and on one whose LM never learns."""

from pathlib import Path

import dspy
import pytest
from support.compiling import SETTINGS, compiled, recipes_but
from support.learning_lm import HELD_OUT, KEY, TABLE, TRAIN, LearningLM
from support.scripted import engine_lm

import lms
import programs
from eval.metrics import em
from eval.tasks.demonstrations.calls import labelled_calls
from eval.tasks.demonstrations.fit import fitting
from optimizers import load, names, why_no_state
from programs.adaptive_rag import AdaptiveRAG
from programs.blendfilter import BlendFilter
from programs.hop import Hop
from programs.instruments.state import load_state, save_state
from programs.ircot import IRCoT
from programs.migres import MIGRES
from programs.search_o1 import SearchO1
from retrieval import UsageError

# Instructions for one predictor need fewer turns than for all.
ONLY = {BlendFilter: ["answer"], MIGRES: ["detect"]}
LOOPS = {IRCoT: ["answer"], SearchO1: ["reason"], AdaptiveRAG: ["multiple.answer"], Hop: ["answer"]}


def test_there_are_the_recipes_and_no_others() -> None:
    assert set(names()) == set(SETTINGS)
    with pytest.raises(UsageError, match="there is no recipe 'magic'; there are: bootstrap_few_shot"):
        load("magic")


def gains(recipe: str, learner: LearningLM, tmp_path: Path, kind: type[dspy.Module]) -> tuple[float, float]:
    """Scores on questions never seen, without and with compiling."""
    outcome = compiled(recipe, kind(TABLE), learner, tmp_path, only={**ONLY, **LOOPS}[kind])
    assert outcome.program.retriever is TABLE
    return outcome.before.total.scores["em"].mean, outcome.after.total.scores["em"].mean


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BlendFilter, MIGRES])
@pytest.mark.parametrize("recipe", recipes_but())
def test_it_gains_and_equal_seeds_give_the_same_file(recipe: str, kind: type[dspy.Module], tmp_path: Path) -> None:
    for run in ("one", "two"):
        assert gains(recipe, LearningLM("Person 1"), tmp_path / run, kind) == (0.0, 1.0)
    if not why_no_state(recipe):
        assert (tmp_path / "one" / "state.json").read_bytes() == (tmp_path / "two" / "state.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", recipes_but())
def test_with_an_lm_that_never_learns_it_gains_nothing(recipe: str, tmp_path: Path) -> None:
    assert gains(recipe, LearningLM("Person 1", deaf=True), tmp_path, MIGRES) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("recipe", ["labeled_few_shot", "gepa"])
def test_programs_that_search_in_turns_gain_by_what_they_are_shown_or_told(
    recipe: str, kind: type[dspy.Module], tmp_path: Path
) -> None:
    learner = LearningLM("Person 1")
    assert gains(recipe, learner, tmp_path, kind) == (0.0, 1.0)
    assert bool(learner.taught) == (recipe == "gepa")
    again, before = kind(TABLE), dict(kind(TABLE).named_predictors())
    load_state(again, tmp_path / "state.json")
    changed = {name: p for name, p in again.named_predictors() if p.dump_state() != before[name].dump_state()}
    ((name, predictor),) = changed.items()
    assert name.startswith(LOOPS[kind][0])
    assert (predictor.signature.instructions == KEY) == (recipe == "gepa") != bool(predictor.demos)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
@pytest.mark.parametrize("name", sorted(set(programs.names()) - {"blendfilter", "migres"}))
def test_every_other_program_compiles_with_the_cheapest_recipes(name: str, recipe: str, tmp_path: Path) -> None:
    program, few = programs.load(name)(TABLE), TRAIN[:2]
    labels = [labelled_calls(example, TABLE) for example in few]
    with dspy.context(lm=lms.load("extractive")):
        made = load(recipe)(program, few, metric=em)
        answer = made(question=HELD_OUT[0].question).answer
        if recipe == "labeled_few_shot":
            bare = getattr(type(program), "zero_shot", ())
            shown = [one for at, one in program.named_predictors() if at.partition(".")[0] not in bare]
            possible = any(any(fitting(predictor.signature, labels)) for predictor in shown)
        else:
            possible = any(em(example, program(question=example.question)) for example in few)
    assert isinstance(answer, str)
    assert made.retriever is TABLE  # type: ignore[attr-defined]
    assert [n for n, _ in made.named_predictors()] == [n for n, _ in program.named_predictors()]
    for predictor in made.predictors():
        assert all(set(demo.keys()) - {"augmented"} <= set(predictor.signature.fields) for demo in predictor.demos)
    assert any(predictor.demos for predictor in made.predictors()) is possible
    save_state(made, tmp_path / "state.json", {})
    load_state(programs.load(name)(TABLE), tmp_path / "state.json")


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_retriever_is_neither_copied_nor_saved_and_the_program_stays(recipe: str, tmp_path: Path) -> None:
    program = BlendFilter(TABLE)
    before = program.dump_state()
    with dspy.context(lm=engine_lm(LearningLM(hint="Person"))):
        made = load(recipe)(program, TRAIN, metric=em)
    assert made is not program
    assert made.retriever is TABLE  # type: ignore[attr-defined]
    assert program.dump_state() == before
