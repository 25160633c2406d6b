"""What an LM reads of what a search found: thresholds of MIGRES's knowledge filter, and compression by an LM.

Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation", 2024; sections 3.2 and 4.4, Table 11.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.logprobs import bare
from programs.steps.side_by_side import side_by_side
from programs.steps.text import line
from retrieval import Passage, UsageError, number

__all__ = ["THRESHOLDS", "Candidate", "shortened", "threshold_for"]

# For the logits of a cross-encoder delta in Table 11. For lexical what the rule of appendix B gives: the highest, in
# steps of 0.5, with which 80 % of the questions find a passage (2WikiMultiHopQA, HotpotQA and MuSiQue; NQ; StrategyQA).
THRESHOLDS = {
    "cross-encoder": {"multihop": 3.0, "odqa": 5.0, "commonsense": 0.0},
    "lexical": {"multihop": 0.0, "odqa": 2.0, "commonsense": -1.5},
}
"""Least scores by kind of reranker and kind of questions."""


class Candidate(NamedTuple):
    """A passage for an LM to read, and the query that it fits best."""

    passage: Passage
    query: str


def threshold_for(reranker: str, preset: str) -> float:
    """The least score of a passage with this reranker, on this kind of questions.

    Raises:
        UsageError: none is known.
    """
    kind = reranker.partition(":")[0]
    if kind not in THRESHOLDS:
        raise UsageError(f"no threshold is known for the reranker {kind}: give one, on the scale of its scores")
    return THRESHOLDS[kind][preset]


def shortened(compress: dspy.Module, candidates: Sequence[Candidate], k: int) -> tuple[list[Candidate], int]:
    """The k best candidates that the LM finds relevant, made shorter by it; and how many it looked at for them.

    Args:
        compress: Predictor with a signature of `signatures.extract`. It is asked k candidates side by side, then as
            many as are wanting.
        candidates: Best first.
        k: How many to keep. A candidate whose reply could not be parsed is kept whole.
    """
    kept: list[Candidate] = []
    at = 0
    while len(kept) < k and at < len(candidates):
        batch = candidates[at : at + k - len(kept)]
        at += len(batch)
        kept += filter(None, side_by_side(*(partial(_shortened, compress, candidate) for candidate in batch)))
    return kept, at


def _shortened(compress: dspy.Module, candidate: Candidate) -> Candidate | None:
    """The passage made shorter; None where it is irrelevant, the whole where the reply could not be parsed."""
    passage, query = candidate
    (text,) = ask(compress, passage=number([passage]), question=query).values()
    if text is None:
        return candidate
    if not line(text) or bare(text).startswith("irrelevant"):
        return None
    return Candidate(replace(passage, text=line(text)), query)
