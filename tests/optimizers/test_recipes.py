"""Every recipe on a small world whose LM answers right only when it is shown how, and on one whose LM never learns."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.clients.base_lm import GLOBAL_HISTORY
from dspy.lm15 import Request, Response
from support.learning_lm import HELD_OUT, KEY, SETTINGS, TABLE, TRAIN, LearningLM
from support.scripted import engine_lm

import lms
import programs
from eval.metrics import em
from eval.runs.recorded_calls import Limits
from optimizers import load, names, why_no_state
from optimizers._demonstrations import fitting, labelled
from optimizers._optimize import Outcome, optimize
from programs.blendfilter import BlendFilter
from programs.instruments.state import load_state, save_state
from programs.migres import MIGRES
from retrieval import OdqaError, UsageError

# Instructions for one predictor need fewer turns than for all.
ONLY = {BlendFilter: ["answer"], MIGRES: ["detect"]}


def compiled(
    recipe: str,
    learner: LearningLM,
    tmp_path: Path,
    kind: type[dspy.Module] = BlendFilter,
    settings: Mapping[str, Any] = {},
    **more: Any,
) -> Outcome:
    program = kind(TABLE)
    settings = {**SETTINGS[recipe], **settings}
    more = {"threads": 2, "metric": em, **more}
    with dspy.context(lm=engine_lm(learner)):
        return optimize(
            program,
            lambda *args, **common: load(recipe)(*args, **common, **settings),
            train=TRAIN,
            held_out=HELD_OUT,
            out=None if why_no_state(recipe) else tmp_path / "state.json",
            directory=tmp_path / "runs",
            **more,
        )


def test_there_are_the_recipes_and_no_others() -> None:
    assert set(names()) == set(SETTINGS)
    with pytest.raises(UsageError, match="there is no recipe 'magic'; there are: bootstrap_few_shot"):
        load("magic")


def gains(recipe: str, learner: LearningLM, tmp_path: Path, kind: type[dspy.Module]) -> tuple[float, float]:
    """Scores on questions never seen, without and with compiling."""
    outcome = compiled(recipe, learner, tmp_path, kind, only=ONLY[kind])
    assert outcome.program.retriever is TABLE
    return outcome.before.total.scores["em"].mean, outcome.after.total.scores["em"].mean


@pytest.mark.parametrize("kind", [BlendFilter, MIGRES])
@pytest.mark.parametrize("recipe", SETTINGS)
def test_it_gains_and_equal_seeds_give_the_same_file(recipe: str, kind: type[dspy.Module], tmp_path: Path) -> None:
    for run in ("one", "two"):
        assert gains(recipe, LearningLM("Person 1"), tmp_path / run, kind) == (0.0, 1.0)
    if not why_no_state(recipe):
        assert (tmp_path / "one" / "state.json").read_bytes() == (tmp_path / "two" / "state.json").read_bytes()


@pytest.mark.parametrize("recipe", SETTINGS)
def test_with_an_lm_that_never_learns_it_gains_nothing(recipe: str, tmp_path: Path) -> None:
    assert gains(recipe, LearningLM("Person 1", deaf=True), tmp_path, MIGRES) == (0.0, 0.0)


@pytest.mark.parametrize("recipe", ["copro", "gepa"])
def test_the_others_stay_as_they_are_and_cost_nothing(recipe: str, tmp_path: Path) -> None:
    outcome = compiled(recipe, LearningLM("Person 1"), tmp_path, only=["answer", "topic"], freeze=["topic"])
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
        compiled("copro", LearningLM(), tmp_path, only=["answers"])
    with pytest.raises(UsageError, match="nothing to learn"):
        compiled("copro", LearningLM(), tmp_path, only=["answer"], freeze=["answer.predict"])


def test_gepa_tells_the_lm_what_the_predictor_did_wrong_and_not_another_one_like_it(tmp_path: Path) -> None:
    answer, draft = LearningLM(), LearningLM()
    compiled("gepa", answer, tmp_path / "answer", only=["answer"])
    compiled("gepa", draft, tmp_path / "draft", only=["draft"])
    said = "The final answer should be 'Lund', but was 'It was Lund , I think', and it is to stand alone."
    assert answer.taught
    assert draft.taught
    assert f"{said} The passages did state it" in "".join(answer.taught)
    assert f"{said} What was written was searched with, and all the passages" in "".join(draft.taught)
    assert "searched with" not in "".join(answer.taught)
    assert "".join(draft.taught).count("searched with") == "".join(draft.taught).count("stand alone")


class Moody(LearningLM):
    """Asked the same thing again at a temperature, it answers shortly every other time."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.asked: Counter[str] = Counter()

    def complete(self, request: Request) -> Response:
        user = request.messages[-1].text or ""
        self.asked[user] += 1
        good = request.config.temperature == 1.0 and self.asked[user] % 2 == 0
        return (LearningLM("Person") if good else super()).complete(request)


