"""A run: a program is asked every question, many at a time, and each row is on disk as soon as it is finished.

`dspy.Evaluate` is not used because it scores a crash 0 without saying so, loses everything when it is interrupted and
asks slow questions twice; the time of its ParallelExecutor grows with the square of the number of questions.
"""

import contextvars
import hashlib
import json
import logging
import platform
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

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
from eval.runs.scoring import defined, score
from eval.runs.store import Store
from programs.instruments.cost import Cost, PredictorNames, Spent, measured
from programs.instruments.searches import Search, observed
from programs.instruments.trace import Trace, trace
from retrieval import Passage, UsageError
from retrieval.secrets import without_url_secrets

__all__ = ["evaluate", "fingerprint"]

logger = logging.getLogger(__name__)

# When so many questions fail before any is answered, the fault is not in the questions: the run stops.
_HOPELESS = 10
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
    cache: bool = False,
    manifest: Mapping[str, Any] | None = None,
    on_row: Callable[[Row], object] = lambda row: None,
    clean: Callable[[str], str] = str,
) -> Summary:
    """Ask the program every question and write the results to the files that `eval.runs.store` names.

    A question that ends in an exception, of the program or of a metric, gets a row with the error and without scores,
    and the run goes on. When the first ten questions all fail, the run stops and its summary is not complete.

    The costs of a run are the program's. What a metric asks of an LM is counted apart: under `judging` in the rows and
    under `judges` in the summary, where the judge's test before the run is included.

    To go on with a run that was cut short, start it again with the same directory, questions, metrics and manifest.
    Questions that were answered are not asked again; those that failed are. No LM call that was answered is paid again,
    not even for a question that was not finished. This holds for DSPy's current LM, and for the LM of a predictor or a
    judge if its cache is on.

    Args:
        program: Any module that takes a question and returns a prediction with an `answer`. If the prediction has
            `passages` and `evidence`, lists of `retrieval.Passage`, these are used too. The LM is DSPy's current one.
        examples: The questions, each with its own `id`, as from `eval.tasks.load`.
        metrics: See `eval.metrics`.
        directory: Where the files go.
        threads: Questions in flight at the same time.
        lm_calls: LM calls in flight at the same time, over all questions.
        retries: How often a question is asked again after an error of the LM's provider that may pass. Calls that were
            answered are not made again.
        pause: Seconds before the first such retry; twice as long before each further one.
        limits: When to stop early: no further question begins, questions in flight end without a row at their next LM
            call, and the summary says why. Replies that they paid for are kept for the next sitting.
        cache: Use the replies in DSPy's cache, where the LM's is on, and add to it. It does not know which server gave
            a reply. Else every reply of the run is the LM's own.
        manifest: What this run is: LM, adapter, program, settings, retriever …; plain values without secrets. It is
            recorded with the metrics, a hash of the questions and the versions. A run without a manifest cannot be
            taken up again, since nothing tells it from another run.
        on_row: Called with each row once it is on disk, first with the rows of earlier sittings; from any thread, one
            call at a time.
        clean: Applied to every error message before it is written. Secrets in URLs are removed in any case.

    Raises:
        UsageError: an argument or the directory cannot be used.
        KeyboardInterrupt: passed on after the questions in flight are finished and the summary is written. A second
            interrupt does not wait: the questions in flight end at their next LM call.
    """
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if lm_calls < 1:
        raise UsageError(f"the number of LM calls in flight must be at least 1, not {lm_calls}")
    if retries < 0:
        raise UsageError(f"retries must be 0 or more, not {retries}")
    _check(examples)
    full_manifest = {
        **plain(manifest or {}),
        "metrics": [metric.__name__ for metric in metrics],
        "questions": fingerprint(examples),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("dspy", "dspy-odqa")}},
    }
    tests = {metric.__name__: test for metric in metrics if (test := self_test_of(metric))}
    store = Store(directory, full_manifest, asked=len(examples), self_tests=tests, resumable=manifest is not None)
    done = {row.id for row in store.rows}
    before = list(store.manifest.self_tests.values())
    calls = RecordedCalls(store.calls, done=done, at_once=lm_calls, limits=limits, before=before, cache=cache)
    for row in store.whole_rows():
        on_row(row)
    run = _Run(program, metrics, store, calls, on_row, clean, retries, pause)
    try:
        with calls.recording():
            run.ask([example for example in examples if example.id not in done], threads)
    finally:
        summary = summarise(list(store.rows), len(examples), store.manifest, calls.stopped)
        store.conclude(summary)
    return summary


