"""Write the rows of runs as a table, .csv or .parquet.

One row for each question of each run: question, gold answers, answer, scores, error, costs.
"""

import json
from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, read_runs
from odqa.console import output


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="table to write, .csv or .parquet")


def main(args: Namespace) -> None:
    from eval.reports.export import export

    output(json.dumps({"rows": export(read_runs(args), args.out)}))
