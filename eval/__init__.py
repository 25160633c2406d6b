"""Programs judged from outside: tasks give the questions, metrics score the predictions, a run keeps every row.

    from eval import Request, figures_of, report, run

    done = run(Request(task="sample", program="blendfilter", lm="extractive", limit=20), "runs/mine")
    print(figures_of(done).total.scores["em"])
    report([done], "mine.html")

Write `from eval import y` or `from eval.x import y`, never `import eval`: it hides the builtin.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt ends the process at once

if TYPE_CHECKING:
    from eval.figures.summary import figures_of
    from eval.reports.html.page import report
    from eval.runs.prepare import run
    from eval.runs.request import Pace, Request

__all__ = ["Pace", "Request", "figures_of", "report", "run"]

_PLACES = {
    "Pace": "eval.runs.request",
    "Request": "eval.runs.request",
    "figures_of": "eval.figures.summary",
    "report": "eval.reports.html.page",
    "run": "eval.runs.prepare",
}


def __getattr__(name: str) -> Any:
    """What is offered here, imported when it is asked for: a metric alone needs no runs."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
