"""Passages of few words, for indexes over tiny random models."""

from retrieval import Passage

__all__ = ["PASSAGES", "WORDS", "scores"]

WORDS = "a cat dog sat on mat in rome who where built was tower eiffel paris".split()  # noqa: SIM905
PASSAGES = [
    Passage(f"id{n}", " ".join(WORDS[(n * step) % len(WORDS)] for step in range(1, 2 + n % 7)), ["", "Paris"][n % 2])
    for n in range(50)
]


def scores(found: list[Passage]) -> dict[str, float | None]:
    """The score of each passage, by id."""
    return {passage.id: passage.score for passage in found}
