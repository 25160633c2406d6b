"""A run: every question asked of a program side by side, one row each, on disk the moment it is finished.

`dspy.Evaluate` would score a crash 0 without saying so, lose everything when it is interrupted, and ask slow questions
twice; its ParallelExecutor takes a time that grows with the square of the number of questions.
"""

import contextvars
import hashlib
import json
import logging
import platform
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
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

from eval.figures.summary import Summary, summarise
from eval.metrics import Metric, self_test_of
from eval.metrics.squad import golds_of
from eval.runs.record import Error, Prediction, Row, plain
from eval.runs.record import prediction as recorded
from eval.runs.recorded_calls import Limits, RecordedCalls, Stopped
from eval.runs.store import Store
from programs.instruments.cost import Cost, Spent, measured
from programs.instruments.searches import Search, observed
from programs.instruments.trace import Trace, trace
from retrieval import Passage, UsageError

__all__ = ["evaluate", "without_url_secrets"]

logger = logging.getLogger(__name__)

# So many questions that fail before any is answered stop a run: it is not the questions.
_HOPELESS = 10
_LONGEST_ERROR = 1000  # characters
_NOTHING = dspy.Prediction(answer="", queries=[], passages=[], evidence=[], known_facts=[])
# What asking again does not cure. `dspy.LM` itself tries again after limits, time-outs, server errors and cut
# connections, and not after a body that is no reply.
_LASTING = (
    LMAuthError,
    LMBillingError,
    LMCollectionLimitError,
    LMConfigurationError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
)


def evaluate(
    program: dspy.Module,
    examples: Sequence[dspy.Example],
    *,
    metrics: Sequence[Metric],
    directory: str | Path,
    threads: int = 8,
    lm_calls: int = 32,
    retries: int = 2,
    pause: float = 1.0,
    limits: Limits = Limits(),  # noqa: B008  # it is immutable
    manifest: Mapping[str, Any] | None = None,
    on_row: Callable[[Row], object] = lambda row: None,
    clean: Callable[[str], str] = str,
) -> Summary:
    """Ask the program every question and write down what comes of it, in the files that `eval.runs.store` names.

    A question that ends in an exception, of the program or of a metric, has a row with the error and without scores,
    and the run goes on; but when the first ten all fail it stops, and its summary is not complete.

    A run's costs are the program's. What a metric asks of an LM is counted apart, under `judging` in the rows and
    `judges` in the summary, which has the judge's test before the run too, as it cost when the run was first started.

    A run that was cut short goes on where it stopped when it is started again with the same directory, questions,
    metrics and manifest: questions that were answered are not asked again, those that failed are. No LM call that was
    answered is paid again, not even those of questions that were not finished; this holds for DSPy's current LM, and
    for a predictor's own and a judge's where its cache is on.

    Args:
        program: Any module that takes a question and gives a prediction with an answer; `passages` and `evidence`,
            lists of `retrieval.Passage`, are looked at where it has them. Its LM is DSPy's current one, a `dspy.LM`.
        examples: The questions, each with an `id` of its own, as from `eval.tasks.load`.
        metrics: What to score; see `eval.metrics`.
        directory: Where the files go.
        threads: Questions in flight at the same time.
        lm_calls: LM calls in flight at the same time, over all questions.
        retries: How often a question is asked again after an error of the LM's provider that may pass: after those that
            `dspy.LM` has tried again already, and after replies that are none. Calls that were answered are not made
            again.
        pause: Seconds before the first of these times; twice as long before each further one.
        limits: When to stop with what there is: no question begins any more, those in flight end without a row at their
            next LM call, and the summary says why. What they paid is kept for when the run is taken up.
        manifest: What this run is: LM, program, settings, retriever …; plain values, no secrets. Recorded with the
            metrics, a hash of the questions, and versions. Without it nothing would tell this run from another, and
            so it cannot be taken up again.
        on_row: Called with each row that is on disk, those of a run that is taken up first; from any thread, one call
            at a time.
        clean: Applied to the message of every error before it is written; what URLs hold of secrets is removed anyway.

    Raises:
        UsageError: an argument or the directory cannot be used.
        KeyboardInterrupt: as it came, when the questions in flight are finished and the summary is written; a second
            one does not wait for them, and they end at their next LM call.
    """
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if lm_calls < 1:
        raise UsageError(f"the number of LM calls in flight must be at least 1, not {lm_calls}")
    if retries < 0:
        raise UsageError(f"retries must not be below 0, as {retries} is")
    _check(examples)
    full_manifest = {
        **plain(manifest or {}),
        "metrics": [metric.__name__ for metric in metrics],
        "questions": _fingerprint(examples),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("dspy", "dspy-odqa")}},
    }
    tests = {metric.__name__: test for metric in metrics if (test := self_test_of(metric))}
    store = Store(directory, full_manifest, asked=len(examples), self_tests=tests, resumable=manifest is not None)
    done = {row.id for row in store.rows}
    calls = RecordedCalls(
        store.calls, done=done, at_once=lm_calls, limits=limits, before=list(store.manifest.self_tests.values())
    )
    for row in store.rows:
        on_row(row)
    run = _Run(program, metrics, store, calls, on_row, clean, retries, pause)
    try:
        with calls.recording():
            run.ask([example for example in examples if example.id not in done], threads)
    finally:
        summary = summarise(list(store.rows), len(examples), store.manifest, calls.stopped)
        store.conclude(summary)
    return summary


