"""A run scored anew, by other metrics or another judge: nothing that was asked of the program is asked again.

The rescored run is a run in a directory of its own. Its manifest says under `rescored` which run it comes from, by what
metrics that one was scored, and when it was made; traces and costs are those of that run, which is left as it is.
"""

import contextvars
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy

from eval.figures.summary import Summary, summarise
from eval.metrics import Metric, self_test_of
from eval.records.record import Row, Shown
from eval.records.run import Run
from eval.runs.question import defined, score
from eval.runs.recorded_calls import RecordedCalls
from eval.runs.store import Store, making
from odqa.limits import Limiter
from programs.instruments.cost import Spent
from retrieval import Passage, UsageError

__all__ = ["rescore"]

logger = logging.getLogger(__name__)


def rescore(
    run: Run,
    *,
    metrics: Sequence[Metric],
    directory: str | Path,
    threads: int = 8,
    on_row: Callable[[Row], object] = lambda row: None,
) -> Summary:
    """Score the rows of a run by these metrics and write a run with them.

    What was paid for is not paid again: a judge's replies are recorded as in `eval.runs.runner.evaluate`, and those
    that the first run recorded are used where the same judge is asked the same thing. A rescoring that was cut short
    goes on when it is started again. A question that had failed has failed, unless a metric was what had failed.

    Args:
        run: As `eval.runs.store.read` gives it; of its questions those that have rows are scored.
        metrics: See `eval.metrics`.
        directory: Where the rescored run goes.
        threads: Questions that are scored at the same time.
        on_row: Called with each row once it is on disk, first with those of earlier sittings.

    Raises:
        UsageError: the run is the best of several; or a metric looks at what rows do not have; or the directory cannot
            be used.
    """
    if run.manifest.best_of:
        raise UsageError("the best of several runs has no answers to score: rescore each of them")
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    for row in run.rows[:1]:
        defined(metrics, _example(row))  # so that a metric that rows are not enough for is refused before it begins
    tests = {metric.__name__: test for metric in metrics if (test := self_test_of(metric))}
    with making(directory):
        store = Store(directory, _manifest(run, metrics), asked=run.manifest.asked, self_tests=tests, resumable=True)
        known = run.passages()
        store.hold(list(known.values()))
        store.calls.begin_with(run.directories[0])
        done = {row.id for row in store.rows}
        calls = RecordedCalls(store.calls, done=done, at_once=threads, limiter=Limiter())
        for row in store.whole_rows():
            on_row(row)

        def rescored(row: Row) -> Row:
            with calls.for_question(row.id):
                return _rescored(row, metrics, known)

        pool = ThreadPoolExecutor(threads)
        try:
            with calls.recording():
                waiting = [row for row in run.rows if row.id not in done]
                try:
                    made = [pool.submit(contextvars.copy_context().run, rescored, row) for row in waiting]
                    for future in made:
                        row = future.result()
                        store.add(row)
                        on_row(row)
                except KeyboardInterrupt:
                    logger.warning("finishing up to %d rows; interrupt again to leave them", threads)
                    raise
                finally:
                    pool.shutdown(cancel_futures=True)  # a second interrupt ends the wait for calls under way
        finally:
            summary = summarise(list(store.rows), run.manifest.asked, store.manifest, run.gap)
            store.conclude(summary)
    return summary


def _manifest(run: Run, metrics: Sequence[Metric]) -> dict[str, Any]:
    first = {name: value for name, value in run.manifest.entries().items() if name not in Store.OWN}
    was = {"run": run.name, "metrics": list(run.manifest.metrics), "started": run.manifest.started}
    return {**first, "metrics": [metric.__name__ for metric in metrics], "rescored": was}


class _Asked(dspy.Example):
    """A question as a row has it. Where a metric looks for something else, its score is not undefined, but unknown."""

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self and key != "answer":
            raise UsageError(
                f"one of the metrics needs {key!r} of the questions, which rows do not have: run them again"
            )
        return super().get(key, default)


def _example(row: Row) -> _Asked:
    names = ("id", "question", "answers", "type", "gold_titles", "gold_passages")
    fields = {name: getattr(row, name) for name in names}
    return _Asked(**{name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()})


def _rescored(row: Row, metrics: Sequence[Metric], known: dict[str, Passage]) -> Row:
    example = _example(row)
    if row.prediction is None:
        return row.model_copy(update={"scores": defined(metrics, example), "judging": {}})
    judging: dict[str, Spent] = {}
    scores = score(metrics, example, _prediction(row, known), judging)
    return row.model_copy(update={"scores": scores, "judging": judging, "error": None})


def _prediction(row: Row, known: dict[str, Passage]) -> dspy.Prediction:
    """What the program returned, with passages where it had passages."""
    assert row.prediction is not None
    fields: dict[str, Any] = {name: _restored(value, known) for name, value in row.prediction.own.items()}
    fields["answer"] = row.prediction.answer
    for name in ("passages", "evidence"):
        shown = getattr(row.prediction, name)
        if shown is not None:
            fields[name] = [_passage(each, known) for each in shown]
    if row.prediction.queries is not None:
        fields["queries"] = list(row.prediction.queries)
    return dspy.Prediction(**fields)


def _restored(value: Any, known: dict[str, Passage]) -> Any:
    if isinstance(value, list):
        return [_restored(item, known) for item in value]
    if isinstance(value, dict) and "id" in value and value.keys() <= Shown.model_fields.keys():
        return _passage(Shown.model_validate(value), known)
    return value


def _passage(shown: Shown, known: dict[str, Passage]) -> Passage:
    if shown.text is None and shown.id not in known:
        raise UsageError(f"the run is damaged: its passages.jsonl has no passage {shown.id!r}")
    text = known[shown.id].text if shown.text is None else shown.text
    return Passage(shown.id, text, shown.title, shown.score)
