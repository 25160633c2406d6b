"""Texts on the page in which nothing is hidden."""

import re
from typing import Any

from markupsafe import Markup

__all__ = ["visible"]

# Control characters, those that turn the direction of what follows, and lone surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(value: Any) -> Any:
    r"""The value, a text or what JSON can hold, with every character that is not seen, or that changes how others are
    seen, written out as \u202e is."""
    match value:
        case Markup():
            return value
        case str():
            return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
        case dict():
            return {visible(key): visible(item) for key, item in value.items()}
        case list() | tuple():
            return [visible(item) for item in value]
    return value
