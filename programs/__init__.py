"""The methods: one file each, every one a dspy.Module that takes a question and any retriever.

    from programs.blendfilter import BlendFilter
    BlendFilter(retriever)(question="…").answer

`names` lists them, and `load` finds one by its name.
"""

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt ends the process at once

# isort: split
import importlib
import pkgutil

import dspy

from odqa.errors import UsageError, there_are

__all__ = ["USUAL", "load", "names", "usual_first"]

USUAL = "blendfilter"
"""The method that is taken where none is named."""


def names() -> list[str]:
    """Names of the methods, which are the names of their modules, in alphabetical order."""
    return sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg and not module.name.startswith("_")
    )


def usual_first() -> list[str]:
    """`names`, in the order in which somebody who names none sees them: the usual one and the plainest first."""
    return list(dict.fromkeys([USUAL, "direct", *names()]))


def load(name: str) -> type[dspy.Module]:
    """The class of the method with this name.

    Raises:
        UsageError: there is no such method, or its module exports something else than one class.
    """
    if name not in names():
        raise UsageError(f"there is no program {name!r}; {there_are(name, names())}")
    module = importlib.import_module(f"programs.{name}")
    exported = getattr(module, "__all__", [])
    if len(exported) != 1:
        raise UsageError(f"programs/{name}.py is no method: its __all__ must name the method's class, and nothing else")
    return getattr(module, exported[0])  # type: ignore[no-any-return]