def test_simba_appends_advice_and_demonstrations_that_stay_in_the_state(tmp_path: Path) -> None:
    rules = Moody()
    outcome = compiled("simba", rules, tmp_path / "rules", MIGRES, {"demonstrations": 0}, threads=1)
    state = json.loads((tmp_path / "rules" / "state.json").read_text())
    assert "".join(rules.taught).count("should be") > 0
    assert state["detect"]["signature"]["instructions"] == outcome.program.detect.signature.instructions
    said = MIGRES(TABLE).detect.signature.instructions
    assert state["detect"]["signature"]["instructions"] == f"{said}\n\n{KEY}"
    assert state["detect"]["demos"] == []
    assert outcome.after.total.scores["em"].mean == 1.0
    shown = compiled("simba", LearningLM("Person 1"), tmp_path / "demos", MIGRES)
    state = json.loads((tmp_path / "demos" / "state.json").read_text())
    assert [demo["answer"] for demo in state["detect"]["demos"]] == ["Graz"]
    assert state["extract"]["demos"][0]["statements"][0]["passages"] == [1]
    assert shown.after.total.scores["em"].mean == 1.0


class Counting(LearningLM):
    calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        return super().complete(request)


@pytest.mark.parametrize("recipe", ["copro", "simba", "gepa"])
def test_a_budget_stops_it_and_what_was_paid_is_not_paid_again(recipe: str, tmp_path: Path) -> None:
    whole = Counting("Person 1")
    expected = compiled(recipe, whole, tmp_path / "whole", MIGRES, only=["detect"])
    cut = Counting("Person 1")
    with pytest.raises(
        OdqaError, match=r"the limit of 9 LM calls is reached, and the recipe has not ended; with a hig"
    ):
        compiled(recipe, cut, tmp_path / "cut", MIGRES, only=["detect"], limits=Limits(calls=9))
    assert not (tmp_path / "cut" / "state.json").exists()
    assert cut.calls <= 8 + 9 + 4  # before, the limit, and what was under way
    outcome = compiled(recipe, cut, tmp_path / "cut", MIGRES, only=["detect"])
    assert outcome.cost.lm_calls == expected.cost.lm_calls
    assert cut.calls <= whole.calls + 2  # what was under way when the limit was reached may be lost
    assert (tmp_path / "cut" / "state.json").read_bytes() == (tmp_path / "whole" / "state.json").read_bytes()


