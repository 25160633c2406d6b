"""Which predictors of a program learn, and how the others are hidden from DSPy's optimizers."""

import types
from collections.abc import Sequence
from typing import Any

import dspy

from retrieval import UsageError

__all__ = ["learning", "restricted", "unrestricted"]


def learning(program: dspy.Module, *, only: Sequence[str] = (), freeze: Sequence[str] = ()) -> list[str]:
    """The names of the predictors that are to learn.

    Args:
        program: The program.
        only: Names of predictors, or of modules for all the predictors in them; empty for all of the program's.
        freeze: Names, in the same form, of those that are to stay as they are.

    Raises:
        UsageError: no predictor has one of the names, or no predictor is left to learn.
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
    """A copy of the program that shows DSPy only these predictors, so that the others stay as they are.

    Its class is a subclass that differs in nothing else and looks like the program's own class, because optimizers show
    the source of the class to the LM. `unrestricted` gives the program its own class back.
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


def unrestricted(program: dspy.Module) -> dspy.Module:
    """The program that `restricted` made, or an optimizer made of it, with all its predictors shown again."""
    program.__class__ = type(program).__mro__[1]
    return program


def _within(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith((f"{wanted}.", f"{wanted}["))
