"""Accuracy as an LM judges it: MIGRES's Acc†, as in the evaluator that its authors released."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import dspy
from dspy import Example, Prediction

from eval.metrics.answers import answer_of, cover_em, migres_em
from eval.metrics.gold import golds_of
from eval.metrics.protocol import Metric
from programs.instruments.adapters import load_adapter
from programs.instruments.cost import Spent, measured
from programs.steps.ask import ask
from retrieval import UsageError
from signatures.verify import JudgeAnswer

__all__ = ["acc_judge", "self_test_of"]


class _Known(NamedTuple):
    question: str
    prediction: str
    right: str
    implied: bool


_KNOWN = (
    _Known("In which year did people first walk on the Moon?", "That was in July 1969.", "1969", True),
    _Known("In which year did people first walk on the Moon?", "That was in December 1972.", "1969", False),
    _Known("Who wrote Hamlet?", "the playwright Shakespeare", "William Shakespeare", True),
    _Known("Who wrote Hamlet?", "Christopher Marlowe, and not William Shakespeare", "William Shakespeare", False),
    _Known("How many legs does a spider have?", "8", "eight", True),
    _Known("How many legs does a spider have?", "I do not know.", "eight", False),
    _Known("Is the Danube longer than the Rhine?", "The Danube is the longer one of the two.", "yes", True),
    _Known("Which river flows through Paris?", "a river in the north of France", "the Seine", False),
)


def acc_judge(
    lm: dspy.LM, *, name: str = "acc_judge", contained: bool = False, most_calls: int | None = None
) -> Metric:
    """The metric that is 1 if the LM judges that the answer implies a gold answer, else 0.

    As in the evaluator, the LM is not asked about an answer that matches by `migres_em`, which is right, nor about an
    empty answer, which is wrong. If the LM's reply cannot be parsed, the metric is undefined for the question; the
    number of questions beside the mean shows this.

    The judge is always asked by `ChatAdapter`, so that it does not change with what the program is asked by.

    The judge is tested first with eight answers, half of them right. A judge that gets one of them wrong is refused,
    for example one that says yes to everything.

    Args:
        lm: The judge. Its cost is counted apart from the program's; see `eval.runs.runner.evaluate`.
        name: The metric's name.
        contained: An answer that contains a gold answer is right without asking, too, as the evaluator has it for NQ
            and TriviaQA.
        most_calls: LM calls that the test may take; None for any number.

    Raises:
        UsageError: the judge does not pass the test, or there are too few calls for it.
    """
    if most_calls is not None and most_calls < len(_KNOWN):
        raise UsageError(f"the test of a judge takes {len(_KNOWN)} LM calls, and the limit is {most_calls}: raise it")
    with measured() as cost:
        wrong = [known for known in _KNOWN if _implied(lm, *known[:2], [known.right]) is not known.implied]
    if wrong:
        question, prediction, right, implied = wrong[0]
        raise UsageError(
            f"{lm.model} is no judge of answers: of {len(_KNOWN)} known ones it gets {len(wrong)} wrong, such as that "
            f"{prediction!r} {'implies' if implied else 'does not imply'} {right!r} for {question!r}; choose another LM"
        )

    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        answer, golds = answer_of(prediction), golds_of(example)
        if not golds:
            return None
        if not answer or migres_em(example, prediction) or (contained and cover_em(example, prediction)):
            return float(bool(answer))
        implied = _implied(lm, example.question, answer, golds)
        return None if implied is None else float(implied)

    metric.__name__ = name
    metric.self_test = cost  # type: ignore[attr-defined]
    return metric


def self_test_of(metric: Metric) -> Spent | None:
    """The cost of testing the metric's judge; None if the metric has no judge."""
    return getattr(metric, "self_test", None)


def _implied(lm: dspy.LM, question: str, prediction: str, golds: Sequence[str]) -> bool | None:
    """The LM's verdict; None if its reply cannot be parsed."""
    # Without a trace: the judge's calls do not belong into an optimizer's.
    with dspy.context(lm=lm, adapter=load_adapter("chat"), trace=None):
        reply = ask(dspy.Predict(JudgeAnswer), question=question, prediction=prediction, right="\n".join(golds))
    return None if reply.implied is None else reply.implied == "yes"
