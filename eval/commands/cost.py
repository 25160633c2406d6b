"""Print what runs cost, by predictor and in total.

LM calls, tokens, dollars, searches, seconds, iterations if the program has them, and how many replies were cut off.
"""

from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, read_runs
from eval.figures.costs import costs
from eval.reports.text import cost_table
from odqa.console import output


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser)


def main(args: Namespace) -> None:
    parts = [f"{r.name}\n{cost_table(costs(r.rows, r.manifest), list(r.calls()))}" for r in read_runs(args)]
    output("\n\n".join(parts))