class _Tried(NamedTuple):
    """The outcome of one try at a question."""

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
        self._names = PredictorNames()
        self._events: SimpleQueue[Literal["ended", "interrupt"]] = SimpleQueue()
        self._state = threading.Lock()  # guards the store and what follows
        self._in_flight = 0
        self._answered = 0
        self._failed = 0
        self._stopped = False
        self._trouble: Exception | None = None

    def ask(self, examples: Sequence[dspy.Example], threads: int) -> None:
        waiting = iter(examples)
        working = min(threads, len(examples))
        interrupts = 0
        with _interrupts(lambda: self._events.put("interrupt")):
            for _ in range(working):
                context = contextvars.copy_context()
                threading.Thread(target=context.run, args=(self._work, waiting), daemon=True).start()
            while working and interrupts < 2:
                match self._event():
                    case "ended":
                        working -= 1
                    case "interrupt":
                        interrupts += 1
                        self._interrupted(interrupts)
        if interrupts:
            raise KeyboardInterrupt
        if self._trouble:
            raise self._trouble

    def _event(self) -> Literal["ended", "interrupt"]:
        while True:
            try:
                # With a timeout: Python sees a signal that comes just before it waits only when it has waited.
                return self._events.get(timeout=0.2)
            except Empty:
                pass

    def _interrupted(self, times: int) -> None:
        with self._state:
            self._stopped = True
            in_flight = self._in_flight
        if times == 1:
            logger.warning("finishing %d questions; interrupt again to leave them", in_flight)
        else:
            self._calls.stop("interrupted")

    def _work(self, waiting: Iterator[dspy.Example]) -> None:
        try:
            while (example := self._next(waiting)) is not None:
                self._ask(example)
        finally:
            self._events.put("ended")

    def _ask(self, example: dspy.Example) -> None:
        try:
            row = self._row(example)
            if row.error is not None and self._calls.stopped:
                raise Stopped  # the stop may have caused the error
            with self._state:
                self._keep(row)
        except Stopped:
            pass  # no row: the question is asked when the run goes on
        except Exception as error:  # the run's trouble, not the question's: a full disk, a broken metric
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
        with self._state:
            return self._store.hold(found)

    def _error(self, error: Exception) -> Error:
        line = without_url_secrets(" ".join(str(error).split()))
        line = re.sub(r"[^\s/:@('\"]+:[^\s/@]+@", "***@", line)  # DSPy writes addresses without their scheme, too
        return Error(kind=type(error).__name__, message=self._clean(line)[:_LONGEST_ERROR])

    def _keep(self, row: Row) -> None:
        self._store.add(row)
        if row.error is None:
            self._answered += 1
        else:
            self._failed += 1
        if not self._answered and self._failed >= _HOPELESS:
            self._stopped = True
        self._on_row(row)


@contextmanager
def _interrupts(tell: Callable[[], object]) -> Iterator[None]:
    """Call `tell` on an interrupt in the block, instead of raising KeyboardInterrupt.

    Python raises it between any two steps of the main thread, also while that starts a thread or waits for a lock: the
    first could end the run with a RuntimeError, the second leave a lock taken. Interrupts that are ignored stay so, and
    only the main thread is interrupted at all.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: tell())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check(examples: Sequence[dspy.Example]) -> None:
    if not examples:
        raise UsageError("there are no questions to ask")
    ids = Counter(example.get("id") for example in examples)
    if None in ids:
        raise UsageError("every question needs an id")
    if repeated := [id_ for id_, count in ids.items() if count > 1]:
        raise UsageError(f"every question needs its own id, but several have {repeated[0]!r}")


def fingerprint(examples: Sequence[dspy.Example]) -> str:
    """A hash of the questions with all that is known of them."""
    return hashlib.sha256(json.dumps([plain(dict(e.items())) for e in examples], sort_keys=True).encode()).hexdigest()


def _texts(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(map(str, values))
