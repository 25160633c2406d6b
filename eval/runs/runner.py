"""A run: a program is asked every question, many at a time, and each row is on disk as soon as it is finished.

`dspy.Evaluate` is not used because it scores a crash 0 without saying so, loses everything when it is interrupted and
asks slow questions twice; the time of its ParallelExecutor grows with the square of the number of questions.
"""

import contextvars
import hashlib
import json
import logging
import platform
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

import dspy

from eval.figures.summary import Summary, summarise
from eval.metrics import Metric, self_test_of
from eval.records.record import PaidCall, Row, plain
from eval.runs.distributed.driver import employed
from eval.runs.distributed.job import Job
from eval.runs.question import Questioner
from eval.runs.recorded_calls import RecordedCalls, Stopped
from eval.runs.request import Pace
from eval.runs.store import Store, making
from odqa.cluster import Workers
from odqa.limits import Limiter
from retrieval import Passage, UsageError

__all__ = ["evaluate", "fingerprint", "questions_at_once", "whole_manifest"]

logger = logging.getLogger(__name__)

# When so many questions fail before any is answered, the fault is not in the questions: the run stops.
_HOPELESS = 10
_THREADS = 8
_LM_CALLS = 32


def evaluate(
    program: dspy.Module,
    examples: Sequence[dspy.Example],
    *,
    metrics: Sequence[Metric],
    directory: str | Path,
    threads: int | None = None,
    lm_calls: int | None = None,
    workers: Workers | None = None,
    retries: int = 2,
    pause: float = 1.0,
    limiter: Limiter | None = None,
    cache: bool = False,
    manifest: Mapping[str, Any] | None = None,
    part: slice = slice(None),
    known: Iterable[PaidCall] = (),
    on_row: Callable[[Row], object] = lambda row: None,
) -> Summary:
    """Ask the program every question and write the results to the files that `eval.runs.store` names.

    A question that ends in an exception, of the program or of a metric, gets a row with the error and without scores,
    and the run goes on. When the first ten questions all fail, the run stops and its summary is not complete. What
    metrics ask of an LM is counted apart from the program's costs: under `judging` in rows, `judges` in the summary.

    To go on with a run that was cut short, start it again with the same directory, questions, metrics and manifest.
    Questions that were answered are not asked again; those that failed are. No LM call that was answered is paid again.
    This holds for DSPy's current LM, and for the LM of a predictor or a judge if its cache is on.

    Args:
        program: Any module that takes a question and returns a prediction with an `answer`, and `passages` and
            `evidence`, lists of passages, where it has them. The LM is DSPy's current one.
        examples: The questions, each with its own `id`, as from `eval.tasks.load`.
        metrics: See `eval.metrics`.
        directory: Where the files go.
        threads: See `eval.runs.request.Pace`; likewise `lm_calls`, `workers` and `retries`.
        pause: Seconds before the first retry; twice as long before each further one.
        limiter: When to stop early; None for never. Replies that were paid for are kept for the next sitting.
        cache: Use the replies in DSPy's cache, where the LM's is on, and add to it. It does not know which server gave
            a reply. Else every reply of the run is the LM's own.
        manifest: What this run is, as plain values without secrets. A run without one cannot be taken up again.
        part: Ask only these of the questions now; a later call with the same directory asks others.
        known: Calls that were paid for elsewhere: their replies are taken where the same question asks the same.
        on_row: Called with each row once it is on disk, first with those of earlier sittings; one call at a time.

    Raises:
        UsageError: an argument or the directory cannot be used.
        KeyboardInterrupt: passed on after the questions in flight are finished and the summary is written. A second
            interrupt does not wait: the questions in flight end at their next LM call.
    """
    _check(examples, threads, lm_calls, retries)
    full_manifest = {**whole_manifest(manifest or {}, examples), "metrics": [metric.__name__ for metric in metrics]}
    tests = {metric.__name__: test for metric in metrics if (test := self_test_of(metric))}
    how = {"retries": retries, "pause": pause}
    job = Job(program, metrics, dspy.settings.lm, dspy.settings.adapter, how, cache=cache)
    with making(directory):
        store = Store(directory, full_manifest, asked=len(examples), self_tests=tests, resumable=manifest is not None)
        pace = Pace(threads=threads, lm_calls=lm_calls, workers=workers)
        return _asked(store, examples, part, job, pace, limiter or Limiter(), known, on_row)


def _asked(
    store: Store,
    examples: Sequence[dspy.Example],
    part: slice,
    job: Job,
    pace: Pace,
    limiter: Limiter,
    known: Iterable[PaidCall],
    on_row: Callable[[Row], object],
) -> Summary:
    """The summary of the questions, when those without a row were asked."""
    calls = RecordedCalls(
        store.calls,
        done={row.id for row in store.rows},
        at_once=pace.lm_calls or _LM_CALLS,
        limiter=limiter,
        before=list(store.manifest.self_tests.values()),
        known=known,
        cache=job.cache,
    )
    for row in store.whole_rows():
        on_row(row)
    run = _Run(store, calls, on_row, examples, part)
    try:
        run.ask(job, pace)
    finally:
        summary = summarise(list(store.rows), len(examples), store.manifest, calls.stopped)
        store.conclude(summary)
    return summary


def questions_at_once() -> int:
    """How many questions are in flight at the same time where nobody says: what suits DSPy's current LM."""
    lm: Any = dspy.settings.lm
    return getattr(getattr(lm, "engine", None), "parallel", _THREADS)


