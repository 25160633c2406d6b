"""Make the page that compares all methods, from the runs of a set: what is missing is run, and the page written anew.

The figures of every run stand in table.csv beside the page, each as soon as the run has ended, and what language models
gave for each question in questions.csv. Runs of another LM (--lm) are added to them, so that nobody has to repeat the
runs of others. Where a run is made again and its figures are not what they were, that is said.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import programs
from eval.commands import set as set_of_runs
from eval.commands.set import Planned
from eval.figures.lines import line_of, name_of, questions_of
from eval.records.lines import Line, QuestionLine, merged, merged_questions, read_lines, write_lines
from eval.reports.methods import is_page, page
from eval.runs.sets import read_set
from odqa.console import say
from odqa.files import write_whole
from retrieval import UsageError

_FIGURES = "table.csv"
_QUESTIONS = "questions.csv"


def add_flags(parser: ArgumentParser) -> None:
    set_of_runs.add_flags(parser)
    parser.add_argument("--out", metavar="PAGE.md", help="page to write (default: README.md beside FILE.toml)")
    parser.add_argument(
        "--no-runs", action="store_true", help="run nothing: write the page anew from the figures beside it"
    )
    parser.add_argument(
        "--missing", action="store_true", help="make only the runs whose figures are not beside the page yet"
    )


def main(args: Namespace) -> None:
    out = Path(args.out or Path(args.file).parent / "README.md")
    if out.suffix != ".md":
        raise UsageError(f"the page is Markdown: its name must end in .md, and {out} does not")
    if out.exists() and not is_page(out.read_text(encoding="utf-8", errors="replace")):
        raise UsageError(f"{out} is no page of this command's, and stays as it is: choose another with --out PAGE.md")
    lines = read_lines(out.parent / _FIGURES, Line)
    questions = read_lines(out.parent / _QUESTIONS, QuestionLine)
    if args.no_runs:
        _write(lines, out)
        return
    own = {task.task: task.settings for task in read_set(args.file).tasks}
    runs = [(each, _what(each, own.get(each.request.task, {}))) for each in set_of_runs.planned(args)]
    if args.missing:
        there = {line.key: line.n for line in lines}
        runs = [(each, what) for each, what in runs if there.get(what.key, 0) < what.asked]
        if not runs:
            say("no figures are missing")
            return
    if args.plan:
        set_of_runs.print_plan([each for each, _ in runs])
        return

    def write() -> None:
        made, asked = _made(runs, questions)
        if asked:
            write_lines(out.parent / _QUESTIONS, asked, QuestionLine)
        write_lines(out.parent / _FIGURES, merged(lines, made), Line)
        _write(merged(lines, made), out)

    try:
        set_of_runs.make([each for each, _ in runs], args, on_ended=write)
    finally:  # also of what there is before a limit, an interrupt or a failure
        write()
        _say_what_differs(lines, _made(runs, questions)[0])


def _what(each: Planned, own: Mapping[str, Any]) -> Line:
    """The line of a run before it has figures.

    Args:
        each: The run.
        own: The settings that its task asks for.
    """
    about = each.about()
    given = each.request.settings.items()
    return Line(
        task=about["task"],
        program=about["program"],
        lm=name_of(each.lm.model),
        variant=_variant(about, ", ".join(f"{name} {value}" for name, value in given if name not in own)),
        settings=", ".join(f"{name} {value}" for name, value in given if name in own),
        retriever=about["retriever"],
        asked=len(each.examples),
    )


def _made(
    runs: Sequence[tuple[Planned, Line]], questions: Sequence[QuestionLine]
) -> tuple[list[Line], list[QuestionLine]]:
    """A line for each run, also for those that are yet to be made, and the questions of all language models."""
    made = [(each, set_of_runs.run_of(each), what) for each, what in runs]
    for _, run, what in made:
        if run is not None:
            questions = merged_questions(questions, questions_of(run, line_of(run, what)))
    scores: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for line in questions:
        scores.setdefault(line.key, {})[line.id] = line.score
    return [line_of(run, what, _direct(each, what, scores)) for each, run, what in made], list(questions)


def _direct(
    each: Planned, what: Line, scores: Mapping[tuple[str, str, str, str], Mapping[str, float]]
) -> Mapping[str, float] | None:
    """The scores of the run of `direct` that a run is compared with; None for `direct` itself."""
    plain = {**each.about(), "retriever": "", "state": "", "demonstrations": ""}
    key = (what.task, "direct", what.lm, _variant(plain, ""))
    return None if key == what.key else scores.get(key)


def _say_what_differs(old: Sequence[Line], new: Sequence[Line]) -> None:
    """Say which figures are not what they were before. Seconds are those of the machine, and left out."""
    before = {line.key: line.model_dump() for line in old if line.n}
    for line in new:
        if line.n and (was := before.get(line.key)):
            differing = [
                f"{name} {was[name]} -> {value}"
                for name, value in line.model_dump().items()
                if value != was[name] and name != "seconds"
            ]
            if differing:
                say(f"not as it was: {', '.join(filter(None, line.key))}: {', '.join(differing)}")


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
