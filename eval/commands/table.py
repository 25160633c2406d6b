"""Make the page that compares all methods, from the runs of a set: what is missing is run, and the page written anew.

The figures of every run stand in table.csv beside the page, each as soon as the run has ended. Runs of another LM
(--lm) are added to them, so that nobody has to repeat the runs of others.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import programs
from eval.commands import set as set_of_runs
from eval.commands.set import Planned
from eval.figures.lines import line_of, name_of
from eval.records.lines import Line, merged, read_lines, write_lines
from eval.reports.methods import is_page, page
from eval.runs.sets import read_set
from odqa.console import say
from odqa.files import write_whole
from retrieval import UsageError

_FIGURES = "table.csv"


def add_flags(parser: ArgumentParser) -> None:
    set_of_runs.add_flags(parser)
    parser.add_argument("--out", metavar="PAGE.md", help="page to write (default: README.md beside FILE.toml)")
    parser.add_argument(
        "--no-runs", action="store_true", help="run nothing: write the page anew from the figures beside it"
    )


def main(args: Namespace) -> None:
    out = Path(args.out or Path(args.file).parent / "README.md")
    if out.suffix != ".md":
        raise UsageError(f"the page is Markdown: its name must end in .md, and {out} does not")
    if out.exists() and not is_page(out.read_text(encoding="utf-8", errors="replace")):
        raise UsageError(f"{out} is no page of this command's, and stays as it is: choose another with --out PAGE.md")
    lines = read_lines(out.parent / _FIGURES)
    if args.no_runs:
        _write(lines, out)
        return
    runs = set_of_runs.planned(args)
    if args.plan:
        set_of_runs.print_plan(runs)
        return

    def write() -> None:
        made = merged(lines, list(_lines(runs, args.file)))
        write_lines(out.parent / _FIGURES, made)
        _write(made, out)

    try:
        set_of_runs.make(runs, args, on_ended=write)
    finally:  # also of what there is before a limit, an interrupt or a failure
        write()


def _lines(runs: Sequence[Planned], file: str) -> Iterator[Line]:
    """A line for each run, also for those that are yet to be made."""
    of_task = {task.task: task.settings for task in read_set(file).tasks}
    made = [(each, set_of_runs.run_of(each)) for each in runs]
    directs = {_like(each): run for each, run in reversed(made) if each.request.program == "direct"}
    for each, run in made:
        about, own = each.about(), of_task.get(each.request.task, {})
        given = each.request.settings.items()
        what = Line(
            task=about["task"],
            program=about["program"],
            lm=name_of(each.lm.model),
            variant=_variant(about, ", ".join(f"{name} {value}" for name, value in given if name not in own)),
            settings=", ".join(f"{name} {value}" for name, value in given if name in own),
            retriever=about["retriever"],
            asked=len(each.examples),
        )
        yield line_of(run, what, directs.get(_like(each)))


def _like(each: Planned) -> tuple[str, ...]:
    """What a run has in common with the run of `direct` that it is compared with."""
    about = each.about()
    return tuple(about[name] for name in ("task", "lm", "adapter", "structured", "temperature", "seed"))


def _variant(about: Mapping[str, str], settings: str) -> str:
    """What tells the run from the usual one with its LM."""
    form = {"on": "by schema", "off": "without schema"}.get(about["structured"]) or about["adapter"]
    parts = [
        settings,
        "closed book" if about["retriever"] == "none" else "",
        "" if form == "chat" else form,
        "compiled" if about["state"] else "",
        f"demonstrations {about['demonstrations']}" if about["demonstrations"] else "",
        f"temperature {about['temperature']}" if about["temperature"] else "",
        f"seed {about['seed']}" if about["seed"] != "0" else "",
    ]
    return ", ".join(part for part in parts if part)


def _write(lines: Sequence[Line], out: Path) -> None:
    if not lines:
        raise UsageError(f"there are no figures in {out.parent / _FIGURES}: leave out --no-runs")
    names = programs.names()
    cards = {name for name in names if (out.parent / f"{name}.md").is_file()}
    write_whole(out, page(lines, names, cards).encode())
    say(f"page: {out}")
