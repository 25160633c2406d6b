"""Print what runs cost, by predictor and in total.

LM calls, tokens, dollars, searches, seconds, and iterations if the program has them.
"""

from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, read_runs
from eval.figures.costs import costs
from eval.reports.text import cost_table
from odqa.console import output


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser)


def main(args: Namespace) -> None:
    output("\n\n".join(f"{run.name}\n{cost_table(costs(run.rows, run.manifest))}" for run in read_runs(args)))
