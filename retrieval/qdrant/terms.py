"""BM25 as sparse vectors: a passage's weights are the scores of its tokens, a query's how often it has them.

So their inner product is the BM25 score, with bm25s's formula and this project's analyser, and differs from that of
`retrieval.bm25` by the rounding of a sum alone, the last bit of a 32-bit number. How rare a token is and how long a
passage is on average are counted once, over all passages, before the first weight is known.

A token's number is a hash of 32 bits. Tokens of the corpus that would share one get another; a word of a query that is
in no passage may share one, for a vocabulary of a million once in 4,000 such words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

import numpy as np

from retrieval.bm25 import Analyser
from retrieval.bm25.build import rarity, saturation
from retrieval.passage import Passage
from retrieval.qdrant.connection import models

__all__ = ["Statistics", "Tokens", "number_of", "tokens_of_probe"]

# Words that stemmers treat differently, and one that is a stop word.
_PROBE = "The generously organised universities were relating their happiness, skies and running agencies' news"


class Tokens:
    """Turns the passages of a corpus into tokens; remembers the token of each different word. For one thread."""

    def __init__(self, analyser: Analyser) -> None:
        self._words, self._stem = analyser.make_words(), analyser.make_stem()
        self._tokens: dict[str, str | None] = dict.fromkeys(analyser.stop_words)

    def __call__(self, passage: Passage) -> list[str]:
        known, found = self._tokens, []
        for word in self._words(f"{passage.title} {passage.text}"):
            if word not in known:
                known[word] = self._stem(word)
            if (token := known[word]) is not None:
                found.append(token)
        return found


@dataclass
class Statistics:
    """What BM25 knows of a whole corpus.

    Attributes:
        passages: How many there are.
        tokens: How many all of them have together.
        frequencies: In how many passages each token is.
    """

    passages: int = 0
    tokens: int = 0
    frequencies: Counter[str] = field(default_factory=Counter)

    def add(self, tokens: Sequence[str]) -> None:
        """Count one more passage."""
        self.passages += 1
        self.tokens += len(tokens)
        self.frequencies.update(set(tokens))

    def moved(self) -> dict[str, int]:
        """The numbers of the tokens that cannot have their own because another token has it."""
        taken: set[int] = set()
        moved = {}
        for token in sorted(self.frequencies):
            number, tries = number_of(token), 0
            while number in taken:
                tries += 1
                number = moved[token] = number_of(f"{token}\0{tries}")
            taken.add(number)
        return moved

    def parts(self, size: int) -> Iterator[dict[str, int]]:
        """The frequencies, in pieces of at most that many tokens."""
        entries = iter(self.frequencies.items())
        while part := dict(islice(entries, size)):
            yield part

    def vectors(
        self, passages: Iterable[Sequence[str]], k1: float, b: float, moved: dict[str, int]
    ) -> list[models.SparseVector]:
        """The weights of passages, from their tokens. A token that no counted passage has is taken to be in one."""
        counts = [Counter(tokens) for tokens in passages]
        sizes = [len(count) for count in counts]
        lengths = np.repeat(np.array([count.total() for count in counts], np.int64), sizes)
        times = np.array([times for count in counts for times in count.values()], np.float32)
        tokens = [token for count in counts for token in count]
        frequencies = np.array([self.frequencies.get(token, 1) for token in tokens], np.int64)
        tf = saturation(times, lengths, np.float64(self.tokens / self.passages), k1, b)
        weights = iter((rarity(frequencies, self.passages) * tf).astype(np.float32).tolist())
        numbers = iter([moved.get(token, number_of(token)) for token in tokens])
        return [
            models.SparseVector(indices=list(islice(numbers, size)), values=list(islice(weights, size)))
            for size in sizes
        ]


def number_of(token: str) -> int:
    """The number of a token among those of sparse vectors, from 0 to 2**32 - 1."""
    return int.from_bytes(blake2b(token.encode(), digest_size=4).digest())


def tokens_of_probe(analyser: Analyser) -> list[str]:
    """The tokens of a fixed text. They tell whether the analyser is the same as before."""
    return analyser(_PROBE)
