"""Metrics: named functions with DSPy's metric protocol, one family per file.

A metric is called as `metric(example, prediction)`; BootstrapFewShot adds a trace, and GEPA two more arguments. It
scores the prediction from 0 (worst) to 1 and ignores the other arguments. `load` finds a metric by its name.

A metric is None if it is undefined: the question has no gold for it, or the program does not report what it looks at.
`eval.runs.runner` leaves such questions out of the metric's mean and says how many questions are in it. DSPy's own
tools know only numbers: `dspy.Evaluate` stops with a TypeError instead of counting a 0, and BootstrapFewShot makes no
demonstration of the question. Give them only questions that have the gold:

    dspy.Evaluate(devset=[e for e in examples if e.get("gold_titles")], metric=recall_evidence)

BootstrapFewShot takes every score above 0, of f1 or recall too, for a success unless it gets a `metric_threshold`.
"""

import re
from collections.abc import Sequence

import dspy

from eval.metrics.answers import accuracy, cover_em, em, f1, hotpot_f1, migres_em, popqa_accuracy, rouge_l
from eval.metrics.citations import citation_precision, citation_recall
from eval.metrics.gold import is_yes_no
from eval.metrics.judge import acc_judge, self_test_of
from eval.metrics.passages import (
    FAMILY,
    answer_recall,
    knowledge_accuracy,
    passage_metric,
    recall_evidence,
    recall_evidence_by_id,
    recall_passages,
    recall_passages_by_id,
    top_k_accuracy,
)
from eval.metrics.protocol import Metric
from retrieval import UsageError

__all__ = [
    "HELP",
    "STANDARD",
    "Metric",
    "acc_judge",
    "accuracy",
    "answer_recall",
    "citation_precision",
    "citation_recall",
    "cover_em",
    "em",
    "f1",
    "hotpot_f1",
    "knowledge_accuracy",
    "load",
    "migres_em",
    "passage_metric",
    "popqa_accuracy",
    "recall_evidence",
    "recall_evidence_by_id",
    "recall_passages",
    "recall_passages_by_id",
    "rouge_l",
    "self_test_of",
    "standard",
    "top_k_accuracy",
]

_RECALL = (recall_passages, recall_evidence, recall_passages_by_id, recall_evidence_by_id)

STANDARD: tuple[Metric, ...] = (em, f1, *_RECALL)
"""What `odqa eval` computes by default, of questions that are not answered by yes or no."""

_OTHERS: tuple[Metric, ...] = (
    em,
    f1,
    hotpot_f1,
    rouge_l,
    accuracy,
    popqa_accuracy,
    cover_em,
    migres_em,
    knowledge_accuracy,
)
_PLAIN = {metric.__name__: metric for metric in _OTHERS} | FAMILY

HELP = (
    f"{', '.join(_PLAIN)}; with a number K for the first K passages recall@K, precision@K, s_precision@K (or "
    "recall_by_id@K …), answer_recall@K and top_k_accuracy@K, which leave out questions answered by yes or no; "
    "acc_judge:LM, acc_judge_cover:LM, citation_recall:ENTAILMENT and citation_precision:ENTAILMENT"
)
"""The names that `load` knows."""


def standard(examples: Sequence[dspy.Example]) -> tuple[Metric, ...]:
    """The default metrics of these questions: accuracy in place of EM and F1 if all are answered by yes or no."""
    return (accuracy, *_RECALL) if all(map(is_yes_no, examples)) else STANDARD


def load(name: str, *, judge_api_base: str | None = None, most_calls: int | None = None) -> Metric:
    """The metric with this name, which is also its `__name__`.

    Args:
        name: A name without a parameter, such as em; NAME@K such as recall@5, recall_by_id@5 or answer_recall@10;
            acc_judge:LM with an LM that `lms.load` knows, or acc_judge_cover:LM, for which an answer that contains a
            right one is right; citation_recall:ENTAILMENT or citation_precision:ENTAILMENT with a judge that
            `retrieval.ranking.entailment.load_entailment` knows, such as lexical.
        judge_api_base: Address of an OpenAI-compatible server that has the LM of acc_judge.
        most_calls: LM calls that its test may take; None for any number.

    Raises:
        UsageError: there is no such metric, or its judge is not available or not good enough.
    """
    if name in _PLAIN:
        return _PLAIN[name]
    if at := re.fullmatch(r"(recall|precision|s_precision)(_by_id)?@([1-9]\d*)", name):
        return passage_metric(at[1], "retrieved", "passages", by_id=bool(at[2]), k=int(at[3]), name=name)
    if at := re.fullmatch(r"(answer_recall|top_k_accuracy)@([1-9]\d*)", name):
        return {"answer_recall": answer_recall, "top_k_accuracy": top_k_accuracy}[at[1]](int(at[2]), name=name)
    kind, _, judge = name.partition(":")
    if kind in ("acc_judge", "acc_judge_cover") and judge:
        import lms

        lm = lms.load(judge, api_base=judge_api_base)
        return acc_judge(lm, name=name, contained=kind == "acc_judge_cover", most_calls=most_calls)
    if kind in ("citation_recall", "citation_precision") and judge:
        from retrieval.ranking.entailment import load_entailment

        make = citation_recall if kind == "citation_recall" else citation_precision
        return make(load_entailment(judge), name=name)
    raise UsageError(f"there is no metric {name!r}; there are: {HELP}")
