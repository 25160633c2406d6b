"""`python -m eval mlflow RUN …`: runs logged to MLflow."""

import json
from argparse import Namespace

from eval.commands.options import add_runs
from retrieval.command_line import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "mlflow",
        allow_abbrev=False,
        help="log runs to MLflow",
        description="Log runs to the MLflow tracking store that MLFLOW_TRACKING_URI names: settings, figures with "
        "their intervals, costs and the run's files. A run that was logged before is updated.",
    )
    add_runs(parser)
    parser.add_argument(
        "--experiment", default="dspy-odqa", metavar="NAME", help="experiment to log to (default: %(default)s)"
    )
    parser.set_defaults(command=_mlflow)


def _mlflow(args: Namespace) -> None:
    from eval.reports.mlflow import log

    for directory in args.runs:
        print(json.dumps({"run": directory, "mlflow_run": log(directory, experiment=args.experiment)}))
