"""Keeps count of what fails while a recipe runs: DSPy's optimizers take most failures for wrong answers.

After ten errors in one evaluation (`dspy.settings.max_errors`) DSPy gives up, with an exception that does not say what
the errors were. In SIMBA, GEPA and MIPROv2 it never gives up.
"""

import threading
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import LMError, LMInvalidRequestError

from eval.metrics import Metric
from eval.runs.recorded_calls import RecordedCalls, Stopped
from odqa.secrets import public

__all__ = ["Failures", "one_line"]


class Failures(BaseCallback):
    """Collects the errors of the program's runs and of the metric while a recipe runs, and stops a hopeless recipe.

    - As many failures in a row as DSPy allows in one evaluation stop it: the cause is not the questions.
    - A failure of the LM's provider, after the retries of `dspy.LM`, stops it. Otherwise the recipe would learn that
      the answer is wrong, and would take another course when it is started again.
    - A request that the provider refuses, such as a prompt that is too long, is an error of that run alone.

    Args:
        kind: The program's class.
        calls: The recorded calls; stopped when the recipe is.
    """

    def __init__(self, kind: type[dspy.Module], calls: RecordedCalls) -> None:
        self.count = 0
        self.first: Exception | None = None
        self.provider_failed = False
        self._last: Exception | None = None
        self._in_a_row = 0
        self._hopeless = False
        self._kind = kind
        self._calls = calls
        self._running: set[str] = set()  # ids of the program's calls that have not ended
        self._lock = threading.Lock()

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if isinstance(exception, LMError) and not isinstance(exception, LMInvalidRequestError):
            self.provider_failed = True
            self._calls.stop(f"the LM failed ({one_line(exception)})")

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

    def watch(self, metric: Metric) -> Metric:
        """The same metric; its errors are collected too."""

        def score(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float | None:
            try:
                value = metric(example, prediction, trace)
            except Exception as error:
                # SIMBA calls the metric with None after a run that failed.
                if prediction is not None:
                    self._note(error)
                raise
            self._in_a_row = 0
            return value

        score.__name__ = metric.__name__
        return score

    def caused(self, error: Exception | None) -> bool:
        """Whether these errors ended the recipe, given the exception that it raised."""
        if self.first is None or self.provider_failed:
            return False
        cancelled = type(error) is Exception and str(error).startswith("Execution cancelled")
        return self._hopeless or cancelled or error is self._last

    def __str__(self) -> str:
        if self.first is None:
            return ""
        runs = "run" if self.count == 1 else "runs"
        return f"{self.count} {runs} failed while compiling, the first with {one_line(self.first)}"

    def _note(self, error: Exception) -> None:
        with self._lock:
            self.count += 1
            self.first = self.first or error
            self._last = error
            self._in_a_row += 1
            if self._in_a_row >= dspy.settings.max_errors:
                self._hopeless = True
                self._calls.stop("too many runs failed")


def one_line(error: BaseException) -> str:
    """The error in one line; secrets in URLs are taken out."""
    return public(" ".join(f"{type(error).__name__}: {error}".split()))
