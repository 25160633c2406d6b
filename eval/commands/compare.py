"""Compare runs of one task: differences with intervals and tests.

Compares them on the questions that all of them asked: means and differences with their confidence intervals, tests, and
costs. For the best of n answers, make n runs with --attempts n at a temperature above 0.
"""

import json
from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, columns, read_runs
from eval.figures.comparison import compare
from eval.records.record import jsonable
from eval.reports.text import comparison_table
from odqa.console import output, progress_bar


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser, "; several joined by commas count as one run with the best of their answers to each question")
    parser.add_argument("--metric", metavar="NAME,…", help="compare by these metrics (default: all that all runs have)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args: Namespace) -> None:
    metrics = args.metric.split(",") if args.metric else []
    made = compare(read_runs(args), metrics, progress=progress_bar)
    output(json.dumps(jsonable(made), ensure_ascii=False) if args.json else comparison_table(made, columns()))
