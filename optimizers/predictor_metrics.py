"""Scores each predictor of a program on its own part, by the gold: the mean over its calls in a run.

What a predictor is for is read from what it writes:

numbers of passages        F1 against the numbers of the gold passages among those that it was shown
statements with citations  F1 of the cited passages that support their statement, against the gold ones shown
what is missing            whether the answer is right, or rightly withheld because the known facts do not state it
the run's last answer      whether it is right; undefined if what it was shown does not state it
text that was searched     the share of the gold passages that the run found

Undefined for other predictors, for questions whose gold does not tell, and for replies that cannot be parsed.
"""

from collections.abc import Mapping, Sequence, Set
from statistics import fmean
from typing import Any

import dspy

from eval.metrics import Metric
from eval.metrics.gold import golds_of, statable, states
from optimizers.gold import (
    field_of,
    follows,
    gold_titles,
    is_right,
    numbered,
    searched_with,
    title_of,
    titles_of,
)
from programs.steps.text import as_text
from signatures.replies import is_refusal

__all__ = ["Traced", "predictor_metrics"]

_Call = tuple[Any, dict[str, Any], dspy.Prediction]  # predictor, inputs, outputs: an entry of DSPy's traces


class Traced(dspy.Module):
    """The program, with the trace of each run added to its prediction, where `predictor_metrics` look for it.

    The predictors keep their names.
    """

    def __init__(self, program: dspy.Module) -> None:
        super().__init__()
        self.program = program

    def named_parameters(self) -> list[tuple[str, Any]]:
        return self.program.named_parameters()  # type: ignore[no-any-return]

    def forward(self, **inputs: Any) -> Any:
        with dspy.context(trace=[]):
            prediction = self.program(**inputs)
            if isinstance(prediction, dspy.Prediction):
                prediction._trace = dspy.settings.trace  # the underscore keeps it out of the result's fields
        return prediction


def predictor_metrics(program: dspy.Module) -> dict[str, Metric]:
    """A metric for each predictor, by its name; defined only for runs of `Traced(program)`."""
    return {name: _metric(name, predictor) for name, predictor in program.named_predictors()}


def _metric(name: str, predictor: Any) -> Metric:
    def metric(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float | None:
        calls: list[_Call] = getattr(prediction, "_trace", [])
        own = [call for call in calls if call[0] is predictor]
        if own and own[-1] is calls[-1] and "answer" in own[-1][2] and "missing" not in own[-1][2]:
            return _of_answer(example, own[-1][1], own[-1][2])
        scores = [_of_call(example, prediction, inputs, outputs) for _, inputs, outputs in own]
        known = [score for score in scores if score is not None]
        return fmean(known) if known else None

    metric.__name__ = f"part:{name}"
    return metric


def _of_call(
    example: dspy.Example, prediction: dspy.Prediction, inputs: Mapping[str, Any], outputs: dspy.Prediction
) -> float | None:
    gold, shown = gold_titles(example), numbered(inputs)
    right = {number for number, text in shown.items() if title_of(text) in gold}
    if isinstance(outputs.get("relevant"), list):
        return _f1(set(outputs.relevant), right) if gold else None
    if isinstance(outputs.get("statements"), list):
        question = str(inputs.get("question") or example.question)
        return _f1(_cited(outputs.statements, shown, question), right) if gold else None
    if "missing" in outputs:
        return _of_missing(statable(example), inputs, as_text(outputs.get("answer")))
    if gold and searched_with(outputs, prediction):
        return len(gold & (titles_of(prediction.get("passages")) or set())) / len(gold)
    return None


def _of_answer(example: dspy.Example, inputs: Mapping[str, Any], outputs: dspy.Prediction) -> float | None:
    golds, evidence = golds_of(example), _evidence(inputs)
    if not golds or (evidence and statable(example) and not states(evidence, golds)):
        return None
    return float(is_right(as_text(outputs.answer), golds))


def _of_missing(golds: Sequence[str], inputs: Mapping[str, Any], answer: str) -> float | None:
    if not golds:
        return None
    withheld = is_refusal(answer) and not states(_evidence(inputs), golds)
    return float(withheld or is_right(answer, golds))


def _cited(statements: Sequence[Any], shown: Mapping[int, str], question: str) -> set[int]:
    """The numbers of the cited passages that support their statement."""
    return {
        number
        for statement in statements
        for number in field_of(statement, "passages")
        if number in shown and follows(field_of(statement, "statement"), [shown[number]], question)
    }


def _f1(chosen: Set[Any], right: Set[int]) -> float:
    """F1 of two sets; 1 if both are empty."""
    return 2 * len(chosen & right) / (len(chosen) + len(right)) if chosen or right else 1.0


def _evidence(inputs: Mapping[str, Any]) -> str:
    return " ".join(str(value) for name, value in inputs.items() if name != "question")
