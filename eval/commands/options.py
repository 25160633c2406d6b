"""Options that several commands have, and what is made from them."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path

import dspy

import programs
from eval import metrics
from eval.figures.comparison import best_of
from eval.records.run import Run
from eval.records.standing import standing
from eval.runs.asking import draws
from eval.runs.request import Pace, Request
from eval.runs.store import read
from odqa.bridge import price
from odqa.cluster import Workers
from odqa.console import width
from odqa.limits import Limits
from programs.commands import flags
from programs.instruments.settings import settings_of
from retrieval import UsageError

__all__ = [
    "add_attempts", "add_data", "add_demonstrations", "add_judge_api_base", "add_limits", "add_lm_calls", "add_pace",
    "add_runs", "add_skip_damaged", "add_threads", "add_workers", "check_draws", "check_prices", "columns", "limits_of",
    "pace_of", "read_runs", "request_of", "seeds_of", "task_name", "workers_of",
]  # fmt: skip

_AS_GIVEN = (
    "task", "program", "state", "demonstrations", "retriever", "lm", "adapter", "structured", "seed", "cache", "limit",
    "data", "judge_api_base",
)  # fmt: skip  # fields of a request that flags of the same names give


def _count(parser: ArgumentParser, flag: str, help_: str, default: int | None = None) -> None:
    """Add a flag for a number of something."""
    parser.add_argument(flag, type=int, default=default, metavar="N", help=help_)


def add_runs(parser: ArgumentParser, more: str = "") -> None:
    """Add the directories of runs as arguments; `more` ends their help text."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"directory of a run{more}")
    add_skip_damaged(parser)


def add_skip_damaged(parser: ArgumentParser) -> None:
    """Add --skip-damaged, for the files of runs."""
    parser.add_argument(
        "--skip-damaged",
        action="store_true",
        help="leave out damaged lines of a run's files, and say how many and what that means; by default they end the "
        "command",
    )


def read_runs(args: Namespace) -> list[Run]:
    """The runs that `add_runs` asked for; directories joined by commas give one run, the best of their answers.

    Raises:
        UsageError: A directory holds no run, or a damaged one.
    """
    if empty := [names for names in args.runs if "" in names.split(",")]:
        raise UsageError(f"a run is named by its directory, and {empty[0]!r} has an empty name in it")
    named = [[read(directory, skip_damaged=args.skip_damaged) for directory in names.split(",")] for names in args.runs]
    return [runs[0] if len(runs) == 1 else best_of(runs) for runs in named]


def columns() -> int | None:
    """The width of the terminal that stdout goes to; None where it is none."""
    return width(sys.stdout) if sys.stdout.isatty() else None


def add_data(parser: ArgumentParser) -> None:
    """Add --data, the local copies of data sets."""
    parser.add_argument(
        "--data",
        type=_folder,
        default=flags.environment("ODQA_DATA"),
        metavar="DIR",
        help="directory with local copies of data sets: files NAME.dev.jsonl.gz (training questions: "
        "NAME.train.jsonl.gz), or directories NAME as on the Hugging Face hub (default: ODQA_DATA)",
    )


def add_demonstrations(parser: ArgumentParser, where: str = "", default: str = "none") -> None:
    """Add --demonstrations, labelled examples in the prompts; `where` says in which, `default` what None stands for."""
    made = f"made from training questions{where} (default: {default})"
    _count(parser, "--demonstrations", f"show each predictor N labelled demonstrations, {made}")


def add_judge_api_base(parser: ArgumentParser) -> None:
    """Add --judge-api-base, the server of a judge."""
    parser.add_argument(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the LM of acc_judge"
    )


def add_pace(parser: ArgumentParser) -> None:
    """Add --workers, --ray, --threads, --lm-calls and --retries: where, how fast and how stubbornly questions are
    asked."""
    add_workers(parser)
    add_lm_calls(parser)
    again = "ask a question up to N times again after an error of the LM's provider (default: %(default)s)"
    _count(parser, "--retries", again, Pace.retries)


def add_workers(parser: ArgumentParser) -> None:
    """Add --threads, --workers and --ray: how many questions are asked at once, and where."""
    at_once = "ask N questions at once (default: 8, or 64 in each worker; of a local model as many as it computes)"
    _count(parser, "--threads", at_once)
    _count(
        parser,
        "--workers",
        "ask in N processes, for more LM calls than one keeps up with; needs the extra ray (default: in this "
        "process, or with --ray one for each CPU)",
    )
    parser.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="let the workers be in this Ray cluster; without an ADDRESS in that of this machine, or one made for it",
    )


