"""Gives a program labelled demonstrations made from training questions, and says which."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy

from eval.metrics.squad import normalise
from eval.tasks import SEED, choose, load
from eval.tasks.demonstrations.calls import labelled_calls
from eval.tasks.demonstrations.fit import for_predictors
from retrieval import Retriever, UsageError

__all__ = ["Shown", "show"]

_TRIED = 10  # questions for each demonstration: not every question has all that is needed


@dataclass(frozen=True, slots=True)
class Shown:
    """The demonstrations that a program was given."""

    count: int
    """How many each predictor was to get."""
    source: str
    """The task that the questions are from."""
    questions: tuple[dspy.Example, ...]
    """The questions that they are of."""
    by_predictor: dict[str, int]
    """How many each predictor got."""
    sha256: str
    """A hash of all of them."""

    def record(self) -> dict[str, Any]:
        """What tells these demonstrations from others, for a run's manifest."""
        return {
            "count": self.count,
            "source": self.source,
            "questions": [example.id for example in self.questions],
            "by_predictor": self.by_predictor,
            "sha256": self.sha256,
        }

    def __str__(self) -> str:
        got = ", ".join(f"{name} {count}" for name, count in self.by_predictor.items())
        questions = "".join(f"\n  {example.id}: {example.question}" for example in self.questions)
        return f"demonstrations by predictor: {got}; of these questions of {self.source}:{questions}"


def show(
    program: dspy.Module, count: int, *, task: str, asked: Sequence[dspy.Example], data: str | Path | None
) -> Shown:
    """Give each predictor of the program `count` labelled demonstrations, from questions that are not asked.

    They are from the training set that belongs to the task. `sample` and files have none: there, from the questions
    that are left. Predictors that the method's paper shows no demonstrations (`zero_shot` of the program's class), and
    those for which the gold gives none, get none. Equal arguments give equal demonstrations.

    Args:
        program: The program, which is changed.
        count: How many; a predictor gets fewer if too few questions have what it needs.
        task: The task that is asked, in the form of `eval.tasks.load`.
        asked: The questions that are asked.
        data: Directory with local copies of data sets; see `eval.tasks.load`.

    Raises:
        UsageError: there are no other questions than those that are asked, they are out of reach, or none of them makes
            a demonstration.
    """
    if count < 1:
        raise UsageError(f"the number of demonstrations must be at least 1, not {count}")
    source, questions = _training_questions(task, asked, data)
    drawn = random.Random(SEED).sample(questions, min(_TRIED * count, len(questions)))
    retriever: Retriever | None = getattr(program, "retriever", None)
    labels = [labelled_calls(example, retriever) for example in drawn]
    zero_shot = getattr(type(program), "zero_shot", ())
    predictors = dict(program.named_predictors())
    shown = {
        name: [] if name.partition(".")[0] in zero_shot else made
        for name, made in for_predictors(program, labels, count).items()
    }
    if not any(shown.values()):
        raise UsageError(
            f"none of {len(drawn)} questions of {source} makes a demonstration for {type(program).__name__}: the "
            "retriever does not find their gold passages, or they have none"
        )
    for name, made in shown.items():
        predictors[name].demos = [demonstration for _, demonstration in made]
    used = sorted({n for made in shown.values() for n, _ in made})
    plain = {name: [dict(demonstration.items()) for _, demonstration in made] for name, made in shown.items()}
    return Shown(
        count,
        source,
        tuple(drawn[n] for n in used),
        {name: len(made) for name, made in shown.items()},
        sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest(),
    )


def _training_questions(
    task: str, asked: Sequence[dspy.Example], data: str | Path | None
) -> tuple[str, list[dspy.Example]]:
    """The questions to make demonstrations of, and the task that they are from."""
    source = task
    if task != "sample" and not task.startswith("file:"):
        named, variant = choose(task)
        source = named.training(variant)
    evaluated = {normalise(example.question) for example in asked}
    left = [example for example in load(source, data=data) if normalise(example.question) not in evaluated]
    if not left:
        raise UsageError(
            f"all questions of {source} are asked, and none is left for demonstrations: ask fewer with --limit, or "
            "give --state a file that python -m optimizers --recipe labeled_few_shot has made of others"
        )
    return source, left
