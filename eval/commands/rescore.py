"""Score a run anew, by other metrics or another judge, without asking the program again.

The rescored run is a run of its own; the first one stays as it is. The figures are printed, and how many scores
changed. An LM is asked only by a metric that has a judge, and never again for what it has
replied.
"""

from argparse import ArgumentParser, Namespace

import dspy

from eval import metrics
from eval.commands.options import add_judge_api_base, add_threads
from eval.records.run import Run
from eval.reports.progress import Progress
from eval.reports.text import table
from eval.runs.rescoring import rescore
from eval.runs.store import read
from odqa.console import output, say
from programs.instruments.adapters import load_adapter


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="directory of a run")
    parser.add_argument(
        "--metrics", metavar="NAME,…", help=f"what to compute: {metrics.HELP} (default: the metrics of the run)"
    )
    parser.add_argument("--out", metavar="DIR", help="directory for the rescored run (default: RUN-rescored)")
    add_judge_api_base(parser)
    add_threads(parser)


def main(args: Namespace) -> None:
    run = read(args.run)
    names = dict.fromkeys(args.metrics.split(",") if args.metrics else run.manifest.metrics)
    directory = args.out or f"{args.run.rstrip('/')}-rescored"
    with dspy.context(adapter=load_adapter("chat")):
        chosen = [metrics.load(name, judge_api_base=args.judge_api_base) for name in names]
        say(f"run: {directory}")
        with Progress(len(run.rows)) as progress:
            summary = rescore(
                run, metrics=chosen, directory=directory, threads=args.threads, on_row=lambda row: progress.count()
            )
    output(table(summary))
    output(_changes(run, read(directory)))


def _changes(old: Run, new: Run) -> str:
    """How many scores are others than before."""
    before = {row.id: row.scores for row in old.rows}
    both = [row for row in new.rows if row.id in before]
    lines = [f"questions that {old.name} has no more: {len(new.rows) - len(both)}"] if len(both) < len(new.rows) else []
    for name in new.manifest.metrics:
        if name not in old.manifest.metrics:
            lines.append(f"{name}: new")
            continue
        differ = sum(before[row.id].get(name) != row.scores.get(name) for row in both)
        lines.append(f"{name}: {differ} of {len(both)} scores changed")
    return "\n".join(lines)
