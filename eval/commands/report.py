"""Write one HTML page of a run, of several runs of one task side by side, or of a race between methods.

It has figures with their intervals, accuracy against cost, and what happened to each question; of a race, who was
dropped when and why. The file needs no network and no other file.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from eval.choosing.record import FILE, read_race
from eval.commands.options import add_runs, read_runs
from odqa.console import progress_bar, say
from retrieval import UsageError


def add_flags(parser: ArgumentParser) -> None:
    add_runs(
        parser,
        ", or of one race of odqa choose; several joined by commas count as one run with the best of their answers to "
        "each question",
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE.html", help="file to write; an existing file is overwritten"
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the programs and the task)")
    parser.add_argument(
        "--tables",
        metavar="DIR",
        help="also write each table as Markdown (.md) and LaTeX (.tex), and each drawing as .svg, into this directory",
    )
    parser.add_argument(
        "--no-prompts",
        action="store_true",
        help="leave out the prompts and replies of the questions; by default the page has up to 20 MB of them",
    )


def main(args: Namespace) -> None:
    from eval.reports.html.files import write_files
    from eval.reports.html.page import page, write
    from eval.reports.html.race import race_page

    if not args.out.endswith(".html"):
        raise UsageError(f"a report is an HTML file: its name must end in .html, and {args.out} does not")
    if any((Path(directory) / FILE).is_file() for directory in args.runs):
        if len(args.runs) > 1:
            raise UsageError("a race has a page of its own: name its directory alone")
        made = race_page(read_race(args.runs[0]), args.title)
    else:
        made = page(read_runs(args), title=args.title, prompts=not args.no_prompts, progress=progress_bar)
    write(args.out, made.html)
    say(f"report: {args.out}")
    if args.tables:
        write_files(made.files, args.tables)
        say(f"tables and drawings: {args.tables}")
