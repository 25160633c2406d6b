"""How well each predictor of a program does its own part, by the gold: the mean over its calls in a run.

What is asked of a predictor is told from what it writes:

numbers of passages        F1 against the numbers of the gold ones among those it was shown
statements with citations  F1 of the passages that they cite and follow from against the gold ones among those shown
what is missing            whether the answer is right, or rightly withheld: the known facts do not state it
the run's last answer      whether it is right, where what it was shown states it
what was searched with     the share of the gold passages that the run found

Of other predictors, and of questions whose gold does not tell, nothing is said; nor of replies that cannot be parsed.
"""

from collections.abc import Mapping, Sequence, Set
from statistics import fmean
from typing import Any

import dspy

from eval.metrics import Metric
from eval.metrics.squad import golds_of
from optimizers._gold import (
    follows,
    gold_titles,
    is_right,
    numbered,
    part,
    searched_with,
    statable,
    states,
    title_of,
    titles_of,
)
from programs.steps.text import as_text as say

__all__ = ["Traced", "part_metrics"]

_Call = tuple[Any, dict[str, Any], dspy.Prediction]  # predictor, inputs, outputs: what DSPy's traces consist of


class Traced(dspy.Module):
    """The program, with the trace of each run in its prediction, where `part_metrics` look for it.

    Its predictors have the names that they have in the program.
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
                prediction._trace = dspy.settings.trace  # no field of the result: its name begins with _
        return prediction


def part_metrics(program: dspy.Module) -> dict[str, Metric]:
    """A metric for each predictor, by its name; for runs of `Traced(program)`, and undefined for all others."""
    return {name: _part_metric(name, predictor) for name, predictor in program.named_predictors()}


def _part_metric(name: str, predictor: Any) -> Metric:
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
        return _f1(_cited(outputs.statements, shown), right) if gold else None
    if "missing" in outputs:
        return _of_missing(statable(example), inputs, say(outputs.get("answer")))
    if gold and searched_with(outputs, prediction):
        return len(gold & (titles_of(prediction.get("passages")) or set())) / len(gold)
    return None


def _of_answer(example: dspy.Example, inputs: Mapping[str, Any], outputs: dspy.Prediction) -> float | None:
    golds, evidence = golds_of(example), _evidence(inputs)
    if not golds or (evidence and statable(example) and not states(evidence, golds)):
        return None
    return float(is_right(say(outputs.answer), golds))


def _of_missing(golds: Sequence[str], inputs: Mapping[str, Any], answer: str) -> float | None:
    if not golds:
        return None
    withheld = "unanswerable" in answer.casefold() and not states(_evidence(inputs), golds)
    return float(withheld or is_right(answer, golds))


def _cited(statements: Sequence[Any], shown: Mapping[int, str]) -> set[int]:
    """The numbers of the passages that a statement cites and follows from."""
    return {
        number
        for statement in statements
        for number in part(statement, "passages")
        if number in shown and follows(part(statement, "statement"), [shown[number]])
    }


def _f1(chosen: Set[Any], right: Set[int]) -> float:
    """1 where nothing was to be chosen and nothing was."""
    return 2 * len(chosen & right) / (len(chosen) + len(right)) if chosen or right else 1.0


def _evidence(inputs: Mapping[str, Any]) -> str:
    return " ".join(str(value) for name, value in inputs.items() if name != "question")
