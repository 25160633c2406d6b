"""Passages without end that look like given ones, and questions over them.

Each passage has about 100 words: 55 % of them are drawn from one passage of the source, which the title names too, 25 %
from a second one, 17 % from all, and 3 % are drawn from ten million made-up names by Zipf's law, so that the vocabulary
goes on growing with the corpus. The same arguments give the same passages.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from retrieval.passage import Passage

__all__ = ["long_queries", "passages", "short_queries"]

_AT_ONCE = 10_000
_NAMES = 10_000_000


def passages(source: Sequence[dict[str, Any]], size: int) -> Iterator[Passage]:
    """That many passages, resampled from the passages of the source."""
    texts = [row["text"].split() for row in source]
    ends = np.cumsum([len(words) for words in texts])
    words = np.array(list(chain.from_iterable(texts)), object)
    begins = ends - [len(words) for words in texts]
    names = 1 / (np.arange(_NAMES) + 10.0)
    np.cumsum(names, out=names)
    pick = np.random.default_rng(0)
    for start in range(0, size, _AT_ONCE):
        count = min(_AT_ONCE, size - start)
        first, second = pick.integers(len(texts), size=(2, count))
        lengths = np.clip(pick.normal(100, 8, count), 40, 140).astype(int)
        owner, kind = np.repeat(np.arange(count), lengths), pick.random(lengths.sum())
        topic = np.where(kind < 0.55, first[owner], second[owner])
        place = begins[topic] + (pick.random(len(owner)) * (ends - begins)[topic]).astype(int)
        anywhere = kind >= 0.8
        place[anywhere] = pick.integers(len(words), size=anywhere.sum())
        drawn = words[place]
        named = np.flatnonzero(kind >= 0.97)
        drawn[named] = [_name(n) for n in np.searchsorted(names, pick.random(len(named)) * names[-1]).tolist()]
        all_words, end = drawn.tolist(), 0
        for n, length in enumerate(lengths.tolist()):
            begin, end = end, end + length
            yield Passage(str(start + n), " ".join(all_words[begin:end]), source[first[n]]["title"])


def short_queries(questions: Sequence[dict[str, Any]], count: int) -> list[str]:
    """That many of the questions, those of 4 to 14 words."""
    asked = [row["question"] for row in questions if 4 <= len(row["question"].split()) <= 14]
    random.Random(0).shuffle(asked)
    return (asked * (count // len(asked) + 1))[:count]


def long_queries(source: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]], count: int) -> list[str]:
    """That many of the questions, each with what an LM might have written on it: 85 words of a passage that answers it.

    That is a passage with a gold id, or a title that the question has, or else any.
    """
    by_id, by_title = {row["id"]: row for row in source}, {row["title"].lower(): row for row in source}
    pick, written = random.Random(0), []
    for question in short_queries(questions, count):
        row = next(row for row in questions if row["question"] == question)
        gold = [by_id.get(id) for id in row.get("gold_passages") or []]
        gold += [by_title.get(title.lower()) for title in row.get("gold_titles") or []]
        passage = next(filter(None, gold), None) or pick.choice(source)
        written.append(f"{question} {' '.join(passage['text'].split()[:85])}")
    return written


_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]


def _name(n: int) -> str:
    name = _SYLLABLES[n % 75]
    while n := n // 75:
        name += _SYLLABLES[n % 75]
    return f"{name}nt"
