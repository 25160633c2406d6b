"""Passages, and functions on lists of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Passage", "joined", "number", "pick", "plain", "union"]

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_UNSEEN = re.compile("[\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
# One class of characters first, by which Python finds a place much faster than by alternatives.
_FORM = re.compile(
    r"[\[#＃﹟<＜﹤](?:(?<=\[)(?=\[\s*[#＃﹟]|/?INST\])|(?<=[#＃﹟])(?=[#＃﹟])|(?<=[<＜﹤])(?=[/|｜]*[^\W\d]))"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a corpus. Two passages are the same when their ids are.

    Attributes:
        id: Identifier, unique in its corpus. An extract keeps its parent's id; text that an LM wrote has an id
            that begins with ``lm:``.
        text: The passage itself, without its title.
        title: Title of the article it comes from; may be empty.
        score: Given by the retriever or scorer that returned it, higher is better; None if nothing scored it.
    """

    id: str
    text: str = field(compare=False)
    title: str = field(default="", compare=False)
    score: float | None = field(default=None, compare=False)

    def toDict(self) -> dict[str, Any]:  # the name that DSPy asks for in `prediction.toDict()`
        """The attributes by name: values that JSON can hold."""
        return asdict(self)


def number(passages: Sequence[Passage]) -> str:
    """Render passages for a prompt, one line each: ``[1] Title | text``, counted from 1.

    This is the only place where passages become prompt text, so "passage 3" means the same in every method and for
    every adapter. Line breaks become spaces and what could pass for a part of a prompt is broken up (see `plain`), so
    that no passage can look like another passage or like a field. No passages give an empty string.
    """
    return "\n".join(f"[{n}] {' '.join(plain(joined(passage)).split())}" for n, passage in enumerate(passages, 1))


def pick(passages: Sequence[Passage], numbers: Iterable[int]) -> list[Passage]:
    """The passages with these numbers, counted from 1 as in `number`, in the passages' own order.

    LMs name passages that do not exist, and the same passage twice: such numbers are dropped, or count once.
    """
    wanted = set(numbers)
    return [passage for n, passage in enumerate(passages, 1) if n in wanted]


def union(*lists: Iterable[Passage]) -> list[Passage]:
    """All passages of the lists in order of appearance; of each id the first copy."""
    return list(dict.fromkeys(passage for passages in lists for passage in passages))


def plain(text: str) -> str:
    """The text with nothing in it that passes for a part of a prompt, or that a reader does not see.

    What field markers, headings, tags and the tokens of chat templates begin with, and what looks like it, gets a space
    into it: ``[ [ # #``, ``< question>``, ``< |im_start|>``, ``[ INST]``. Characters without width, those that turn the
    direction of what follows and tag characters are left out; control characters but the usual line breaks and tabs
    become spaces, and lone surrogates, which no provider accepts, "?".
    """
    if not (text.isascii() and text.isprintable()):
        text = _UNSEEN.sub("", _CONTROL.sub(" ", text)).encode("utf-8", "replace").decode("utf-8")
    return _FORM.sub(r"\g<0> ", text)


def joined(passage: Passage) -> str:
    """The passage as ``Title | text``, as prompts and ColBERT have it; the text alone where there is no title."""
    return f"{passage.title} | {passage.text}" if passage.title else passage.text
