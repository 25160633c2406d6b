"""One question of a run: the program is asked, the answer is scored, and what happened becomes a row."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dspy
from dspy.utils.exceptions import (
    LMAuthError,
    LMBillingError,
    LMCollectionLimitError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
)

from eval.metrics import Metric
from eval.metrics.gold import golds_of
from eval.records.record import HIGHEST, Error, Prediction, Row
from eval.records.record import prediction as recorded
from eval.runs.recorded_calls import RecordedCalls
from odqa.bridge import unbound
from odqa.errors import line_of
from odqa.secrets import keep_secret, public
from programs.instruments.cost import Cost, PredictorNames, Spent, measured
from programs.instruments.trace import Search, Trace, observed, trace
from retrieval import Passage, UsageError

__all__ = ["Questioner", "defined", "score"]

_NOTHING = dspy.Prediction(answer="", queries=[], passages=[], evidence=[], known_facts=[])
_LONGEST_ERROR = 1000  # characters
# Errors that asking again does not cure. `dspy.LM` itself tries again after rate limits, time-outs, server errors and
# cut connections, but not after a body that is no reply.
_LASTING = (
    LMAuthError,
    LMBillingError,
    LMCollectionLimitError,
    LMConfigurationError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
)


class _Tried(NamedTuple):
    """The outcome of one try at a question."""

    prediction: Prediction | None
    trace: Trace
    scores: dict[str, float | None]
    error: Exception | None
    cost: Cost
    judging: dict[str, Spent]


class Questioner:
    """Asks a program questions and scores its answers. Safe for many threads.

    Args:
        program: See `eval.runs.runner.evaluate`; likewise `metrics`, `retries` and `pause`.
        calls: What records the LM calls, here or on the way to where they are recorded.
        hold: Keeps passages for the run; gives ids and texts of those that it has with just this text.
    """

    def __init__(
        self,
        program: dspy.Module,
        metrics: Sequence[Metric],
        calls: RecordedCalls,
        hold: Callable[[Sequence[Passage]], set[tuple[str, str]]],
        *,
        retries: int,
        pause: float,
    ) -> None:
        self._program = program
        self._metrics = metrics
        self._calls = calls
        self._hold_passages = hold
        self._retries = retries
        self._pause = pause
        self._names = PredictorNames()

    def row(self, example: dspy.Example) -> Row:
        """Ask one question, again after errors that may pass.

        Raises:
            Stopped: the run makes no more LM calls.
        """
        tried = self._try(example)
        for n in range(self._retries):
            if not isinstance(tried.error, LMError) or isinstance(tried.error, _LASTING):
                break
            self._calls.pause(self._pause * 2**n)
            tried = self._try(example)
        scores: dict[str, float | None] = tried.scores
        if tried.error is not None:
            scores = defined(self._metrics, example)
        self._calls.forget(example.id)
        return Row(
            id=example.id,
            question=example.get("question"),
            answers=tuple(golds_of(example)),
            type=example.get("type"),
            gold_titles=_texts(example.get("gold_titles")),
            gold_passages=_texts(example.get("gold_passages")),
            prediction=tried.prediction,
            trace=tried.trace,
            scores=scores,
            error=None if tried.error is None else self._error(tried.error),
            cost=tried.cost,
            judging=tried.judging,
        )

    def _try(self, example: dspy.Example) -> _Tried:
        prediction, record, scores, failure = None, None, {}, None
        judging: dict[str, Spent] = {}
        with self._calls.for_question(example.id):
            try:
                with observed() as searches, measured(self._names) as cost:
                    prediction = self._program(**example.inputs())
                if not isinstance(prediction, dspy.Prediction) or "answer" not in prediction:
                    raise UsageError(
                        "the program returned no prediction with an answer, and nothing else can be evaluated"
                    )
            except Exception as error:
                prediction, failure = None, error
            held = self._hold(prediction, searches)
            steps = trace(self._program, searches, cost, None)
            if prediction is not None:
                fields = dict(prediction.items())
                try:
                    record, steps = recorded(fields, held), trace(self._program, searches, cost, fields)
                    scores = score(self._metrics, example, prediction, judging)
                except Exception as error:
                    failure = error
        return _Tried(record, steps, scores, failure, cost, judging)

    def _hold(self, prediction: dspy.Prediction | None, searches: Sequence[Search]) -> set[tuple[str, str]]:
        """Have the store keep all passages, also those of questions that fail."""
        reported = [] if prediction is None else prediction.get("passages")
        found = [passage for search in searches for passage in search.found or ()]
        found += [passage for passage in reported if isinstance(passage, Passage)] if isinstance(reported, list) else []
        return self._hold_passages(found)

    def _error(self, error: Exception) -> Error:
        keep_secret(unbound(dspy.settings.lm).kwargs if dspy.settings.lm else {})
        return Error(kind=type(error).__name__, message=public(line_of(error))[:_LONGEST_ERROR])


def _texts(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(map(str, values))


def score(
    metrics: Sequence[Metric], example: dspy.Example, prediction: dspy.Prediction, judging: dict[str, Spent]
) -> dict[str, float | None]:
    """The scores of the metrics that are defined; their LM calls are added to `judging`.

    Raises:
        ValueError: a metric gave no number from 0 to 1.
    """
    scores: dict[str, float | None] = {}
    for metric in metrics:
        try:
            with measured() as cost:
                value = metric(example, prediction)
        finally:
            if cost.lm_calls:
                judging[metric.__name__] = cost.of_lms()
        if value is not None:
            scores[metric.__name__] = _checked(metric.__name__, float(value))
    return scores


def defined(metrics: Sequence[Metric], example: dspy.Example) -> dict[str, float | None]:
    """The metrics that count a question which has failed: their names, each with None."""
    return dict.fromkeys(score(metrics, example, _NOTHING, {}))


def _checked(metric: str, value: float) -> float:
    if not 0 <= value <= HIGHEST:
        raise ValueError(f"the metric {metric} gave {value:.4g}: scores are from 0 to 1")
    return value
