"""Lists as LMs write them."""

import re
from collections.abc import Iterable

from programs.steps.text import line

__all__ = ["items"]

_NUMBERING = re.compile(r"(?:\s*(?:[-*•–]|\(?\d{1,2}[.):])(?=\s))+")


def items(values: Iterable[str] | None, at_most: int | None = None) -> list[str]:
    """The items of a list without numbering and bullets, without blanks and repetitions, each as one line, in order.

    Args:
        values: What the LM wrote; None for a reply that could not be parsed.
        at_most: How many to keep, the first ones; by default all.
    """
    kept: dict[str, str] = {}
    for value in values or []:
        numbering = _NUMBERING.match(value)
        item = line(value[numbering.end() :] if numbering else value)
        if item:
            kept.setdefault(item.casefold(), item)
    return list(kept.values())[:at_most]
