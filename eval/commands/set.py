"""Make the runs that a TOML file describes, and print one table of them: programs, settings, tasks, LMs, seeds.

Each entry of a list in the file is combined with each entry of the others. Every run has a directory of its own. When
the command is repeated, a finished run is not made again, and one that was cut short goes on. A run that fails does not
end the others.
"""

import json
import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

import lms
from eval import metrics
from eval.commands.options import add_data, add_limits, add_pace, check_prices, columns, limits_of, pace_of, task_name
from eval.commands.run import watched
from eval.figures.summary import summarise
from eval.records.run import Run
from eval.records.standing import standing
from eval.reports.run_set import Outcome, Prospect, plan_table, set_table
from eval.runs.asking import draws
from eval.runs.prepare import Opened, adapter, load_metrics, manifest_of, metric_names, prepare
from eval.runs.request import Request
from eval.runs.runner import fingerprint
from eval.runs.sets import LMEntry, RunSet, combinations, read_set
from eval.runs.store import answered, count_paid, is_finished, read_begun
from odqa.bridge import price
from odqa.console import output, say
from odqa.limits import Limiter
from programs.commands.flags import environment, say_sample
from programs.instruments.plan import Amount, plan
from retrieval import OdqaError, UsageError

_LONGEST_NAME = 100  # characters of a directory's name before its hash
_SERVERLESS = ("oracle", "extractive", "gguf:")  # LMs that the address of a server is not for
_JUDGE = "acc_judge"  # how a metric that asks an LM begins
_PLANNED_ON = 2  # questions of each task


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.toml", help="the set; docs/evaluation.md says what stands in it")
    parser.add_argument(
        "--plan", action="store_true", help="ask no LM; print which runs there are, and what they will cost"
    )
    parser.add_argument("--runs", metavar="DIR", help="folder for the runs (default: runs/FILE)")
    parser.add_argument(
        "--lm",
        action="append",
        metavar="SPEC",
        help="an LM in place of those in the file, as for odqa eval; can be repeated",
    )
    parser.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server for --lm")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions of each task")
    add_limits(parser, "the whole set")
    add_pace(parser)
    add_data(parser)


def main(args: Namespace) -> None:
    runs = planned(args)
    if args.plan:
        print_plan(runs)
    else:
        make(runs, args)


def planned(args: Namespace) -> list["Planned"]:
    """The runs that the flags ask for, each once.

    Raises:
        UsageError: the set, or one of its runs, cannot be made.
    """
    made = read_set(args.file)
    if args.api_base and not args.lm:
        raise UsageError("--api-base goes with --lm: an LM in the file has its own api_base")
    if args.lm:
        entries = [{"lm": lm, "api_base": args.api_base} for lm in args.lm]
        made = made.model_copy(update={"lms": tuple(map(LMEntry.model_validate, entries))})
    runs = list({each.directory: each for each in _planned(made, args)}.values())
    for each in runs:
        check_prices(limits_of(args), each.lm)
    return runs


def print_plan(runs: Sequence["Planned"]) -> None:
    """Print which runs there are, and what they will cost."""
    output(plan_table(list(_prospects(runs)), columns()))


@dataclass(frozen=True, slots=True)
class Planned:
    """A run of the set, ready to be made."""

    request: Request
    examples: Sequence[dspy.Example]
    lm: dspy.LM
    manifest: dict[str, Any]
    directory: Path
    opened: Opened
    """What the runs of the set share."""

    def about(self) -> dict[str, str]:
        """What it is, for a table."""
        request = self.request
        return {
            "task": request.task,
            "program": request.program,
            "settings": ", ".join(f"{name} {value}" for name, value in request.settings.items()),
            "state": request.state or "",
            "demonstrations": str(request.demonstrations or ""),
            "retriever": self.manifest["retriever"],
            "lm": f"{self.lm.model} ({what})" if (what := standing(self.lm.model)) else self.lm.model,
            "server": self.manifest["api_base"] or "",
            "temperature": "" if self.manifest["temperature"] is None else f"{self.manifest['temperature']:g}",
            "adapter": self.manifest["adapter"],
            "structured": self.manifest["structured"] or "",
            "seed": str(self.manifest["seed"]),
        }


