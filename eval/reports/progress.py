"""How far a run is, while it is under way: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

from eval.records.record import Row
from eval.reports.formats import heading
from odqa.console import progress_bar

__all__ = ["Progress"]

_EVERY = 30.0  # seconds between two lines, at least


class Progress:
    """Shows questions, failures, score, LM calls and dollars so far, with the rate and the time left.

    A terminal gets a bar. Where stderr is a file or a pipe, a line is printed when a question ends and the last line is
    half a minute ago. The rate is that since the last line.

    Args:
        total: How many questions there are; None where that is not known.
        metric: The metric whose mean is shown; None for none.
        earlier: How many of the rows are of an earlier sitting; they come first, and do not count for the rate.
        file: Where to print; stderr if None.
        clock: Gives seconds.
    """

    def __init__(
        self,
        total: int | None,
        metric: str | None = None,
        *,
        earlier: int = 0,
        file: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = file or sys.stderr
        self._total = total
        self._metric = metric
        self._clock = clock
        self._earlier = earlier
        self._asked = self._failed = self._scored = self._calls = 0
        self._score = 0.0
        self._usd: float | None = 0.0
        self._at, self._asked_then = clock(), earlier
        self._bar = progress_bar(total=total, initial=earlier, unit="question", file=self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.close()

    def on_row(self, row: Row) -> None:
        """Count a question with what became of it; one call at a time."""
        self._failed += row.error is not None
        self._calls += row.cost.lm_calls
        self._usd = None if self._usd is None or row.cost.usd is None else self._usd + row.cost.usd
        if self._metric is not None and self._metric in row.scores:
            self._score += row.scores[self._metric] or 0.0
            self._scored += 1
        self.count()

    def count(self, questions: int = 1) -> None:
        """Count questions; one call at a time."""
        self._asked += questions
        if self._asked <= self._earlier:
            return
        if not self._bar.disable:
            self._bar.set_postfix_str(", ".join(self._figures()), refresh=False)
            self._bar.update(questions)
        elif self._clock() - self._at >= _EVERY:
            self.say(self._line())
            self._at, self._asked_then = self._clock(), self._asked

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        self._bar.write(line, file=self._file)

    def _figures(self) -> list[str]:
        """Score, failures and cost so far."""
        figures = [f"{heading(str(self._metric))} {100 * self._score / self._scored:.1f}"] if self._scored else []
        figures += [f"{self._failed} failed"] if self._failed else []
        figures += [f"{self._calls:,} LM calls"] if self._calls else []
        return [*figures, *([f"${self._usd:,.2f}"] if self._usd else [])]

    def _line(self) -> str:
        rate = (self._asked - self._asked_then) / (self._clock() - self._at)
        speed = f"{rate:.1f} questions/s" if rate >= 1 else f"{1 / rate:.1f} s/question"
        if self._total is None:
            return ", ".join([f"{self._asked} questions", *self._figures(), speed])
        left = f"{tqdm.format_interval((self._total - self._asked) / rate)} left"
        return ", ".join([f"{self._asked} of {self._total} questions", *self._figures(), speed, left])
