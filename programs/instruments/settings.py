"""The settings of a method, or of another callable such as a recipe, as its signature and docstring declare them."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import dspy

from programs.instruments.state import load_state
from retrieval import AnyRetriever, UsageError

__all__ = ["Setting", "check_names", "make", "needs_retriever", "settings_of"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A keyword-only argument."""

    name: str
    type: type
    """int, float, str or bool."""
    choices: tuple[Any, ...] | None
    """The only values that it may have; None where its type alone decides."""
    default: Any
    help: str
    """What the Args section of the docstring says of it, without the full stop."""

    def with_default(self, default: Any) -> "Setting":
        """The setting with another default."""
        return replace(self, default=default)


def settings_of(made_with: Callable[..., Any]) -> list[Setting]:
    """The settings of a class or of another callable, in the order of its signature."""
    function = made_with.__init__ if isinstance(made_with, type) else made_with  # type: ignore[misc]
    hints, helps = typing.get_type_hints(function), _helps(made_with)
    settings = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint, choices = hints[name], None
        if typing.get_origin(hint) in (types.UnionType, typing.Union):  # X | None
            (hint,) = (kind for kind in typing.get_args(hint) if kind is not type(None))
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
            hint = type(choices[0])
        settings.append(Setting(name, hint, choices, parameter.default, helps[name]))
    return settings


def check_names(program: str, given: Iterable[str], settings: Iterable[Setting]) -> None:
    """Check that the program has the settings that are given.

    Raises:
        UsageError: it lacks one.
    """
    known = [setting.name for setting in settings]
    if unknown := [name for name in given if name not in known]:
        raise UsageError(f"{program} has no setting {unknown[0]!r}; it has: {', '.join(known)}")


def needs_retriever(program: type[Any]) -> bool:
    """Whether a method cannot do without a retriever."""
    return type(None) not in typing.get_args(typing.get_type_hints(program.__init__)["retriever"])


def make(
    program: type[dspy.Module], retriever: AnyRetriever | None, settings: Mapping[str, Any], state: str | None = None
) -> dspy.Module:
    """Make the program with these settings and the state in this file.

    Raises:
        UsageError: it needs a retriever and there is none, or a setting or the state file does not fit it.
    """
    if retriever is None and needs_retriever(program):
        raise UsageError(f"{program.__name__} needs a retriever: --retriever none is for programs that can do without")
    made = program(retriever, **settings)
    if state:
        load_state(made, state)
    return made


def _helps(made_with: Callable[..., Any]) -> dict[str, str]:
    _, _, section = inspect.getdoc(made_with).partition("\nArgs:\n")  # type: ignore[union-attr]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()).rstrip(".") for name, text in entries}