def _planned(made: RunSet, args: Namespace) -> Iterator[Planned]:
    """All runs. What they share is read and opened once.

    Raises:
        UsageError: a run of them cannot be made; the message says which.
    """
    opened = Opened()
    same: set[str] = set()  # LMs that every seed has give the same replies
    folder = Path(args.runs or f"runs/{Path(args.file).stem}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"the runs need a folder, and {folder} is none: choose another with --runs")
    usual: dict[str, Any] = {"data": args.data, "pace": pace_of(args)}
    usual |= {"retriever": named} if (named := environment("ODQA_RETRIEVER")) else {}
    for combined in combinations(made, usual):
        request = _with_server(combined if args.limit is None else replace(combined, limit=args.limit))
        try:
            with adapter(request):
                if request.retriever not in opened.retrievers:
                    say_sample(request.retriever)
                for seed in made.seeds:
                    each = _prepared(replace(request, seed=seed), folder, opened)
                    yield each
                    if not draws(each.lm):
                        if len(made.seeds) > 1 and each.lm.model not in same:
                            same.add(each.lm.model)
                            say(f"{each.lm.model} gives the same replies with every seed: only seed {seed} is run")
                        break
        except UsageError as error:
            raise UsageError(f"{args.file}: {request}: {error}") from None


def _prepared(request: Request, folder: Path, opened: Opened) -> Planned:
    ready = prepare(request, opened)
    names = metric_names(request, ready.examples)
    for name in names:
        if not name.startswith(_JUDGE):  # it would be asked
            metrics.load(name)
    manifest = manifest_of(ready)
    whole = json.dumps([manifest, names, fingerprint(ready.examples)], sort_keys=True)
    name = f"{_name(request)}-{sha256(whole.encode()).hexdigest()[:8]}"
    assert ready.lm is not None
    return Planned(request, ready.examples, ready.lm, manifest, folder / task_name(request.task) / name, opened)


def _with_server(request: Request) -> Request:
    """The request with the server of ODQA_API_BASE, where it names none and its LM may have one."""
    address = environment("ODQA_API_BASE")
    if address is None or "api_base" in request.lm_settings or request.lm.startswith(_SERVERLESS):
        return request
    return replace(request, lm_settings={"api_base": address, **request.lm_settings})


def _name(request: Request) -> str:
    """What can be read off the name of a run's directory. What else tells runs apart is in its hash."""
    settings = [f"{name}{'-' * isinstance(value, str)}{value}" for name, value in request.settings.items()]
    kind, _, where = request.retriever.rpartition(":")
    parts = [
        request.program,
        *settings,
        *([Path(request.state).stem] if request.state else []),
        *([f"demonstrations{request.demonstrations}"] if request.demonstrations else []),
        "-".join([*([kind] if kind else []), Path(where).name]),
        request.lm.rpartition("/")[2],
        *([request.adapter] if request.adapter else []),
        *([f"structured-{request.structured}"] if request.structured != "auto" else []),
        *([f"seed{request.seed}"] if request.seed else []),
    ]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts))[:_LONGEST_NAME]


