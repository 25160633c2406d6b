"""MIGRES's knowledge filter: its thresholds, and passages that an LM shortens towards a query.

Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation", 2024; sections 3.2 and 4.4, Table 11.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.side_by_side import side_by_side
from programs.steps.text import one_line
from retrieval import Passage, UsageError, number

__all__ = ["THRESHOLDS", "Match", "shorten", "threshold_for"]

# cross-encoder: delta of Table 11, on the scale of logits. lexical: by the rule of appendix B, the highest value, in
# steps of 0.5, with which 80 % of the questions find a passage (2WikiMultiHopQA, HotpotQA and MuSiQue; NQ; StrategyQA).
THRESHOLDS = {
    "cross-encoder": {"multihop": 3.0, "odqa": 5.0, "commonsense": 0.0},
    "lexical": {"multihop": 0.0, "odqa": 2.0, "commonsense": -1.5},
}
"""Least score of a relevant passage, by kind of reranker and kind of questions."""


# "Irrelevant.", "The passage is not relevant to the question." Further on the word is about a part of the passage, and
# so it is where a turn follows: "The first half is irrelevant, but he died in Berlin."
_IRRELEVANT = re.compile(
    r"\W*(?:\w+\W+){0,5}?(?:irrelevant|not relevant)\b(?!.*\b(?:but|however|although|though|yet)\b)",
    re.IGNORECASE | re.DOTALL,
)


class Match(NamedTuple):
    """A passage, and the query that it fits best."""

    passage: Passage
    query: str


def threshold_for(reranker: str, preset: str) -> float:
    """The least score of a relevant passage with this reranker, on this kind of questions.

    Args:
        reranker: Spec of the scorer, such as lexical or cross-encoder:MODEL.
        preset: "multihop", "odqa" or "commonsense".

    Raises:
        UsageError: no threshold is known for the reranker.
    """
    kind = reranker.partition(":")[0]
    if kind not in THRESHOLDS:
        raise UsageError(
            f"no threshold is known for the reranker {kind}: give the setting threshold, on the scale of its scores"
        )
    return THRESHOLDS[kind][preset]


def shorten(compress: dspy.Module, matches: Sequence[Match], k: int) -> tuple[list[Match], int]:
    """The k best matches that the LM finds relevant, with texts that it shortened; and how many matches it looked at.

    The LM looks at k matches side by side, then at as many as are still missing.

    Args:
        compress: Predictor with a signature of `signatures.extract`.
        matches: Best first.
        k: How many to keep. Where a reply cannot be parsed, the match is kept with its whole text.
    """
    kept: list[Match] = []
    at = 0
    while len(kept) < k and at < len(matches):
        batch = matches[at : at + k - len(kept)]
        at += len(batch)
        kept += filter(None, side_by_side(*(partial(_shorten_one, compress, match) for match in batch)))
    return kept, at


def _shorten_one(compress: dspy.Module, match: Match) -> Match | None:
    """The match with a shorter text; None where the LM finds it irrelevant, whole where its reply cannot be parsed."""
    passage, query = match
    (text,) = ask(compress, passage=number([passage]), question=query).values()
    if text is None:
        return match
    if not one_line(text) or _IRRELEVANT.match(text):
        return None
    return Match(replace(passage, text=one_line(text)), query)