def test_questions_in_both_parts_are_refused(tmp_path: Path) -> None:
    shouted = HELD_OUT[0].copy(question=HELD_OUT[0].question.upper())
    with pytest.raises(UsageError, match="1 questions are both learned from and held out, such as 'where was person 6"):
        optimize(
            BlendFilter(TABLE),
            load("bootstrap_few_shot"),
            train=[*TRAIN, shouted],
            held_out=HELD_OUT,
            metric=em,
            out=None,
            directory=tmp_path,
        )


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
@pytest.mark.parametrize("name", sorted(set(programs.names()) - {"blendfilter", "migres"}))
def test_every_other_program_compiles_with_the_cheapest_recipes(name: str, recipe: str, tmp_path: Path) -> None:
    program, few = programs.load(name)(TABLE), TRAIN[:2]
    labels = [labelled(example, TABLE) for example in few]
    with dspy.context(lm=lms.load("extractive")):
        made = load(recipe)(program, few, metric=em)
        answer = made(question=HELD_OUT[0].question).answer
        if recipe == "labeled_few_shot":
            possible = any(fitting(predictor.signature, labels) for predictor in program.predictors())
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


def test_labelled_demonstrations_help_on_questions_never_seen(tmp_path: Path) -> None:
    outcome = compiled("labeled_few_shot", LearningLM(), tmp_path)
    assert outcome.before.total.scores["em"].mean == 0.0
    assert outcome.after.total.scores["em"].mean == 1.0
    assert outcome.cost.lm_calls == 0
    demos = {name: predictor.demos for name, predictor in outcome.program.named_predictors()}
    assert {name: len(shown) for name, shown in demos.items()} == {
        "draft.predict": 3, "recall": 3, "topic": 0, "select.predict": 3, "answer.predict": 3,
    }  # fmt: skip
    shown = {demo.question for demos_ in demos.values() for demo in demos_}
    assert shown <= {example.question for example in TRAIN}
    assert set(demos["select.predict"][0].keys()) == {"context", "question", "relevant"}


def test_bootstrapped_demonstrations_come_from_right_answers_alone(tmp_path: Path) -> None:
    # Two of the six train questions are answered right without demonstrations.
    outcome = compiled("bootstrap_few_shot", LearningLM("Person 1"), tmp_path / "one")
    demos = {name: predictor.demos for name, predictor in outcome.program.named_predictors()}
    assert {demo.question for demo in demos["answer.predict"]} == {"Where was Person 1 born ?"}
    assert demos["select.predict"][0].relevant == [1]
    assert demos["topic"][0].topic == "People ."
    assert outcome.after.total.scores["em"].mean == 1.0
    assert outcome.cost.lm_calls == 6 * 7
    # Nobody answers right: there is nothing to learn from, and nothing gets better.
    outcome = compiled("bootstrap_few_shot", LearningLM(), tmp_path / "none")
    assert all(not predictor.demos for predictor in outcome.program.predictors())
    assert outcome.after.total.scores["em"].mean == 0.0


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_state_is_json_repeats_and_loads(recipe: str, tmp_path: Path) -> None:
    texts = []
    for run in ("one", "two"):
        outcome = compiled(recipe, LearningLM(hint="Person"), tmp_path / run, manifest={"lm": "learner"})
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

    def counted(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float | None:
        if example in TRAIN:
            kept.append((len(GLOBAL_HISTORY), dspy.settings.trace and len(dspy.settings.trace)))
        return em(example, prediction)

    compiled("bootstrap_random_search", LearningLM("Person 1"), tmp_path, metric=counted)
    before, after = len(GLOBAL_HISTORY), kept[0][0]
    assert len(kept) > 2 * len(TRAIN)
    assert {history for history, _ in kept} == {after}
    assert before > after  # the questions held out came later
    assert max(trace or 0 for _, trace in kept) <= 7


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_retriever_is_neither_copied_nor_saved_and_the_program_stays(recipe: str, tmp_path: Path) -> None:
    program = BlendFilter(TABLE)
    before = program.dump_state()
    with dspy.context(lm=engine_lm(LearningLM(hint="Person"))):
        made = load(recipe)(program, TRAIN, metric=em)
    assert made is not program
    assert made.retriever is TABLE  # type: ignore[attr-defined]
    assert program.dump_state() == before