def add_lm_calls(parser: ArgumentParser) -> None:
    """Add --lm-calls, how many are made at once."""
    _count(
        parser, "--lm-calls", "make at most N LM calls at once, over all workers (default: 32, or 64 for each worker)"
    )


def workers_of(args: Namespace) -> Workers | None:
    """The workers that `add_workers` asked for.

    Raises:
        UsageError: There is to be none of them.
    """
    return None if args.workers is None and args.ray is None else Workers(args.workers, args.ray)


def add_threads(parser: ArgumentParser) -> None:
    """Add --threads, how many questions are asked at once."""
    _count(parser, "--threads", "ask N questions at once (default: %(default)s)", 8)


def add_limits(parser: ArgumentParser, what: str) -> None:
    """Add --max-calls, --max-usd and --max-minutes; `what` says what stops."""
    _count(parser, "--max-calls", f"pay for at most N LM calls, a judge's included, and stop {what} then")
    parser.add_argument(
        "--max-usd",
        type=float,
        metavar="USD",
        help=f"stop {what} after USD dollars, a judge's included, which may be exceeded by less than one call",
    )
    parser.add_argument("--max-minutes", type=float, metavar="MIN", help=f"stop {what} after MIN minutes")


def limits_of(args: Namespace) -> Limits:
    """The limits that `add_limits` asked for.

    Raises:
        UsageError: One is not above 0.
    """
    return Limits(calls=args.max_calls, usd=args.max_usd, minutes=args.max_minutes)


def add_attempts(parser: ArgumentParser, where: str) -> None:
    """Add --seed and --attempts; `where` says what becomes of several attempts."""
    _count(
        parser,
        "--seed",
        "number of this attempt at the questions: with another one the LM draws its replies anew, if its temperature "
        "is above 0 (default: %(default)s)",
        Request.seed,
    )
    _count(parser, "--attempts", f"make N runs, with the seeds from --seed on, {where} (default: %(default)s)", 1)


def seeds_of(args: Namespace) -> Sequence[int]:
    """The seeds of the attempts that `add_attempts` asked for.

    Raises:
        UsageError: There is to be no attempt, or several that give the same replies.
    """
    if args.attempts < 1:
        raise UsageError(f"the number of attempts must be at least 1, not {args.attempts}")
    if args.temperature == 0 and (args.seed or args.attempts > 1):
        raise UsageError("at temperature 0 every attempt gives the same replies: leave out --seed and --attempts")
    return range(args.seed, args.seed + args.attempts)


def check_draws(args: Namespace, lm: dspy.LM) -> None:
    """Refuse a seed and several attempts where every attempt gives the same replies.

    Raises:
        UsageError: They do.
    """
    if (args.seed or args.attempts > 1) and not draws(lm):
        why = "" if standing(lm.model) else ", whose temperature is 0 unless --temperature says otherwise"
        raise UsageError(f"every attempt gives the same replies with {lm.model}{why}: leave out --seed and --attempts")


def pace_of(args: Namespace) -> Pace:
    """The pace that `add_pace` asked for."""
    return Pace(threads=args.threads, lm_calls=args.lm_calls, workers=workers_of(args), retries=args.retries)


def request_of(args: Namespace) -> Request:
    """The run that the flags ask for.

    Raises:
        UsageError: There is no such program, or a setting of the LM is given twice.
    """
    program = programs.load(args.program)
    usual = {setting.name: setting.default for setting in settings_of(program)}
    given = flags.settings_of(program, args)
    return Request(
        **{name: getattr(args, name) for name in _AS_GIVEN},
        settings={name: value for name, value in given.items() if value != usual[name]},
        lm_settings=flags.lm_settings(args, args.api_base),
        metrics=tuple(args.metrics.split(",")) if args.metrics else (),
        pace=pace_of(args),
    )


def check_prices(limits: Limits, lm: dspy.LM, chosen: Sequence[metrics.Metric] = ()) -> None:
    """Refuse a limit of dollars where the price of the LM, or of a metric with a judge, is unknown.

    Raises:
        UsageError: It cannot be held.
    """
    if limits.usd is None:
        return
    tests = {metric.__name__: metrics.self_test_of(metric) for metric in chosen}
    prices = {lm.model: price(lm, 1, 1), **{name: test.usd for name, test in tests.items() if test}}
    if unknown := [name for name, usd in prices.items() if usd is None]:
        raise UsageError(f"the price of {unknown[0]} is unknown, and so --max-usd cannot be held: use --max-calls")


def _folder(text: str) -> str:
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"there is no directory {text}")
    return text


def task_name(spec: str) -> str:
    """A task or a file of questions as part of a directory's name."""
    return Path(spec.removeprefix("file:")).name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "-")
