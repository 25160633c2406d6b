"""A scorer for tests."""

from collections.abc import Mapping, Sequence

from retrieval.ranking.scorers import Scorer

__all__ = ["ScoreTable"]


class ScoreTable(Scorer):
    """Scores texts by a table; `asked` has the texts of each call."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.asked: list[list[str]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append(list(texts))
        return [self.scores[text] for text in texts]