class _Run:
    """Which questions of a run wait, and what is kept of those that were asked. Safe for many threads."""

    def __init__(
        self,
        store: Store,
        calls: RecordedCalls,
        on_row: Callable[[Row], object],
        examples: Sequence[dspy.Example],
        part: slice,
    ) -> None:
        self._store = store
        self._calls = calls
        self._on_row = on_row
        self._numbers = {example.id: n for n, example in enumerate(examples, 1)}
        self._events: SimpleQueue[Literal["ended", "interrupt"]] = SimpleQueue()
        self._state = threading.Lock()  # guards the store and what follows
        done = {row.id for row in store.rows}
        self._waiting = deque(example for example in examples[part] if example.id not in done)
        self._in_flight = 0
        self._answered = 0
        self._failed = 0
        self._stopped = False
        self._trouble: Exception | None = None

    def ask(self, job: Job, pace: Pace) -> None:
        """Ask the questions that wait, here or in workers; raises as `oversee`."""
        at_once = min(pace.threads or questions_at_once(), len(self._waiting))
        with self._calls.recording():
            if pace.workers is None:
                questioner = Questioner(job.program, job.metrics, self._calls, self.hold, **job.how)
                self.oversee([partial(self.work, questioner)] * at_once)
            elif self._waiting:
                with employed(pace, job, self, self._calls) as tasks:
                    self.oversee(tasks)

    def oversee(self, tasks: Sequence[Callable[[], object]]) -> None:
        """Do each task in a thread until all have ended, which take questions from here; see to interrupts meanwhile.

        Raises:
            KeyboardInterrupt: as `evaluate` says.
            Exception: what `fail` was told.
        """
        working = len(tasks)
        interrupts = 0
        with _interrupts(lambda: self._events.put("interrupt")):
            for task in tasks:
                context = contextvars.copy_context()
                threading.Thread(target=context.run, args=(self._do, task), daemon=True).start()
            while working and interrupts < 2:
                match self._event():
                    case "ended":
                        working -= 1
                    case "interrupt":
                        interrupts += 1
                        self._interrupted(interrupts)
        if interrupts:
            raise KeyboardInterrupt
        if trouble := self._trouble or self._calls.trouble:
            raise trouble

    def _do(self, task: Callable[[], object]) -> None:
        try:
            task()
        finally:
            self._events.put("ended")

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

    def work(self, questioner: Questioner) -> None:
        """Ask questions here, one after the other."""
        while (example := self.next_question()) is not None:
            self.finish(partial(questioner.row, example))

    def next_question(self) -> dspy.Example | None:
        """The next question, which is in flight from now on; None if no more are to be asked."""
        with self._state:
            if self._stopped or self._calls.exhausted() or not self._waiting:
                return None
            self._in_flight += 1
            return self._waiting.popleft()

    def put_back(self, examples: Sequence[dspy.Example]) -> None:
        """These questions, which were in flight, are to be asked again."""
        with self._state:
            self._waiting.extendleft(reversed(examples))
            self._in_flight -= len(examples)

    def finish(self, make_row: Callable[[], Row]) -> None:
        """A question is no longer in flight: keep its row, or what went wrong."""
        try:
            row = make_row()
            if row.error is not None and self._calls.exhausted():
                raise Stopped  # the stop may have caused the error
            with self._state:
                self._keep(row)
        except Stopped:
            pass  # no row: the question is asked when the run goes on
        except Exception as error:  # the run's trouble, not the question's: a full disk, a broken metric
            self.fail(error)
        finally:
            with self._state:
                self._in_flight -= 1

    def fail(self, trouble: Exception) -> None:
        """End the run, because of something that is not a question's fault."""
        self._trouble = trouble
        self._stopped = True

    def left(self) -> int:
        """How many questions wait or are in flight; only those in flight if no more are to be asked."""
        with self._state:
            begins = not (self._stopped or self._calls.stopped)
            return self._in_flight + (len(self._waiting) if begins else 0)

    def hold(self, passages: Sequence[Passage]) -> set[tuple[str, str]]:
        """Have the store keep the passages; see `eval.runs.store.Store.hold`."""
        with self._state:
            return self._store.hold(passages)

    def _keep(self, row: Row) -> None:
        self._store.add(row.model_copy(update={"number": self._numbers[row.id]}))
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


def _check(examples: Sequence[dspy.Example], threads: int | None, lm_calls: int | None, retries: int) -> None:
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    if lm_calls is not None and lm_calls < 1:
        raise UsageError(f"the number of LM calls in flight must be at least 1, not {lm_calls}")
    if retries < 0:
        raise UsageError(f"retries must be 0 or more, not {retries}")
    if not examples:
        raise UsageError("there are no questions to ask")
    ids = Counter(example.get("id") for example in examples)
    if None in ids:
        raise UsageError("every question needs an id")
    if repeated := [id_ for id_, count in ids.items() if count > 1]:
        raise UsageError(f"every question needs its own id, but several have {repeated[0]!r}")


def whole_manifest(manifest: Mapping[str, Any], examples: Sequence[dspy.Example]) -> dict[str, Any]:
    """The manifest with what every run records but its metrics: a hash of the questions, and the versions."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in ("dspy", "dspy-odqa")}}
    return {**plain(manifest), "questions": fingerprint(examples), "versions": versions}


def fingerprint(examples: Sequence[dspy.Example]) -> str:
    """A hash of the questions with all that is known of them."""
    return hashlib.sha256(json.dumps([plain(dict(e.items())) for e in examples], sort_keys=True).encode()).hexdigest()
