"""Scores of a short answer: each metric computes what the script computes that it names.

em, f1                     SQuAD v1.1's evaluation script
hotpot_f1                  HotpotQA's hotpot_evaluate_v1.py, whose exact match is SQuAD's
popqa_accuracy             PopQA's script (Mallen et al. 2023, run_model.py)
cover_em, migres_em        the evaluator of MIGRES's authors (code/evaluate.py)
rouge_l                    Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3
accuracy                   for questions that are answered by yes or no, as in StrategyQA
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dspy import Example, Prediction

from eval.metrics.gold import golds_of, is_yes_no, normalise, verdict
from programs.steps.text import as_text

__all__ = [
    "accuracy",
    "answer_of",
    "best",
    "cover_em",
    "em",
    "f1",
    "hotpot_f1",
    "migres_em",
    "overlap",
    "popqa_accuracy",
    "rouge_l",
]

_ALONE = {"yes", "no", "noanswer"}


def answer_of(prediction: Prediction) -> str:
    """The answer as text, whatever its type: yes or no for a bool, empty for None.

    Raises:
        AttributeError: the prediction has no answer.
    """
    answer = prediction.answer
    return as_text(answer if answer is None or isinstance(answer, bool) else str(answer))


def best(score: Callable[[str, str], float], example: Example, prediction: Prediction) -> float | None:
    """The highest score(answer, gold answer) over the gold answers; None without gold answers."""
    answer = answer_of(prediction)
    return max((score(answer, gold) for gold in golds_of(example)), default=None)


def em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer equals a gold answer, both normalised; else 0."""
    return best(lambda answer, gold: float(normalise(answer) == normalise(gold)), example, prediction)


def f1(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F1 of the answer's words against a gold answer's, as multisets, both normalised; the best gold answer counts."""
    return best(overlap, example, prediction)


def overlap(answer: str, gold: str) -> float:
    """F1 of the words of two texts, both normalised."""
    words, gold_words = normalise(answer).split(), normalise(gold).split()
    same = (Counter(words) & Counter(gold_words)).total()
    # As in the script, no word in common gives 0, also if both are empty.
    return 2 * same / (len(words) + len(gold_words)) if same else 0.0


def hotpot_f1(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F1 as in SQuAD, but 0 if one of the two is yes, no or noanswer and the other one differs."""
    return best(_hotpot_overlap, example, prediction)


def _hotpot_overlap(answer: str, gold: str) -> float:
    said, right = normalise(answer), normalise(gold)
    return 0.0 if said != right and _ALONE & {said, right} else overlap(answer, gold)


def popqa_accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer contains a gold answer as it is, in lower case, or capitalised; else 0.

    As in the script, nothing else is normalised, and the match may be anywhere in the answer, even inside a word: "us"
    is found in "music". Capitalising lowers all but the first letter, so "new York" is tried as "New york".
    """
    return best(_popqa, example, prediction)


def _popqa(answer: str, gold: str) -> float:
    return float(any(form in answer for form in (gold, gold.lower(), gold.capitalize())))


def cover_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer contains a gold answer, both normalised; else 0. ALCE's string match is the same.

    As in the evaluator, it may be anywhere in the answer, even inside a word. A gold answer of which normalising leaves
    nothing ("The The") is in every answer.
    """
    return best(lambda answer, gold: float(normalise(gold) in normalise(answer)), example, prediction)


def migres_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer matches a gold answer by the evaluator's lenient rule; else 0.

    Both are normalised. They match if they are equal, if they differ only in spaces, or if they have the same number of
    words and every word of the gold answer is in the answer, in any order. The evaluator does not compare how often a
    word occurs, so "b c" matches "b b".

    Yes matches true, and no matches false. The evaluator does this for gold answers that are true or false, as in its
    files of StrategyQA; here it works both ways, because our files have yes and no.
    """
    return best(_leniently, example, prediction)


def _leniently(answer: str, gold: str) -> float:
    said, right = normalise(answer), normalise(gold)
    if said.replace(" ", "") == right.replace(" ", ""):
        return 1.0
    if verdict(gold):
        return float(verdict(answer) == verdict(gold))
    words, gold_words = said.split(" "), right.split(" ")
    return float(len(words) == len(gold_words) and set(gold_words) <= set(words))


def accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer is the gold yes or no, else 0; undefined for other questions.

    True is a yes and false is a no, as in MIGRES's evaluator. Any other text scores 0, even "Yes, because …": to make a
    plain yes of that is up to the program.
    """
    if not is_yes_no(example):
        return None
    return float(verdict(answer_of(prediction)) in map(verdict, golds_of(example)))


def rouge_l(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F-measure of the longest common subsequence of words, both sides normalised; the best gold answer counts.

    It weighs precision and recall equally. On ASCII text the values are those of Google's rouge-score (rougeL, without
    stemmer), which drops every other letter: it reads Zürich as "z rich", and no two answers in Greek are alike for it.
    """
    return best(_longest_share, example, prediction)


def _longest_share(answer: str, gold: str) -> float:
    words, gold_words = normalise(answer).split(), normalise(gold).split()
    same = _longest_common(words, gold_words)
    return 2 * same / (len(words) + len(gold_words)) if same else 0.0


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    lengths = [0] * (len(second) + 1)  # of the longest common part of `first` so far and each beginning of `second`
    for word in first:
        row = [0]
        for n, other in enumerate(second):
            row.append(lengths[n] + 1 if word == other else max(lengths[n + 1], row[n]))
        lengths = row
    return lengths[-1]
