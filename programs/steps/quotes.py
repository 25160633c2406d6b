"""Finds the sentences of a document that an LM quotes, however it writes them down."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from retrieval.ranking.sentences import split_sentences

__all__ = ["find_quoted"]

_WORD = re.compile(r"</?[a-z]\w*[^<>]{0,40}>|([^\W_]+)", re.IGNORECASE)  # a tag is no word
_ELLIPSIS = re.compile(r"\[?(?:\.\s?){2,}\]?")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
# "Evidence 1: …", "Sentence 2 - …": a few words in front of a quote, up to a colon or a dash.
_LABEL = re.compile(r"\A\W*(?:\w+[^\w:]+){0,3}\w+[^\w:]*?(?::|\s[–—-]+)\s+")
_FEWEST = 2  # words of a quote; a single word is in many sentences


def find_quoted(quotes: str | None, text: str, title: str = "") -> list[str]:
    """The sentences of the text that the quotes are taken from, in the order and in the words of the text.

    Only words are compared, whatever their case. So dashes, quotation marks, markup and white space may differ, words
    may be left out at an ellipsis, and a number, the title or a label ("Evidence 1:") may stand in front. What the text
    does not say is left out, because LMs quote such things too.

    Args:
        quotes: What the LM wrote, one quote or several; None for a reply that could not be parsed.
        text: The document, without its title.
        title: Its title.
    """
    sentences = split_sentences(text)
    words = [_words(sentence) for sentence in sentences]
    has = _joined(word for part in words for word in part)
    found: set[int] = set()
    for line in (quotes or "").splitlines():
        for quote in split_sentences(line):
            places = _places(quote, has, title) or _places(_LABEL.sub("", quote), has, title)
            found.update(places or (place for inner in _QUOTED.findall(quote) for place in _places(inner, has, title)))
    owners = [sentence for sentence, part in zip(sentences, words, strict=True) for _ in part]
    return list(dict.fromkeys(owners[place] for place in sorted(found)))


def _places(quote: str, has: str, title: str) -> set[int]:
    """Which words of the text the quote consists of; none where a part of it is not in the text."""
    parts = list(filter(None, map(_words, _ELLIPSIS.split(unicodedata.normalize("NFKC", quote)))))
    if sum(map(len, parts)) < _FEWEST:
        return set()
    places: set[int] = set()
    at = 0
    for part in parts:
        starts = ((has.find(_joined(cut), at), cut) for cut in _without_lead(part, _words(title)))
        start, cut = next((found for found in starts if found[0] >= 0), (-1, []))
        if start < 0:
            return set()
        first = has.count(" ", 0, start)
        places.update(range(first, first + len(cut)))
        at = start + len(_joined(cut)) - 1
    return places


def _without_lead(words: Sequence[str], title: Sequence[str]) -> Iterator[Sequence[str]]:
    """The words as they are; then without a number in front, without the title, and without both."""
    for cut in (words, words[1:] if words[0].isdigit() else []):
        for rest in (cut, cut[len(title) :] if title and cut[: len(title)] == title else []):
            if rest:
                yield rest


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", text)) if word]


def _joined(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "
