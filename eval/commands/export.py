"""`python -m eval export RUN … --out FILE.parquet`: the rows of runs as a table."""

import json
from argparse import Namespace

from eval.commands.options import add_runs, read_runs
from retrieval.command_line import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "export",
        allow_abbrev=False,
        help="write the rows of runs as a table, .csv or .parquet",
        description="Write the rows of runs as a table, one row for each question of each run: question, gold answers, "
        "answer, scores, error, costs.",
    )
    add_runs(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="table to write, .csv or .parquet")
    parser.set_defaults(command=_export)


def _export(args: Namespace) -> None:
    from eval.reports.export import export

    print(json.dumps({"rows": export(read_runs(args), args.out)}))
