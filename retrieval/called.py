"""How this process was called: by the console script `odqa`, or by the name of a module."""

import re
import sys
from pathlib import Path

__all__ = ["as_called", "by_odqa"]

_NAMES = {
    "programs serve": "odqa serve",
    "programs.": "odqa ask ",
    "programs": "odqa ask",
    "eval": "odqa eval",
    "optimizers": "odqa optimize",
    "retrieval serve": "odqa serve-passages",
    "retrieval": "odqa",
}
_MODULE = re.compile(r"python\s+-m\s+(" + "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in _NAMES) + ")")
"""With any white space, since --help breaks its lines there too."""


def by_odqa() -> bool:
    """Whether it was called by `odqa`."""
    return Path(sys.argv[0]).stem == "odqa"


def as_called(text: str) -> str:
    """The text, where the commands that it names as `python -m …` have the names of `odqa` if that was called."""
    return _MODULE.sub(lambda found: _NAMES[" ".join(found[1].split())], text) if by_odqa() else text
