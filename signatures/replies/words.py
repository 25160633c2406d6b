"""The words of the grammar by which replies are read, from `words.toml` beside this file.

Where not said otherwise they are alternatives of a regular expression of lower-case text.
"""

import tomllib
from pathlib import Path

__all__ = [
    "ALL",
    "BAD",
    "CLASSES",
    "DENYING",
    "EXCEPT",
    "FALSE",
    "GOOD",
    "LABEL",
    "NAMES",
    "NOTHING",
    "NUMBERS",
    "ORDINALS",
    "TRUE",
    "UNSAID",
    "whole",
]

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

TRUE, FALSE, NOTHING, UNSAID = ("|".join(column) for column in zip(*_WORDS["languages"].values(), strict=True))
GOOD, BAD, EXCEPT, ALL, NAMES = (_WORDS["passages"][name] for name in ("good", "bad", "except", "all", "names"))
NUMBERS: list[str] = _WORDS["passages"]["numbers"].split()
ORDINALS: list[str] = _WORDS["passages"]["ordinals"].split()
DENYING: frozenset[str] = frozenset(_WORDS["verdicts"]["denying"].split())
LABEL: str = _WORDS["answers"]["label"]
"""What stands in front of an answer."""
CLASSES: dict[str, str] = {
    word: letter if len(letter) == 1 else "" for letter, words in _WORDS["refusals"].items() for word in words.split()
}
"""The letter of each word of refusals."""


def whole(words: str) -> str:
    """The words, not as part of longer ones."""
    return rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])"
