"""Texts on the page in which nothing is hidden."""

from typing import Any

from markupsafe import Markup

from odqa.printable import printable

__all__ = ["visible"]


def visible(value: Any) -> Any:
    r"""The value, a text or what JSON can hold, with every character that is not seen, or that changes how others are
    seen, written out as \u202e is."""
    match value:
        case Markup():
            return value
        case str():
            return printable(value)
        case dict():
            return {visible(key): visible(item) for key, item in value.items()}
        case list() | tuple():
            return [visible(item) for item in value]
    return value
