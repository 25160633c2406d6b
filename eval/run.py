"""A run: every question asked of a program side by side, one row each, on disk the moment it is finished.

DSPy's ParallelExecutor does the work. `dspy.Evaluate`, which stands on it too, would score a crash 0 without saying so,
lose everything when it is interrupted, and ask slow questions twice.
"""

import hashlib
import json
import logging
import math
import platform
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.parallelizer import ParallelExecutor

from eval.ledger import Ledger
from eval.metrics import Metric
from eval.metrics.squad import golds_of
from eval.summary import Row, Summary, summarise
from programs._cost import measured
from retrieval import Passage, UsageError

__all__ = ["evaluate", "without_url_secrets"]

logger = logging.getLogger(__name__)

# So many questions that fail before any is answered stop a run: it is not the questions.
_HOPELESS = 10
_LONGEST_ERROR = 1000  # characters
_NOTHING = dspy.Prediction(answer="", queries=[], passages=[], evidence=[])


def evaluate(
    program: dspy.Module,
    examples: Sequence[dspy.Example],
    *,
    metrics: Sequence[Metric],
    directory: str | Path,
    threads: int = 8,
    manifest: Mapping[str, Any] | None = None,
    on_row: Callable[[Row], object] = lambda row: None,
    clean: Callable[[str], str] = str,
) -> Summary:
    """Ask the program every question and write down what comes of it, in the files that `eval.ledger` names.

    A question that ends in an exception, of the program or of a metric, has a row with the error and without scores,
    and the run goes on; but when the first ten all fail it stops, and its summary is not complete.

    A run that was cut short goes on where it stopped when it is started again with the same directory, questions,
    metrics and manifest: questions that were answered are not asked again, those that failed are.

    Args:
        program: Any module that takes a question and gives a prediction with an answer; `passages` and `evidence`,
            lists of `retrieval.Passage`, are looked at where it has them. Its LM is DSPy's current one.
        examples: The questions, each with an `id` of its own, as from `eval.tasks.load`.
        metrics: What to score; see `eval.metrics`.
        directory: Where the files go.
        threads: Questions in flight at the same time.
        manifest: What this run is: LM, program, settings, retriever …; plain values, no secrets. Recorded with the
            metrics, a hash of the questions, and versions. Without it nothing would tell this run from another, and
            so it cannot be taken up again.
        on_row: Called with each row that is on disk, those of a run that is taken up first; from any thread, one call
            at a time.
        clean: Applied to the message of every error before it is written; what URLs hold of secrets is removed anyway.

    Raises:
        UsageError: an argument or the directory cannot be used.
        KeyboardInterrupt: as it came, when the questions in flight are finished and the summary is written; a second
            one does not wait for the questions.
    """
    if threads < 1:
        raise UsageError(f"threads must be at least 1, not {threads}")
    _check(examples)
    full_manifest = {
        **_plain(manifest or {}),
        "metrics": [metric.__name__ for metric in metrics],
        "questions": _fingerprint(examples),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("dspy", "dspy-odqa")}},
    }
    ledger = Ledger(directory, full_manifest, resumable=manifest is not None)
    done = {row["id"] for row in ledger.rows}
    for row in ledger.rows:
        on_row(row)
    run = _Run(program, metrics, ledger, on_row, clean)
    try:
        run.ask([example for example in examples if example.id not in done], threads)
    finally:
        summary = summarise(list(ledger.rows), len(examples), ledger.manifest)
        ledger.conclude(summary)
    return summary


def without_url_secrets(text: str) -> str:
    """The text with what URLs in it may hold of secrets, user with password and query, blotted out."""
    text = re.sub(r"(\w://)[^/\s]*@", r"\1***@", text)
    return re.sub(r"(\w://[^?\s]*\?)[^\s\"')]+", r"\1***", text)


class _Run:
    def __init__(
        self,
        program: dspy.Module,
        metrics: Sequence[Metric],
        ledger: Ledger,
        on_row: Callable[[Row], object],
        clean: Callable[[str], str],
    ) -> None:
        self._program = program
        self._metrics = metrics
        self._ledger = ledger
        self._on_row = on_row
        self._clean = clean
        self._state = threading.Condition()  # guards the ledger and what follows
        self._in_flight = 0
        self._answered = 0
        self._failed = 0
        self._stopped = False
        self._trouble: Exception | None = None

    def ask(self, examples: Sequence[dspy.Example], threads: int) -> None:
        # timeout=0: slow questions are not asked a second time. `_ask` never raises: the executor would log the error
        # with the whole question, and when it stops early it does not wait for the questions in flight.
        executor = ParallelExecutor(num_threads=threads, max_errors=1, disable_progress_bar=True, timeout=0)
        try:
            executor.execute(self._ask, examples)
        except KeyboardInterrupt:
            with self._state:
                self._stopped = True
                if self._in_flight:
                    logger.warning("finishing %d questions; interrupt again to leave them", self._in_flight)
                self._state.wait_for(lambda: not self._in_flight)
            raise
        if self._trouble:
            raise self._trouble

    def _ask(self, example: dspy.Example) -> None:
        with self._state:
            if self._stopped:
                return
            self._in_flight += 1
        try:
            row = self._row(example)
            with self._state:
                self._keep(row)
        except Exception as error:  # not the question's trouble but the run's: a full disk, a metric that always fails
            self._trouble = error
            self._stopped = True
        finally:
            with self._state:
                self._in_flight -= 1
                self._state.notify_all()

    def _row(self, example: dspy.Example) -> Row:
        record, error = None, None
        try:
            with measured() as cost:
                prediction = self._program(**example.inputs())
            if not isinstance(prediction, dspy.Prediction) or "answer" not in prediction:
                raise UsageError("the program gives no prediction with an answer, and nothing else can be evaluated")
            record = _record(prediction)
            scores = self._score(example, prediction)
        except Exception as raised:
            line = without_url_secrets(" ".join(f"{type(raised).__name__}: {raised}".split()))
            error = self._clean(line)[:_LONGEST_ERROR]
            scores = dict.fromkeys(self._score(example, _NOTHING))  # the metrics that count this question
        return {
            "id": example.id,
            "question": example.get("question"),
            "answers": golds_of(example),
            "type": example.get("type"),
            "prediction": record,
            "scores": scores,
            "error": error,
            "cost": asdict(cost),
        }

    def _score(self, example: dspy.Example, prediction: dspy.Prediction) -> dict[str, float | None]:
        scores = {metric.__name__: metric(example, prediction) for metric in self._metrics}
        return {name: float(score) for name, score in scores.items() if score is not None}

    def _keep(self, row: Row) -> None:
        self._ledger.add(row)
        if row["error"] is None:
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
    return hashlib.sha256(json.dumps([_plain(dict(e.items())) for e in examples], sort_keys=True).encode()).hexdigest()


def _record(prediction: dspy.Prediction) -> dict[str, Any]:
    """The prediction's fields as JSON holds them; a passage has its text only where the retriever gave another one."""
    passages = prediction.get("passages")
    found = [passage for passage in passages if isinstance(passage, Passage)] if isinstance(passages, list) else []
    return {name: _plain(value, {(p.id, p.text) for p in found}) for name, value in prediction.items()}


def _plain(value: Any, found: Set[tuple[str, str]] = frozenset()) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Passage():
            named = {"id": value.id, "title": value.title, "score": _plain(value.score)}
            return named if (value.id, value.text) in found else {**named, "text": value.text}
        case Mapping():
            return {str(key): _plain(item, found) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, found) for item in value]
    return str(value)
