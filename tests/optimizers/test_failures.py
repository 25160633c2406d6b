"""A failure while a recipe runs is told in one line; it is neither taken for a wrong answer nor forgotten."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response
from support import compiling
from support.compiling import recipes_but
from support.learning_lm import HELD_OUT, TABLE, TRAIN, LearningLM
from support.scripted import engine_lm

from eval.metrics import em
from optimizers.optimize import Outcome, optimize
from programs.direct import Direct
from retrieval import OdqaError, Passage, RetrievalError, Retriever


class Broken(Retriever):
    """Finds nothing for some questions, with an error."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken

    def search(self, query: str, k: int) -> list[Passage]:
        if any(question in query for question in self.broken):
            raise RetrievalError("the index is gone")
        return TABLE(query, k)


def compiled(recipe: str, directory: Path, retriever: Retriever, engine: Any = None, **how: Any) -> Outcome:
    with dspy.context(max_errors=3):
        return compiling.compiled(recipe, Direct(retriever), engine or LearningLM("Person 1"), directory, **how)


# Two run nothing while they compile, and one is made of two of the others.
RUNS = recipes_but("labeled_few_shot", "knn_few_shot", "combined")


@pytest.mark.parametrize("recipe", RUNS)
def test_runs_that_fail_end_it_in_one_line(recipe: str, tmp_path: Path) -> None:
    retriever = Broken(*(example.question for example in TRAIN))
    with pytest.raises(OdqaError) as raised:
        compiled(recipe, tmp_path, retriever)
    told = str(raised.value)
    assert "runs failed while compiling, the first with RetrievalError: the index is gone;" in told
    assert str(tmp_path) in told
    assert "\n" not in told
    assert isinstance(raised.value.__cause__, RetrievalError)
    # What was paid is there still, and with a retriever that works the recipe goes on.
    assert compiled(recipe, tmp_path, TABLE).after.total.scores["em"].mean == 1.0


def test_a_few_that_fail_are_counted(tmp_path: Path) -> None:
    outcome = compiled("bootstrap_few_shot", tmp_path, Broken(TRAIN[0].question))
    assert outcome.failures == "1 run failed while compiling, the first with RetrievalError: the index is gone"
    assert outcome.after.total.scores["em"].mean == 1.0
    assert compiled("bootstrap_few_shot", tmp_path / "fine", TABLE).failures == ""


@pytest.mark.parametrize("recipe", ["bootstrap_few_shot", "simba"])
def test_a_metric_with_a_mistake_is_named(recipe: str, tmp_path: Path) -> None:
    def strict(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
        if example in TRAIN:
            raise KeyError("gold")
        return 0.0

    with pytest.raises(OdqaError, match=r"\d runs? failed while compiling, the first with KeyError: 'gold'; mend"):
        compiled(recipe, tmp_path, TABLE, metric=strict)


class Failing(LearningLM):
    """Its provider fails at one call."""

    def __init__(self, at: int) -> None:
        super().__init__("Person 1")
        self.at = at
        self.calls = 0

    def complete(self, request: Request) -> Response:
        self.calls += 1
        if self.calls == self.at:
            raise ConnectionError("no route to https://me:secret@host/v1")
        return super().complete(request)


@pytest.mark.parametrize("recipe", RUNS)
def test_a_provider_that_fails_ends_it_and_nothing_is_paid_twice(recipe: str, tmp_path: Path) -> None:
    whole = Failing(at=0)
    compiled(recipe, tmp_path / "whole", TABLE, whole)
    engine = Failing(at=len(HELD_OUT) + 4)
    with pytest.raises(OdqaError, match=r"the LM failed \(.*no route to https://\*\*\*@host/v1.*has not ended; mend"):
        compiled(recipe, tmp_path / "cut", TABLE, engine)
    assert engine.calls <= engine.at + 4
    compiled(recipe, tmp_path / "cut", TABLE, engine)
    assert engine.calls <= whole.calls + 1 + 2  # the one that failed, and what was under way
    assert (tmp_path / "cut" / "state.json").read_bytes() == (tmp_path / "whole" / "state.json").read_bytes()


def test_a_mistake_in_a_recipe_is_no_failure_of_the_runs(tmp_path: Path) -> None:
    def mistaken(*args: Any, **common: Any) -> dspy.Module:
        raise TypeError("a programming error")

    with pytest.raises(TypeError, match="a programming error"), dspy.context(lm=engine_lm(LearningLM())):
        optimize(Direct(TABLE), mistaken, train=TRAIN, held_out=HELD_OUT, metric=em, out=None, directory=tmp_path)


class Babbling(LearningLM):
    """It writes no instructions that can be read."""

    def proposed(self, names: list[str], user: str) -> dict[str, Any] | None:
        return None if "answer" in names else {}


def test_an_lm_that_cannot_write_instructions_is_said(tmp_path: Path) -> None:
    with pytest.raises(OdqaError, match="the recipe cannot read what the LM writes for it"):
        compiled("copro", tmp_path, TABLE, Babbling())
