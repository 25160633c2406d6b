"""Whether a text states a gold answer, in the normalisation of SQuAD."""

from collections.abc import Sequence

from dspy import Example

from eval.metrics.squad import golds_of, normalise
from eval.metrics.yesno import is_yes_no

__all__ = ["statable", "states"]


def statable(example: Example) -> list[str]:
    """The gold answers that a text can state; empty for a question that is answered by yes or no."""
    return [] if is_yes_no(example) else golds_of(example)


def states(text: str, golds: Sequence[str]) -> bool:
    """Whether the text contains the words of a gold answer, one after the other."""
    words = f" {normalise(text)} "
    return any(f" {normalise(gold)} " in words for gold in golds if normalise(gold))
