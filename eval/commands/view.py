"""Show a run, one question of a run, a state file, or a report.

A run: its settings, figures, and why questions are wrong. A question: its trace from the queries to the answer, with
--prompts what the LM was asked and replied. A state file: where it comes from, and each predictor's instructions. A
report is opened in the browser.
"""

import webbrowser
from argparse import ArgumentParser, Namespace
from pathlib import Path

from eval.commands.options import add_skip_damaged
from eval.figures.outcomes import REASONS, breakdown, reason
from eval.figures.settings import settings
from eval.figures.summary import summarise
from eval.records.run import Run
from eval.reports.formats import heading
from eval.reports.text import align, table
from eval.reports.trace import calls_text, question_text
from eval.runs.found import StateFile, read_report, read_state
from eval.runs.store import read
from odqa.console import output, progress_bar, say
from retrieval import UsageError


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="directory of a run, STATE.json, or REPORT.html")
    parser.add_argument("question", nargs="?", metavar="ID", help="of a run, the question with this id")
    add_skip_damaged(parser)
    parser.add_argument(
        "--prompts", action="store_true", help="with ID: also the prompts and replies that are recorded"
    )


def main(args: Namespace) -> None:
    path = Path(args.path)
    if path.is_dir():
        run = read(path, skip_damaged=args.skip_damaged)
        output(_run(run) if args.question is None else _question(run, args.question, args.prompts))
    elif args.question is not None:
        raise UsageError(f"only runs have questions, and {path} is no directory of a run")
    elif state := read_state(path):
        output(_state(state))
    elif read_report(path):
        address = path.resolve().as_uri()
        say(f"report: {address}" if webbrowser.open(address) else f"no browser here; the report is {address}")
    else:
        raise UsageError(f"{path} is no directory of a run, no state file and no report")


def _run(run: Run) -> str:
    lines = [[setting.name, *setting.values] for setting in settings([run.manifest])]
    known = run.passages()
    whys = [reason(row, known) for row in run.rows]
    summary = summarise(run.rows, run.manifest.asked, run.manifest, run.gap, progress=progress_bar)
    wrong = {name: breakdown(run.rows, name, whys) for name in summary.total.scores}
    reasons = [name for name in REASONS if any(counts[name] for counts in wrong.values())]
    counts = [[name, *(str(of_metric[name]) for of_metric in wrong.values())] for name in reasons]
    parts = [align(lines, left=(0, 1)), table(summary)]
    if counts:
        parts.append(align([["why wrong", *map(heading, wrong)], *counts]))
    return "\n\n".join([*parts, f"as a page: odqa eval report {run.name} --out FILE.html"])


def _question(run: Run, id_: str, prompts: bool) -> str:
    row = next((row for row in run.rows if row.id == id_), None)
    if row is None:
        some = ", ".join(row.id for row in run.rows[:5])
        raise UsageError(f"the run has no question {id_!r}; its first ones are {some}")
    text = question_text(row, run.passages())
    if not prompts:
        return text
    return f"{text}\n\n{calls_text([call for call in run.calls() if call.question == id_])}"


def _state(state: StateFile) -> str:
    made = [[name, str(value)] for name, value in state.manifest.items() if not isinstance(value, dict | list)]
    parts = [align(made, left=(0, 1))] if made else []
    for name, predictor in state.predictors.items():
        parts.append(f"{name}: {len(predictor.demos)} demonstrations\n{predictor.signature.instructions}")
    return "\n\n".join(parts)
