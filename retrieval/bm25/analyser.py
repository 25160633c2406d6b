"""How BM25 turns text into tokens."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import Stemmer
from bm25s.stopwords import STOPWORDS_EN

from odqa.errors import UsageError

__all__ = ["Analyser"]


@dataclass(frozen=True)
class Analyser:
    """Turns text into the tokens that are indexed and searched; stored with the index, so that both sides agree.

    Attributes:
        stemmer: Name of a Snowball stemmer, or None.
        stop_words: Lower-cased words that are left out, before stemming.
        pattern: Regular expression; its matches in the lower-cased text are the words.
    """

    stemmer: str | None
    stop_words: tuple[str, ...]
    pattern: str = r"\b\w\w+\b"

    @classmethod
    def from_settings(cls, stemmer: str | None, stop_words: str | Iterable[str] | None) -> "Analyser":
        """The analyser with these settings, as `retrieval.bm25.BM25.build` takes them.

        Raises:
            UsageError: the stemmer or the name of the stop words is unknown.
        """
        if stemmer is not None and stemmer not in Stemmer.algorithms():
            raise UsageError(f"unknown stemmer {stemmer!r}: use None or one of {', '.join(Stemmer.algorithms())}")
        if isinstance(stop_words, str) and stop_words != "english":
            raise UsageError(f"unknown stop words {stop_words!r}: use 'english', None or a list of words")
        words = STOPWORDS_EN if isinstance(stop_words, str) else stop_words or ()
        return cls(stemmer, tuple(sorted({word.lower() for word in words})))

    def __call__(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        stem = self.make_stem()
        return [stem(word) for word in self.kept_words(text)]

    def kept_words(self, text: str) -> list[str]:
        """The words of `text` that have tokens, in order."""
        return [word for word in self.make_words()(text) if word not in self._left_out]

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    def make_words(self) -> Callable[[str], list[str]]:
        """A function from a text to all its words, stop words included."""
        find = re.compile(self.pattern).findall
        return lambda text: find(text.lower())

    def make_stem(self) -> Callable[[str], str]:
        """A function from a word to its token, for one thread: stemmers keep state."""
        return Stemmer.Stemmer(self.stemmer, 0).stemWord if self.stemmer else str
