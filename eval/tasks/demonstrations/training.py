"""Gives a program labelled demonstrations made from training questions, and says which."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy

from eval.metrics.gold import normalise
from eval.tasks import SEED, choose, load, own_file
from eval.tasks.demonstrations.calls import Call, labelled_calls
from eval.tasks.demonstrations.fit import for_predictors
from eval.tasks.jsonl import read
from retrieval import Retriever, UsageError

__all__ = ["Shown", "at_hand", "show"]

_TRIED = 10  # questions for each demonstration: not every question has all that is needed
# The fields that are made of what leads to the answer.
_LED = {"reasoning", "thought", "statements", "explanation", "missing", "queries", "follow_up"}


@dataclass(frozen=True, slots=True)
class Shown:
    """The demonstrations that a program was given."""

    count: int
    """How many each predictor was to get."""
    source: str
    """The task that the questions are from."""
    questions: tuple[dspy.Example, ...]
    """The questions that they are of."""
    without: str | None
    """The field that says how an answer is found, if demonstrations were made of questions that lack it: the data set
    has it, but not this copy. Sentences of the gold passages stand in for it."""
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
            "without": self.without,
            "by_predictor": self.by_predictor,
            "sha256": self.sha256,
        }

    def __str__(self) -> str:
        got = ", ".join(f"{name} {count}" for name, count in self.by_predictor.items())
        questions = "".join(f"\n  {example.id}: {example.question}" for example in self.questions)
        lacking = (
            f"\nthis copy has no {self.without} for them, which the data set has: sentences of the gold passages stand "
            "in for the steps that lead to the answer"
        )
        told = lacking if self.without else ""
        return f"demonstrations by predictor: {got}; of these questions of {self.source}:{questions}{told}"


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
            a demonstration that the program can show.
    """
    if count < 1:
        raise UsageError(f"the number of demonstrations must be at least 1, not {count}")
    source, questions = _training_questions(task, asked, data)
    drawn = random.Random(SEED).sample(questions, min(_TRIED * count, len(questions)))
    retriever: Retriever | None = getattr(program, "retriever", None)
    labels = [labelled_calls(example, retriever) for example in drawn]
    predictors = dict(program.named_predictors())
    shown = for_predictors(program, labels, count)
    if not any(shown.values()):
        raise UsageError(_why_none(program, retriever, source, labels))
    for name, made in shown.items():
        predictors[name].demos = [demonstration for _, demonstration in made]
    used = sorted({n for made in shown.values() for n, _ in made})
    plain = {name: [dict(demonstration.items()) for _, demonstration in made] for name, made in shown.items()}
    return Shown(
        count,
        source,
        tuple(drawn[n] for n in used),
        _lacking(source, [drawn[n] for made in shown.values() for n, call in made if _LED & {*call.keys()}]),
        {name: len(made) for name, made in shown.items()},
        sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest(),
    )


def at_hand(task: str, data: str | Path | None) -> bool:
    """Whether training questions are where the questions of a data set are: in local copies, or else on the hub."""
    directory = None if data is None else Path(data)
    named, variant = choose(task)
    other, train = choose(named.training(variant))
    return named.local_copy(variant, directory) is None or other.local_copy(train, directory) is not None


def _training_questions(
    task: str, asked: Sequence[dspy.Example], data: str | Path | None
) -> tuple[str, list[dspy.Example]]:
    """The questions to make demonstrations of, and the task that they are from.

    They are neither asked nor, where there is a local copy of what the task asks, among all of its questions.
    """
    source, evaluated = task, list(asked)
    if not own_file(task):
        directory = None if data is None else Path(data)
        named, variant = choose(task)
        source = named.training(variant)
        other, train = choose(source)
        copy = named.local_copy(variant, directory)
        if copy is not None and copy != other.local_copy(train, directory):
            evaluated += read(copy)
    ids, texts = {example.id for example in evaluated}, {normalise(example.question) for example in evaluated}
    left = [e for e in load(source, data=data) if e.id not in ids and normalise(e.question) not in texts]
    if not left:
        raise UsageError(
            f"all questions of {source} are asked, and none is left for demonstrations: ask fewer with --limit, or "
            "give --state a file that odqa optimize --recipe labeled_few_shot has made of others"
        )
    return source, left


def _why_none(program: dspy.Module, retriever: Retriever | None, source: str, labels: Sequence[Sequence[Call]]) -> str:
    """Why no predictor of the program gets a demonstration, and what to do."""
    name = type(program).__name__
    if {at.partition(".")[0] for at, _ in program.named_predictors()} <= {*getattr(type(program), "zero_shot", ())}:
        return f"the prompts of {name} show no demonstrations in its paper: leave out --demonstrations"
    if any(len(calls) > 1 for calls in labels):  # the gold passages were found
        predictors = ", ".join(at for at, _ in program.named_predictors())
        return (
            f"the gold answers of {source} do not say what {name} should reply in any of its calls ({predictors}): "
            "leave out --demonstrations, or give --state a file that odqa optimize --recipe bootstrap_few_shot "
            "has made of the program's own right answers"
        )
    none = f"none of {len(labels)} questions of {source} makes a demonstration for {name}"
    if retriever is None:
        field = _leads(source) or "steps"
        return (
            f"{none}: closed book, their reasoning has to come from the data's {field}, and these questions have none"
        )
    return (
        f"{none}: the retriever does not find their gold passages, or they have none. Its index has to hold the "
        "passages of training questions, too"
    )


def _lacking(source: str, questions: Sequence[dspy.Example]) -> str | None:
    """The field that the data set has to say how an answer is found, if one of the questions lacks it."""
    field = _leads(source)
    return field if field and not all(example.get(field) for example in questions) else None


def _leads(source: str) -> str | None:
    return None if own_file(source) else choose(source)[0].leads
