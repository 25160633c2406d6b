"""`python -m eval cost RUN …`: what runs cost."""

from argparse import Namespace

from eval.commands.options import add_runs, read_runs
from eval.figures.costs import costs
from eval.reports.text import cost_table
from retrieval.command_line import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "cost",
        allow_abbrev=False,
        help="print what runs cost, by predictor and in total",
        description="Print what runs cost, by predictor and in total: LM calls, tokens, dollars, searches, seconds, "
        "and iterations if the program has them.",
    )
    add_runs(parser)
    parser.set_defaults(command=_cost)


def _cost(args: Namespace) -> None:
    print("\n\n".join(f"{run.name}\n{cost_table(costs(run.rows, run.manifest))}" for run in read_runs(args)))
