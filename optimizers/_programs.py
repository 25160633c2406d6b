"""What recipes have in common: copies of programs, parts of programs, and metrics as DSPy's optimizers need them."""

import types
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from eval.metrics import Metric
from retrieval import UsageError

__all__ = ["choose", "enough", "number_of", "restricted", "whole", "with_prompts_of"]


def with_prompts_of(compiled: dspy.Module, program: dspy.Module) -> dspy.Module:
    """A copy of the program with the instructions and demonstrations of the compiled one, and with nothing else of it.

    DSPy's optimizers attach all the programs that they tried to the one that they return, and put into demonstrations
    whatever a prediction has, the log-probabilities of its tokens too.
    """
    made = program.deepcopy()
    learned = dict(compiled.named_predictors())
    for name, predictor in made.named_predictors():
        predictor.signature = predictor.signature.with_instructions(learned[name].signature.instructions)
        kept = {*predictor.signature.fields, "augmented"}
        predictor.demos = [
            dspy.Example({field: value for field, value in demo.items() if field in kept})
            for demo in learned[name].demos
        ]
    return made


def enough(least: Mapping[str, int], train: Sequence[dspy.Example], **settings: Any) -> None:
    """Check a recipe's settings, before anything is paid for.

    Args:
        least: The least that each may be, by name; under `train`, how many questions there must be.
        train: The questions to learn from.
        settings: The settings, by name.

    Raises:
        UsageError: one is less.
    """
    if len(train) < least["train"]:
        raise UsageError(f"this recipe needs at least {least['train']} questions to learn from, not {len(train)}")
    for name, value in settings.items():
        if name in least and value < least[name]:
            raise UsageError(f"{name.replace('_', '-')} must be at least {least[name]}, not {value}")


def number_of(metric: Metric) -> Metric:
    """The metric with 0 where it is undefined, which depends on the question alone: DSPy's optimizers add scores up."""

    def score(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float:
        return metric(example, prediction, trace) or 0.0

    score.__name__ = metric.__name__
    return score


def choose(program: dspy.Module, *, only: Sequence[str] = (), freeze: Sequence[str] = ()) -> list[str]:
    """The names of the predictors that are to learn.

    Args:
        program: The program.
        only: Names of predictors, or of modules for all the predictors in them; none for all of the program's.
        freeze: Likewise, of those among them that are to stay as they are.

    Raises:
        UsageError: a name is no predictor's, or none is left.
    """
    names = [name for name, _ in program.named_predictors()]
    for wanted in [*only, *freeze]:
        if not any(_within(name, wanted) for name in names):
            raise UsageError(f"there is no predictor {wanted!r}; there are: {', '.join(names)}")
    chosen = [name for name in names if not only or any(_within(name, wanted) for wanted in only)]
    left = [name for name in chosen if not any(_within(name, wanted) for wanted in freeze)]
    if not left:
        raise UsageError("every predictor is frozen, so there is nothing to learn")
    return left


def restricted(program: dspy.Module, names: Sequence[str]) -> dspy.Module:
    """A copy of the program that shows DSPy these predictors alone, so that the others stay as they are.

    It is of a subclass that differs in nothing else and looks like the program's class: optimizers show its source to
    the LM. `whole` makes it the program's own class again.
    """
    kind, shown = type(program), frozenset(names)

    def named_parameters(self: dspy.Module) -> list[tuple[str, Any]]:
        return [(name, parameter) for name, parameter in kind.named_parameters(self) if name in shown]

    looks = ("__qualname__", "__module__", "__doc__", "__firstlineno__")  # the last one from Python 3.13 on
    namespace = {name: getattr(kind, name) for name in looks if hasattr(kind, name)}
    copy = program.deepcopy()
    copy.__class__ = types.new_class(
        kind.__name__, (kind,), exec_body=lambda body: body.update(namespace, named_parameters=named_parameters)
    )
    return copy


def whole(program: dspy.Module) -> dspy.Module:
    """The copy that `restricted` made, or that an optimizer made of it, with all its predictors shown again."""
    program.__class__ = type(program).__mro__[1]
    return program


def _within(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith((f"{wanted}.", f"{wanted}["))
