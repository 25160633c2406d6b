"""How good a retriever is: what it found for questions, compared with the gold.

recall, mrr, ndcg    of the gold titles, and ..._by_id of the gold passages, by ir_measures
answer_recall        whether an answer stands in a passage, by the rule of `eval.metrics.passages.has_answer`

Each is computed at the cut-offs K and named NAME@K. Where several passages have the same title, only the first is
relevant; so recall@K is that of `eval.metrics`. All gold is equally relevant. A question has the measures for which it
has gold. Answers that are yes or no are not looked for.
"""

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import Any

import dspy

from eval.figures.statistics import difference_interval, interval, paired_test
from eval.figures.summary import Score
from eval.metrics.gold import golds_of, is_yes_no
from eval.metrics.passages import has_answer
from retrieval import Passage, UsageError

__all__ = ["Measures", "RetrievalDifference", "RetrievalFigures", "figures_of", "has_gold"]

_GOLD = {"": ("gold_titles", "title"), "_by_id": ("gold_passages", "id")}
_KINDS = ("recall", "recall_by_id", "answer_recall", "mrr", "mrr_by_id", "ndcg", "ndcg_by_id")  # in the tables' order


@dataclass(frozen=True, slots=True)
class RetrievalDifference:
    """How far the means of a measure lie apart between two retrievers, over the same questions."""

    mean: float
    """The first's less the second's."""
    n: int
    low: float
    """Where the 95 % confidence interval begins; see `eval.figures.statistics.difference_interval`."""
    high: float
    """Where it ends."""
    p: float
    """See `eval.figures.statistics.paired_test`."""


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """How good a retriever is, by the names of the measures."""

    questions: int
    """How many were searched; a measure's n is how many have gold for it."""
    scores: dict[str, Score]
    against: dict[str, Score] | None
    """Of the second retriever, if there is one."""
    differences: dict[str, RetrievalDifference] | None


class Measures:
    """Scores what was found for questions.

    Args:
        ks: The cut-offs, each at least 1.

    Raises:
        UsageError: a cut-off is below 1, or ir_measures is not installed.
    """

    def __init__(self, ks: Sequence[int]) -> None:
        if not ks or min(ks) < 1:
            raise UsageError("a cut-off is a number of passages and must be at least 1")
        self.ks = sorted(set(ks))
        try:
            self._library: Any = importlib.import_module("ir_measures")
        except ModuleNotFoundError as error:
            raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[eval]'") from error
        kinds = {"recall": self._library.R, "mrr": self._library.RR, "ndcg": self._library.nDCG}
        self._measures = {kind @ k: (name, k) for name, kind in kinds.items() for k in self.ks}

    def __call__(self, examples: Sequence[dspy.Example], found: Sequence[Sequence[Passage]]) -> list[dict[str, float]]:
        """The scores of each question by the measures' names."""
        scores: list[dict[str, float]] = [{} for _ in examples]
        for suffix, (field, key) in _GOLD.items():
            gold = [example.get(field) or [] for example in examples]
            keys = [[getattr(passage, key) for passage in passages] for passages in found]
            for question, name, k, score in self._judged(gold, keys):
                scores[question][f"{name}{suffix}@{k}"] = score
        for question, (example, passages) in enumerate(zip(examples, found, strict=True)):
            if _has_answer_gold(example):
                golds = golds_of(example)
                rank = next((rank for rank, p in enumerate(passages, 1) if has_answer(p.text, golds)), inf)
                scores[question] |= {f"answer_recall@{k}": float(rank <= k) for k in self.ks}
        return scores

    def _judged(
        self, gold: Sequence[Sequence[str]], keys: Sequence[Sequence[str]]
    ) -> Iterator[tuple[int, str, int, float]]:
        """Question, name, cut-off and score, of the questions with gold."""
        relevant, run = {}, {}
        for question, wanted in enumerate(gold):
            if wanted:
                names = {key: f"gold {n}" for n, key in enumerate(wanted)}
                relevant[str(question)] = dict.fromkeys(names.values(), 1)
                # The measures sort by score: ranks stand in for scores, which may tie. A key is gold the first time.
                run[str(question)] = {names.pop(key, f"other {rank}"): -rank for rank, key in enumerate(keys[question])}
        if run:
            for score in self._library.iter_calc(list(self._measures), relevant, run):
                yield int(score.query_id), *self._measures[score.measure], score.value


def has_gold(example: dspy.Example) -> bool:
    """Whether there is anything to compare with what is found for the question."""
    return _has_answer_gold(example) or any(example.get(field) for field, _ in _GOLD.values())


def figures_of(
    scores: Sequence[dict[str, float]], against: Sequence[dict[str, float]] | None = None
) -> RetrievalFigures:
    """The figures of all questions.

    Args:
        scores: Of each question, as `Measures` gives them.
        against: Of the same questions with another retriever, in the same order.
    """
    names = _names(scores)
    return RetrievalFigures(
        questions=len(scores),
        scores=_means(scores),
        against=None if against is None else _means(against),
        differences=None if against is None else {name: _difference(name, scores, against) for name in names},
    )


def _has_answer_gold(example: dspy.Example) -> bool:
    return bool(golds_of(example)) and not is_yes_no(example)


def _names(scores: Sequence[dict[str, float]]) -> list[str]:
    """The measures that some question has, by kind and cut-off."""
    present = {name.partition("@")[::2] for of_question in scores for name in of_question}
    return [f"{kind}@{k}" for kind, k in sorted(present, key=lambda name: (_KINDS.index(name[0]), int(name[1])))]


def _means(rows: Sequence[dict[str, float]]) -> dict[str, Score]:
    values = {name: [row[name] for row in rows if name in row] for name in _names(rows)}
    return {name: Score(fsum(of) / len(of), len(of), *interval(of)) for name, of in values.items()}


def _difference(name: str, rows: Sequence[dict[str, float]], others: Sequence[dict[str, float]]) -> RetrievalDifference:
    differences = [row[name] - other[name] for row, other in zip(rows, others, strict=True) if name in row]
    mean = fsum(differences) / len(differences)
    return RetrievalDifference(mean, len(differences), *difference_interval(differences), paired_test(differences))
