"""The reference shows two sections of our docstrings, of which Griffe knows nothing, as lists."""

import re
from typing import Any

import griffe

_SECTION = re.compile(r"(?<=^Per question:\n)(?: {4}.*\n?)+|(?<=^In the result:\n)(?: {4}.*\n?)+", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(?=\S)", re.MULTILINE)


class Sections(griffe.Extension):
    """Puts a dash before each entry."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring, before it is read."""
        if obj.docstring:
            obj.docstring.value = _SECTION.sub(lambda section: _ENTRY.sub("    - ", section[0]), obj.docstring.value)
