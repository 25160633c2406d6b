"""What an LM wrote, made fit to be searched with and to be shown to it again."""

import re

from retrieval.passage import plain

__all__ = ["blend", "line", "passage_or_nothing"]

# Longer than any passage or plan that was asked for, and short enough for every search server.
_LONGEST = 4000  # characters

# A refusal begins in one of these ways and soon says what cannot be done. Lower-case verbs tell it from titles such as
# "I Don't Know How She Does It".
_OPENING = re.compile(r"(?:I|Sorry|My apologies|Apologies|Unfortunately|Regrettably|As an?)\b")
_REFUSAL = re.compile(
    r"\bI(?: am|'m| was) (?:unable|not (?:able|aware|certain|familiar|sure))\b"
    r"|\bI (?:have no|lack)\b"
    r"|\bI (?:can ?not|can't|could not|couldn't|do not|don't) (?:\w+ ){0,2}?"
    r"(?:access|answer|confirm|determine|find|give|have|identify|know|offer|provide|recall|say|verify|write)\b"
)


def line(text: str | None) -> str:
    """The text as one line of a prompt or query; empty for None, a reply that could not be parsed.

    White space is folded and the text made `retrieval.passage.plain`, as `retrieval.number` does; what goes beyond
    4,000 characters is cut off.
    """
    return plain(" ".join((text or "").split()))[:_LONGEST]


def blend(*parts: str) -> str:
    """The parts that are not blank as one query, in this order: what the papers write as || or a circled plus."""
    return " ".join(part.strip() for part in parts if part.strip())


def passage_or_nothing(text: str | None) -> str:
    """The passage that an LM wrote, as one line; empty where it declined to write one.

    It declines by writing [NONE], alone or with more around it, the bare word, nothing at all, or a refusal in plain
    words. [DONE], with which LMs like to end, is cut off with what follows it.
    """
    passage = re.split(r"\[done\]", line(text), maxsplit=1, flags=re.IGNORECASE)[0].strip()
    plain = passage.replace("’", "'")
    declined = (
        "[none]" in plain.lower()
        or re.fullmatch(r"\W*none\W*", plain, re.IGNORECASE)
        or (_OPENING.match(plain) and _REFUSAL.search(plain[:200]))
    )
    return "" if declined else passage