def make(planned: Sequence[Planned], args: Namespace, on_ended: Callable[[], object] = lambda: None) -> None:
    """Make the runs one after the other within the limits that the flags set, and print the table.

    Args:
        planned: The runs.
        args: The flags of the set.
        on_ended: Called when one of the runs has ended that was not finished before.

    Raises:
        OdqaError: at least one of them failed.
        KeyboardInterrupt: passed on, with the table of what there is.
    """
    limiter = Limiter(limits_of(args))
    for each in planned:
        count_paid(limiter, each.directory)
    states: dict[Path, str] = {}
    failed: list[str] = []
    try:
        for number, each in enumerate(planned, 1):
            name = f"run {number} of {len(planned)}: {each.directory}"
            try:
                if is_finished(each.directory):
                    say(f"{name}, which is finished")
                    states[each.directory] = "complete"
                    continue
                states[each.directory] = limiter.reached() or _complete(each, limiter, name)
                on_ended()
            except (OdqaError, LMError, OSError) as error:
                reason = " ".join(str(error).split())
                failed.append(reason)
                states[each.directory] = f"FAILED: {reason}"
                say(f"{name} failed: {reason}")
    except KeyboardInterrupt:
        output(_table(planned, states), flush=True)
        say("interrupted; to continue, repeat the command")
        raise
    output(_table(planned, states), flush=True)
    _say_what_next(planned)
    if limiter.reached() in states.values():
        say("to continue, repeat the command with another limit")
    if failed:
        raise OdqaError(
            f"{len(failed)} of {len(planned)} runs failed, the first with {failed[0]}; to try them again, repeat the "
            "command"
        )


def _complete(each: Planned, limiter: Limiter, name: str) -> str:
    """Make the run, or what is left of it; gives its state."""
    say(name)
    with adapter(each.request):
        chosen = load_metrics(each.request, each.examples, limiter.calls_left())
        check_prices(limiter.limits, each.lm, chosen)
        summary = watched(prepare(each.request, each.opened), chosen, each.directory, limiter)
    return summary.stopped or ("complete" if summary.complete else "incomplete")


def run_of(planned: Planned) -> Run | None:
    """The run as far as it was made; None where it was not begun, or is damaged, which is said."""
    try:
        return read_begun(planned.directory)
    except UsageError as error:
        say(f"left out of the table: {error}")
        return None


def _table(planned: Sequence[Planned], states: dict[Path, str]) -> str:
    outcomes = []
    for each in planned:
        found = run_of(each)
        summary = None if found is None else summarise(found.rows, len(each.examples), found.manifest)
        outcomes.append(Outcome(each.about(), summary, states.get(each.directory, "not run")))
    return set_table(outcomes, columns())


def _say_what_next(planned: Sequence[Planned]) -> None:
    """How to compare and report the runs, by task."""
    for folder, count in Counter(each.directory.parent for each in planned).items():
        if count > 1:
            say(f"odqa eval compare {folder}/*")
            say(f"odqa eval report {folder}/* --out {folder.name}.html")


def _prospects(planned: Sequence[Planned]) -> Iterator[Prospect]:
    """What the runs will take, counted with stand-ins, once for all that differ by LM and seed alone."""
    counted: dict[str, dict[str, Amount]] = {}
    for each in planned:
        key = repr(replace(each.request, lm="", lm_settings={}, seed=0))
        if (amounts := counted.get(key)) is None:
            with adapter(each.request):
                questions = [example.question for example in each.examples[:_PLANNED_ON]]
                module = prepare(each.request, each.opened).module
                amounts = counted[key] = plan(module, lms.load("extractive"), questions)
        asked = len(each.examples)
        yield prospect(str(each.directory), asked, asked - answered(each.directory), each.lm, amounts)


def prospect(name: str, questions: int, left: int, lm: dspy.LM, amounts: Mapping[str, Amount]) -> Prospect:
    """What a run will take.

    Args:
        name: Of the run.
        questions: How many it asks.
        left: How many of them it has yet to ask.
        lm: Asked.
        amounts: What a question takes; see `programs.instruments.plan.plan`.
    """
    free = bool(standing(lm.model))
    calls, read_in, written = (amounts[name] for name in ("lm_calls", "input_tokens", "output_tokens"))
    return Prospect(
        name,
        questions,
        left,
        (left * calls.typical, left * calls.most),
        (
            0.0 if free else price(lm, left * read_in.typical, left * written.typical),
            0.0 if free else price(lm, left * read_in.most, left * written.most),
        ),
    )
