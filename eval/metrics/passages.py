"""Recall, precision and S-precision of the gold passages among those retrieved, or those shown to the answering call.

recall       share of the gold passages that were found
precision    share of the found passages that are gold; 0 if nothing was found
s_precision  1 if exactly the gold passages were found, else 0 (BlendFilter's name)

They are sp_recall, sp_prec and sp_em of HotpotQA's hotpot_evaluate_v1.py, computed on titles or ids instead of
sentences.

Each looks at `passages`, at `evidence`, or, as NAME@K, at the first K of the ranking of what was retrieved. That
ranking is `retrieved` (ids) if the program reports it, else `passages` in the order in which they came: with several
queries, those of the first query come first. Text that an LM wrote (ids lm:…) is no passage. But if it is a statement
whose passages the program reports, as `programs.steps.result.Statements` says, it stands for these passages.

Titles are compared as they are. A title means the same in every corpus made from one encyclopaedia, so compare corpora
by titles; but the scores are too high where titles repeat (several passages of one article, namesakes). Ids (…_by_id)
are exact, and mean something only in the corpus that the questions were made for.

All are undefined for a question without gold, and for a program that does not report these passages.

`answer_recall` and `top_k_accuracy` need no gold passages: they look whether a passage states an answer, by the rule of
DPR's evaluation (dpr/data/qa_validation.py), and so does `knowledge_accuracy` for what an LM wrote from memory.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import regex
from dspy import Example, Prediction

from eval.metrics.gold import golds_of, is_yes_no, steps_of, verdict
from eval.metrics.protocol import Metric
from retrieval import Passage

__all__ = [
    "FAMILY",
    "answer_recall",
    "has_answer",
    "knowledge_accuracy",
    "passage_metric",
    "ranking",
    "recall_evidence",
    "recall_evidence_by_id",
    "recall_passages",
    "recall_passages_by_id",
    "sub_answers",
    "top_k_accuracy",
]

_TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
_MEASURES: dict[str, Callable[[set[str], set[str]], float]] = {
    "recall": lambda gold, found: len(gold & found) / len(gold),
    "precision": lambda gold, found: len(gold & found) / len(found) if found else 0.0,
    "s_precision": lambda gold, found: float(gold == found),
}


def ranking(prediction: Prediction, *fields: str) -> list[Passage] | None:
    """The passages in the first of these fields that the prediction has; None if it has none of them.

    The field is a list of passages, or of ids that are looked up in the prediction's `passages`. The result is also
    None if the field holds anything else.
    """
    field = next((field for field in fields if isinstance(prediction.get(field), list)), None)
    if field is None:
        return None
    known = {passage.id: passage for passage in prediction.get("passages") or () if isinstance(passage, Passage)}
    found: list[Any] = [known.get(item) if isinstance(item, str) else item for item in prediction[field]]
    return found if all(isinstance(passage, Passage) for passage in found) else None


def passage_metric(
    measure: str,
    *fields: str,
    by_id: bool = False,
    k: int | None = None,
    name: str,
) -> Metric:
    """A metric of this family.

    Args:
        measure: recall, precision or s_precision.
        fields: Fields of the prediction; the first one that it has is compared.
        by_id: Whether to compare ids with `gold_passages`, and not titles with `gold_titles`.
        k: How many passages to compare, from the first; None for all.
        name: The metric's name.
    """
    gold_field, key = ("gold_passages", "id") if by_id else ("gold_titles", "title")

    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        gold, reported = set(example.get(gold_field) or ()), ranking(prediction, *fields)
        if not gold or reported is None:
            return None
        stated = _stated(reported[:k], prediction)
        seen = {getattr(passage, key) for passage in [*reported[:k], *stated] if not passage.id.startswith("lm:")}
        return _MEASURES[measure](gold, seen)

    metric.__name__ = name
    return metric


def _stated(reported: Sequence[Passage], prediction: Prediction) -> list[Passage]:
    """The retrieved passages that the statements in `reported` come from."""
    texts = {passage.text for passage in reported if passage.id.startswith("lm:")}
    lists = [value for _, value in prediction.items() if isinstance(value, list)] if texts else []
    records = [record for each in lists for record in each if isinstance(record, dict)]
    ids = {id_ for record in records if record.get("fact") in texts for id_ in record.get("passages") or ()}
    return [passage for passage in ranking(prediction, "passages") or () if passage.id in ids]


FAMILY: dict[str, Metric] = {
    name: passage_metric(measure, field, by_id=by_id, name=name)
    for measure in ("recall", "precision", "s_precision")
    for by_id in (False, True)
    for field in ("passages", "evidence")
    for name in [f"{measure}_{field}{'_by_id' if by_id else ''}"]
}
"""The metrics of this family that look at all passages, by name."""
recall_passages, recall_evidence = FAMILY["recall_passages"], FAMILY["recall_evidence"]
recall_passages_by_id, recall_evidence_by_id = FAMILY["recall_passages_by_id"], FAMILY["recall_evidence_by_id"]


def answer_recall(k: int, *, name: str = "answer_recall") -> Metric:
    """The metric that is 1 if one of the first k retrieved passages states an answer, else 0.

    The ranking is the prediction's `retrieved` (ids) if the program reports it, else its `passages` in the order in
    which they came: with several queries, those of the first query come first. The metric is undefined for a program
    that reports neither, and for questions that are answered by yes or no, which nearly every passage "states".

    Args:
        k: How many passages count.
        name: The metric's name.
    """
    return _hit(k, ("retrieved", "passages"), name)


def top_k_accuracy(k: int, *, name: str = "top_k_accuracy") -> Metric:
    """Like `answer_recall`, but by the last ranking of a program that makes one: its `ranked` (ids)."""
    return _hit(k, ("ranked", "retrieved", "passages"), name)


def _hit(k: int, fields: Sequence[str], name: str) -> Metric:
    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        golds, found = golds_of(example), ranking(prediction, *fields)
        if not golds or is_yes_no(example) or found is None:
            return None
        return float(any(has_answer(passage.text, golds) for passage in found[:k]))

    metric.__name__ = name
    return metric


def has_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether the text contains the tokens of one of the answers; every text contains an answer without tokens."""
    words = _tokens(text)
    return any(_stands_in(_tokens(answer), words) for answer in answers)


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(unicodedata.normalize("NFD", text))]


def _stands_in(part: list[str], words: list[str]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))


def knowledge_accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """The share of the passages from memory that state an answer, of the question or of a step that leads to it.

    A program reports such passages as `knowledge`, as MIGRES does (its Table 7). None if the LM wrote no passage, or
    all answers are yes or no.
    """
    written, answers = prediction.get("knowledge"), sub_answers(example)
    if not isinstance(written, list) or not written or not answers:
        return None
    return sum(has_answer(passage.text, answers) for passage in written) / len(written)


def sub_answers(example: Example) -> list[str]:
    """The answers of the steps and of the question itself, each once, without those that are yes or no."""
    answers = [*(step.answer for step in steps_of(example)), *golds_of(example)]
    return [answer for answer in dict.fromkeys(answers) if not verdict(answer)]
