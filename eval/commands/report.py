"""Write one HTML page of a run, or of several runs of one task side by side.

It has figures with their intervals, accuracy against cost, and what happened to each question. The file needs no
network and no other file.
"""

from argparse import ArgumentParser, Namespace

from eval.commands.options import add_runs, read_runs
from retrieval import UsageError
from retrieval.command_line import say


def add_flags(parser: ArgumentParser) -> None:
    add_runs(parser, "; several joined by commas count as one run with the best of their answers to each question")
    parser.add_argument(
        "--out", required=True, metavar="FILE.html", help="file to write; an existing file is overwritten"
    )


def main(args: Namespace) -> None:
    from eval.reports.html.page import page, write

    if not args.out.endswith(".html"):
        raise UsageError(f"a report is an HTML file: its name must end in .html, and {args.out} does not")
    write(args.out, page(read_runs(args)))
    say(f"report: {args.out}")
