"""Splitting English text into sentences by rules: no model, nothing to download."""

import re
from collections.abc import Iterator

__all__ = ["split_sentences"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never end a sentence: a name or an example follows.
_NEVER = _words("""
    adm approx brig bros ca capt cf cmdr col comdr cpl dr ed eds fr ft gen gov hon lt maj messrs mlle mme mr mrs ms mt
    mtn pfc pres prof pvt rep reps rev rt sen sens sgt st ste supt viz vs e.g i.e
""")
# Do not end a sentence when a number follows.
_BEFORE_NUMBER = _words("""
    apr art aug bap bk ch chap dec est feb fig figs fl jan jul jun lit mar no nos nov oct op pop pp sec sep sept ser
    stat ver vol vols
""")
# End a sentence only before a word that often begins one; so do single letters (J.) and acronyms (U.S.).
_SELDOM = _words("al assn ave blvd co corp dept dist etc inc jr ltd mfg rd sq sr univ")
_STARTERS = _words("""
    a according after all also although among an and another as at because before both but by despite during each even
    every following for from furthermore he her here his how however i if in initially instead it its later like many
    most moreover near no not of on once one only other our over several she since so some such that the their then
    there these they this those though three through thus to today two under until upon we what when where which while
    who why with you
""")

_FAR = 40  # characters before a mark that matter: a word
_OPENING = "\"'“‘«(["
_CANDIDATE = re.compile(r"(?<![.!?…])([.!?…]+)[\"'”’»)\]]*\s+")
_WORD_AFTER = re.compile(rf"[{re.escape(_OPENING)}]*(\w*)(\.?)")
_SHORT = re.compile(r"[^\W\d_]|([^\W\d_]{1,4}\.)+[^\W\d_]{1,4}")
_ENUMERATOR = re.compile(r"\d{1,3}|[a-z]|[ivx]+")


def split_sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the white space around them; blank text has none.

    Only white space between sentences is lost. A sentence ends at a blank line. It also ends at ``.``, ``!``, ``?`` or
    an ellipsis, with closing quotes and brackets, if white space and a possible beginning of a sentence follow. Titles
    (``Dr.``), initials, acronyms (``U.S.``), abbreviations before numbers (``No. 5``) and enumerators (``1.``) do not
    end a sentence by themselves: ``in the U.S. He`` is split, ``the U.S. Army`` is not.
    """
    return [sentence for paragraph in re.split(r"\n\s*\n", text) for sentence in _sentences(paragraph)]


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for candidate in _CANDIDATE.finditer(paragraph):
        after = _WORD_AFTER.match(paragraph, candidate.end())
        before = paragraph[max(start, candidate.start() - _FAR) : candidate.start()]
        if after and _ends(before, candidate[1], *after.groups()):
            yield paragraph[start : candidate.end()].strip()
            start = candidate.end()
    if rest := paragraph[start:].strip():
        yield rest


def _ends(before: str, mark: str, following: str, dot: str) -> bool:
    """Whether a sentence ends at `mark`, between the text `before` and the word `following`, perhaps with a `dot`."""
    if not following or following[0].islower():
        return False
    if mark != ".":
        return True
    words = before.lower().rsplit(maxsplit=1)
    last = re.split("[/-]", words[-1])[-1].lstrip(_OPENING) if words else ""
    if last in _NEVER or (len(words) == 1 and _ENUMERATOR.fullmatch(last)):
        return False
    if last in _SELDOM or _SHORT.fullmatch(last):
        return following.lower() in _STARTERS and not dot
    return not (following[0].isdigit() and last in _BEFORE_NUMBER)
