"""What goes wrong while a recipe runs. DSPy's optimizers count most of it as wrong answers and forget what it was.

After ten errors in one evaluation (`dspy.settings.max_errors`) DSPy gives up, with an exception that does not say what
they were; in SIMBA, GEPA and MIPROv2 it never does.
"""

import threading
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import LMError, LMInvalidRequestError

from eval.metrics import Metric
from eval.runs.recorded_calls import Calls, Stopped
from eval.runs.runner import without_url_secrets

__all__ = ["Failures", "line"]


class Failures(BaseCallback):
    """The errors of a program's runs and of the metric while a recipe runs.

    When as many runs fail one after the other as DSPy allows in an evaluation, no more begin: it is not the questions.
    When the LM's provider fails, after `dspy.LM` itself has tried again, no more calls are made: the recipe would learn
    from it that the answer is wrong, and would not do the same again when it goes on. A request that the provider
    refuses, such as a prompt that is too long, is an error of the run that made it.

    Args:
        kind: The program's class.
        calls: Stops when the LM fails.
    """

    def __init__(self, kind: type[dspy.Module], calls: Calls) -> None:
        self.count = 0
        self.first: Exception | None = None
        self.lm = False
        """Whether the LM's provider failed."""
        self._last: Exception | None = None
        self._in_a_row = 0
        self._hopeless = False
        self._kind = kind
        self._calls = calls
        self._running: set[str] = set()  # the calls of the program
        self._lock = threading.Lock()

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if isinstance(exception, LMError) and not isinstance(exception, LMInvalidRequestError):
            self.lm = True
            self._calls.stop(f"the LM failed ({line(exception)})")

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, self._kind):
            if self._calls.stopped:
                raise Stopped
            self._running.add(call_id)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if call_id in self._running:
            self._running.discard(call_id)
            if isinstance(exception, Exception):
                self._note(exception)

    def watched(self, metric: Metric) -> Metric:
        """The metric, whose errors are noted too."""

        def score(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float | None:
            try:
                value = metric(example, prediction, trace)
            except Exception as error:
                # Where a program fails SIMBA calls the metric all the same, with nothing.
                if prediction is not None:
                    self._note(error)
                raise
            self._in_a_row = 0
            return value

        score.__name__ = metric.__name__
        return score

    def ended(self, error: Exception | None) -> bool:
        """Whether it was these errors that ended the recipe, which raised this one."""
        if self.first is None or self.lm:
            return False
        cancelled = type(error) is Exception and str(error).startswith("Execution cancelled")
        return self._hopeless or cancelled or error is self._last

    def __str__(self) -> str:
        if self.first is None:
            return ""
        runs = "run" if self.count == 1 else "runs"
        return f"{self.count} {runs} failed while compiling, the first with {line(self.first)}"

    def _note(self, error: Exception) -> None:
        with self._lock:
            self.count += 1
            self.first = self.first or error
            self._last = error
            self._in_a_row += 1
            if self._in_a_row >= dspy.settings.max_errors:
                self._hopeless = True
                self._calls.stop("too many runs failed")


def line(error: BaseException) -> str:
    """The error in one line, without what URLs in it may hold of secrets."""
    return without_url_secrets(" ".join(f"{type(error).__name__}: {error}".split()))
