"""Log runs to MLflow.

Settings, figures with their intervals, costs and the run's files go to the tracking store that MLFLOW_TRACKING_URI
names. A run that was logged before is updated.
"""

import json
from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, read_runs
from odqa.console import output


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument(
        "--experiment", default="dspy-odqa", metavar="NAME", help="experiment to log to (default: %(default)s)"
    )


def main(args: Namespace) -> None:
    from eval.reports.mlflow import log

    for run in read_runs(args):
        output(json.dumps({"run": run.name, "mlflow_run": log(run, experiment=args.experiment)}))