def without_url_secrets(text: str) -> str:
    """The text with what URLs in it may hold of secrets, user with password and query, blotted out."""
    text = re.sub(r"(\w://)[^/\s]*@", r"\1***@", text)
    return re.sub(r"(\w://[^?\s]*\?)[^\s\"')]+", r"\1***", text)


class _Tried(NamedTuple):
    """What came of one try at a question."""

    prediction: Prediction | None
    trace: Trace
    scores: dict[str, float | None]
    error: Exception | None
    cost: Cost
    judging: dict[str, Spent]


class _Run:
    def __init__(
        self,
        program: dspy.Module,
        metrics: Sequence[Metric],
        store: Store,
        calls: RecordedCalls,
        on_row: Callable[[Row], object],
        clean: Callable[[str], str],
        retries: int,
        pause: float,
    ) -> None:
        self._program = program
        self._metrics = metrics
        self._store = store
        self._calls = calls
        self._on_row = on_row
        self._clean = clean
        self._retries = retries
        self._pause = pause
        self._state = threading.Condition()  # guards the store and what follows
        self._working = 0
        self._in_flight = 0
        self._answered = 0
        self._failed = 0
        self._stopped = False
        self._trouble: Exception | None = None

    def ask(self, examples: Sequence[dspy.Example], threads: int) -> None:
        waiting = iter(examples)
        try:
            for _ in range(min(threads, len(examples))):
                context = contextvars.copy_context()
                with self._state:
                    self._working += 1
                threading.Thread(target=context.run, args=(self._work, waiting), daemon=True).start()
            self._wait()
        except KeyboardInterrupt:
            try:
                with self._state:
                    self._stopped = True
                    logger.warning("finishing %d questions; interrupt again to leave them", self._in_flight)
                self._wait()
            except KeyboardInterrupt:
                self._calls.stop("interrupted")
                raise
            raise
        if self._trouble:
            raise self._trouble

    def _wait(self) -> None:
        # Not by joining the threads: a join that is interrupted takes its thread for ended (CPython 3.11).
        with self._state:
            self._state.wait_for(lambda: not self._working)

    def _work(self, waiting: Iterator[dspy.Example]) -> None:
        try:
            while (example := self._next(waiting)) is not None:
                self._ask(example)
        finally:
            with self._state:
                self._working -= 1
                self._state.notify_all()

    def _ask(self, example: dspy.Example) -> None:
        try:
            row = self._row(example)
            if row.error is not None and self._calls.stopped:
                raise Stopped  # the error may come of that
            with self._state:
                self._keep(row)
        except Stopped:
            pass  # no row: the question is asked when the run is taken up
        except Exception as error:  # not the question's trouble but the run's: a full disk, a metric that always fails
            self._trouble = error
            self._stopped = True
        finally:
            with self._state:
                self._in_flight -= 1

    def _next(self, waiting: Iterator[dspy.Example]) -> dspy.Example | None:
        with self._state:
            example = None if self._stopped or self._calls.exhausted() else next(waiting, None)
            self._in_flight += example is not None
            return example

    def _row(self, example: dspy.Example) -> Row:
        tried = self._try(example)
        for n in range(self._retries):
            if not isinstance(tried.error, LMError) or isinstance(tried.error, _LASTING):
                break
            self._calls.pause(self._pause * 2**n)
            tried = self._try(example)
        scores: dict[str, float | None] = tried.scores
        if tried.error is not None:
            scores = dict.fromkeys(self._score(example, _NOTHING, {}))  # the metrics that count this question
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
                with observed() as searches, measured() as cost:
                    prediction = self._program(**example.inputs())
                if not isinstance(prediction, dspy.Prediction) or "answer" not in prediction:
                    raise UsageError(
                        "the program gives no prediction with an answer, and nothing else can be evaluated"
                    )
            except Exception as error:
                prediction, failure = None, error
            held = self._hold(prediction, searches)
            steps = trace(self._program, searches, cost, None)
            if prediction is not None:
                fields = dict(prediction.items())
                try:
                    record, steps = recorded(fields, held), trace(self._program, searches, cost, fields)
                    scores = self._score(example, prediction, judging)
                except Exception as error:
                    failure = error
        return _Tried(record, steps, scores, failure, cost, judging)

    def _hold(self, prediction: dspy.Prediction | None, searches: Sequence[Search]) -> set[tuple[str, str]]:
        """Have the ledger keep all passages, also those of questions that fail."""
        reported = [] if prediction is None else prediction.get("passages")
        found = [passage for search in searches for passage in search.found or ()]
        found += [passage for passage in reported if isinstance(passage, Passage)] if isinstance(reported, list) else []
        with self._state:
            return self._store.hold(found)

    def _error(self, error: Exception) -> Error:
        line = without_url_secrets(" ".join(str(error).split()))
        line = re.sub(r"[^\s/:@('\"]+:[^\s/@]+@", "***@", line)  # DSPy writes addresses without their scheme, too
        return Error(kind=type(error).__name__, message=self._clean(line)[:_LONGEST_ERROR])

    def _score(
        self, example: dspy.Example, prediction: dspy.Prediction, judging: dict[str, Spent]
    ) -> dict[str, float | None]:
        """The metrics that are defined; what they ask of LMs is added to `judging`."""
        scores: dict[str, float | None] = {}
        for metric in self._metrics:
            try:
                with measured() as cost:
                    score = metric(example, prediction)
            finally:
                if cost.lm_calls:
                    judging[metric.__name__] = cost.of_lms()
            if score is not None:
                scores[metric.__name__] = float(score)
        return scores

    def _keep(self, row: Row) -> None:
        self._store.add(row)
        if row.error is None:
            self._answered += 1
        else:
            self._failed += 1
        if not self._answered and self._failed >= _HOPELESS:
            self._stopped = True
        self._on_row(row)


def _check(examples: Sequence[dspy.Example]) -> None:
    if not examples:
        raise UsageError("there are no questions to ask")
    ids = Counter(example.get("id") for example in examples)
    if None in ids:
        raise UsageError("every question needs an id")
    if repeated := [id_ for id_, count in ids.items() if count > 1]:
        raise UsageError(f"every question needs an id of its own, and {repeated[0]!r} is that of several")


def _fingerprint(examples: Sequence[dspy.Example]) -> str:
    return hashlib.sha256(json.dumps([plain(dict(e.items())) for e in examples], sort_keys=True).encode()).hexdigest()


def _texts(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(map(str, values))
