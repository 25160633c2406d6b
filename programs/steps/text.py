"""What an LM wrote, made fit to be searched with, compared, and shown to an LM again."""

import re
from collections.abc import Iterable

from retrieval.passage import plain
from signatures.replies import is_refusal, says_nothing

__all__ = [
    "as_text",
    "blend",
    "clean_list",
    "line_or_nothing",
    "one_line",
    "passage_or_nothing",
    "simplify",
    "unless_declined",
]

# Longer than any passage or plan that was asked for, and short enough for every search server.
_LONGEST = 4000  # characters


def as_text(value: str | bool | None) -> str:
    """The value of an output field as text, stripped and `retrieval.passage.plain`.

    A bool, as programs from elsewhere give it, becomes yes or no. None, from a reply that could not be parsed, becomes
    the empty text.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(value or "").strip()


def one_line(text: str | None) -> str:
    """The text as one line of a prompt or query; empty for None, which comes from a reply that could not be parsed.

    White space is folded and the text made `retrieval.passage.plain`, as `retrieval.number` does. Text beyond 4,000
    characters is cut off.
    """
    return " ".join(plain(text or "").split())[:_LONGEST]


def clean_list(values: Iterable[str] | None, at_most: int | None = None) -> list[str]:
    """The items of a list that an LM wrote, each as one line, in order; blank and repeated items are left out.

    Args:
        values: The items; None for a reply that could not be parsed.
        at_most: How many items to keep, from the first on; all by default.
    """
    kept: dict[str, str] = {}
    for value in values or []:
        if item := one_line(value):
            kept.setdefault(item.casefold(), item)
    return list(kept.values())[:at_most]


def line_or_nothing(text: str | None) -> str:
    """The text as `one_line` gives it; empty where the LM wrote "None", "N/A" or the like."""
    return "" if says_nothing(text or "") else one_line(text)


def unless_declined(text: str) -> str:
    """The text; empty where all of it is a refusal, in whatever words (see `signatures.replies.is_refusal`)."""
    return "" if is_refusal(text) else text


def blend(*parts: str) -> str:
    """One query from the parts that are not blank, in this order. The papers write || or a circled plus for this."""
    return " ".join(part.strip() for part in parts if part.strip())


def simplify(text: str) -> str:
    """The text for comparison: in lower case, without the white space, quotes and full stops around it."""
    return text.strip(" \t\r\n\"'“”‘’`.").casefold()


def passage_or_nothing(text: str | None) -> str:
    """The passage or plan that an LM wrote, as one line; empty where the LM declined to write one.

    An LM declines with [NONE], alone or inside other text, with the bare word, with no text at all, or with a refusal
    in plain words and nothing else. LMs like to end with [DONE]: it is cut off, with everything behind it.
    """
    passage = re.split(r"\[done\]", one_line(text), maxsplit=1, flags=re.IGNORECASE)[0].strip()
    declined = "[none]" in passage.lower() or says_nothing(passage) or is_refusal(passage)
    return "" if declined else passage
