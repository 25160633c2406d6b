"""Both recipes on a small world whose LM answers right only when it is shown how."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response
from scripted import engine_lm, render, respond

from eval.metrics import em
from optimizers import load, names
from optimizers._demonstrations import labelled
from optimizers._optimize import optimize
from programs._state import load_state
from programs.blendfilter import BlendFilter
from retrieval import Memory, Passage, UsageError

CITIES = ["Lund", "Graz", "Bern", "Oulu", "Gent", "Jena", "Pisa", "Brno", "Cork", "Bath"]
TABLE = Memory([Passage(f"p{n}", f"Person {n} was born in {city} .", f"Person {n}") for n, city in enumerate(CITIES)])
EXAMPLES = [
    dspy.Example(
        id=f"q{n}", question=f"Where was Person {n} born ?", answer=city, answers=[city], gold_titles=[f"Person {n}"]
    ).with_inputs("question")
    for n, city in enumerate(CITIES)
]
TRAIN, HELD_OUT = EXAMPLES[:6], EXAMPLES[6:]


class Pupil:
    """Knows where persons are born; says so at length unless demonstrations, or a hint, show the short way."""

    def __init__(self, hint: str = "no hint") -> None:
        self.hint = hint

    def complete(self, request: Request) -> Response:
        user = request.messages[-1].text or ""
        outputs = request.system.split("Your output fields are:")[1].split("All interactions")[0]  # type: ignore[union-attr]
        if "`relevant`" in outputs:
            return respond(render({"reasoning": "Here.", "relevant": "[1]"}))
        if "`topic`" in outputs or "`passage`" in outputs:
            return respond(render({"topic": "people", "passage": "A person ."}))
        question = user.split("[[ ## question ## ]]\n")[1].split("\n")[0]
        city = next(e.answer for e in EXAMPLES if e.question == question)
        shown = len(request.messages) > 1 or self.hint in question
        return respond(render({"reasoning": "So.", "answer": city if shown else f"It was {city}, I think"}))


def compiled(recipe: str, pupil: Pupil, tmp_path: Path, **more: Any) -> Any:
    program = BlendFilter(TABLE)
    with dspy.context(lm=engine_lm(pupil)):
        return optimize(
            program,
            load(recipe),
            train=labelled(TRAIN, TABLE),
            held_out=HELD_OUT,
            metric=em,
            out=tmp_path / "state.json",
            directory=tmp_path / "runs",
            threads=2,
            **more,
        )


def test_there_are_the_recipes_and_no_others() -> None:
    assert {"labeled_few_shot", "bootstrap_few_shot"} <= set(names())
    with pytest.raises(UsageError, match="there is no recipe 'magic'; there are: bootstrap_few_shot"):
        load("magic")


def test_labelled_demonstrations_help_on_questions_never_seen(tmp_path: Path) -> None:
    outcome = compiled("labeled_few_shot", Pupil(), tmp_path)
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
    outcome = compiled("bootstrap_few_shot", Pupil(hint="Person 1"), tmp_path / "one")
    demos = {name: predictor.demos for name, predictor in outcome.program.named_predictors()}
    assert {demo.question for demo in demos["answer.predict"]} == {"Where was Person 1 born ?"}
    assert demos["select.predict"][0].relevant == [1]
    assert demos["topic"][0].topic == "people"
    assert outcome.after.total.scores["em"].mean == 1.0
    assert outcome.cost.lm_calls == 6 * 7
    # Nobody answers right: there is nothing to learn from, and nothing gets better.
    outcome = compiled("bootstrap_few_shot", Pupil(), tmp_path / "none")
    assert all(not predictor.demos for predictor in outcome.program.predictors())
    assert outcome.after.total.scores["em"].mean == 0.0


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_state_is_json_repeats_and_loads(recipe: str, tmp_path: Path) -> None:
    texts = []
    for run in ("one", "two"):
        outcome = compiled(recipe, Pupil(hint="Person"), tmp_path / run, manifest={"lm": "pupil"})
        texts.append((tmp_path / run / "state.json").read_text())
    assert texts[0] == texts[1]
    manifest = json.loads(texts[0])["manifest"]
    assert (manifest["lm"], manifest["metric"], manifest["program"]) == ("pupil", "em", "BlendFilter")
    assert not set(manifest["train"]) & set(manifest["held_out"])
    assert manifest["after"]["n"] == 4
    program = BlendFilter(TABLE)
    load_state(program, tmp_path / "one" / "state.json")
    assert program.dump_state() == outcome.program.dump_state()


@pytest.mark.parametrize("recipe", ["labeled_few_shot", "bootstrap_few_shot"])
def test_the_retriever_is_neither_copied_nor_saved_and_the_program_stays(recipe: str, tmp_path: Path) -> None:
    program = BlendFilter(TABLE)
    before = program.dump_state()
    with dspy.context(lm=engine_lm(Pupil(hint="Person"))):
        made = load(recipe)(program, labelled(TRAIN, TABLE), metric=em)
    assert made is not program
    assert made.retriever is TABLE  # type: ignore[attr-defined]
    assert program.dump_state() == before
