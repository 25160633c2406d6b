"""List the runs, state files and reports under a folder.

Of each run: program, task, LM, questions, the first metric with its 95 % interval, dollars and LM calls altogether, and
whether it is complete.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from eval.commands.options import columns
from eval.reports.formats import heading, interval, percent, usd
from eval.reports.text import align, fitted
from eval.runs.found import StateFile, find
from eval.runs.store import Glance, glance
from odqa.console import output
from retrieval import UsageError

_RUN = ("run", "program", "task", "LM", "questions", "score", "", "USD", "LM calls", "state")


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default="runs", metavar="DIR", help="folder (default: %(default)s)")


def main(args: Namespace) -> None:
    found = find(args.folder)
    parts = []
    if found.runs:
        parts.append(fitted([_RUN, *map(_run, found.runs)], (0, 1, 2, 3, 9), columns()))
    if found.states:
        heads = ("state file", "program", "recipe", "before", "after")
        parts.append(fitted([heads, *map(_state, found.states)], (0,), columns()))
    if found.reports:
        parts.append(align([("report", "title"), *((str(r.path), r.title) for r in found.reports)], left=(0, 1)))
    output("\n\n".join(parts) or f"there are no runs, states or reports in {args.folder}")


def _run(path: Path) -> tuple[str, ...]:
    try:
        seen = glance(path)
    except UsageError as error:
        return (str(path), *[""] * 8, str(error))
    manifest = seen.manifest
    about = (manifest.program or "–", manifest.task or "–", manifest.lm or "–")
    return (str(path), *about, f"{seen.rows}/{manifest.asked}", *_figures(seen), seen.gap or "complete")


def _figures(seen: Glance) -> tuple[str, ...]:
    """Score, interval, dollars and LM calls."""
    if seen.total is None:
        return ("–", "", "–", "–")
    total = seen.total
    spent = total.cost.get("usd")
    costs = (usd(None if spent is None else spent * total.n), f"{total.cost['lm_calls'] * total.n:,.0f}")
    for name, score in total.scores.items():
        return (f"{heading(name)} {percent(score, total.n)}", interval(score.low, score.high), *costs)
    return ("–", "", *costs)


def _state(state: StateFile) -> tuple[str, ...]:
    manifest = state.manifest
    scores = [manifest.get(when) for when in ("before", "after")]
    return (
        str(state.path),
        str(manifest.get("program", "–")),
        str(manifest.get("recipe", "–")),
        *(_first_score(score) for score in scores),
    )


def _first_score(figures: object) -> str:
    """The first of the metrics' scores, as a state's manifest has them; states of other makers have none."""
    match figures:
        case {"scores": dict(scores)}:
            for name, score in scores.items():
                match score:
                    case {"mean": float() | int() as mean}:
                        return f"{heading(name)} {100 * mean:.1f}"
    return "–"
