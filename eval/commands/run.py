"""Ask a program the questions of a task and print its scores. The word run may be left out.

One row per question goes to a directory. To continue a run that was cut short, repeat its command with --run and its
directory. --lm oracle, or oracle:ERROR_RATE, gives the ceiling of the method with its retriever, --lm extractive the
floor. --attempts N makes N runs, whose best answers odqa eval compare takes together. With --program NAME, --help
also lists the settings of that program.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import dspy

import programs
from eval import metrics
from eval.commands.options import (
    add_attempts,
    add_data,
    add_demonstrations,
    add_judge_api_base,
    add_limits,
    add_pace,
    check_draws,
    check_prices,
    limits_of,
    request_of,
    seeds_of,
    task_name,
)
from eval.figures.summary import Summary, summarise
from eval.reports.progress import Progress
from eval.reports.text import table
from eval.runs.prepare import Prepared, adapter, ask, load_lm, load_metrics, prepare
from eval.runs.store import answered, read
from odqa.console import output, say
from odqa.limits import Limiter
from programs.commands.flags import add_environment, program_name, say_sample
from retrieval import UsageError


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        help="sample, a file (QUESTIONS.jsonl[.gz], .csv or .tsv), or NAME or NAME:VARIANT for a data set and the "
        "questions that a paper takes from it; odqa eval tasks lists them",
    )
    add_data(parser)
    parser.add_argument(
        "--program",
        required=True,
        type=program_name,
        metavar="NAME",
        help=f"the program to evaluate: {', '.join(programs.names())}, or @FILE.toml for an answerer",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions (default: all)")
    add_pace(parser)
    parser.add_argument("--run", metavar="DIR", help="directory of the run (default: runs/TASK-PROGRAM-TIME)")
    add_limits(parser, "each run")
    add_attempts(parser, "in the directories DIR-1 … DIR-N")
    parser.add_argument(
        "--metrics",
        metavar="NAME,…",
        help=f"what to compute: {metrics.HELP} (default: em, f1 and the recalls; accuracy instead of em and f1 if all "
        "questions are answered by yes or no)",
    )
    add_judge_api_base(parser)
    add_demonstrations(parser)
    parser.add_argument(
        "--mlflow",
        metavar="EXPERIMENT",
        help="trace each question to this MLflow experiment; to log the finished run, use odqa eval mlflow",
    )
    add_environment(parser)


def main(args: Namespace) -> None:
    request, limits, seeds = request_of(args), limits_of(args), seeds_of(args)
    base = args.run or f"runs/{task_name(args.task)}-{args.program}-{time.strftime('%Y%m%d-%H%M%S')}"
    directories = [base] if args.attempts == 1 else [f"{base}-{number + 1}" for number in range(args.attempts)]
    if args.mlflow and request.pace.workers:
        raise UsageError("--mlflow traces what happens in this process: leave out --workers and --ray")
    with adapter(request):
        say_sample(request.retriever)
        ready = prepare(request)
        lms = [load_lm(request.lm, request.lm_settings, ready.examples, ready.retriever, seed) for seed in seeds]
        check_draws(args, lms[0])
        chosen = load_metrics(request, ready.examples, limits.calls)
        check_prices(limits, lms[0], chosen)
        if ready.shown:
            say(str(ready.shown))
        for seed, lm, directory in zip(seeds, lms, directories, strict=True):
            _attempt(replace(ready, request=replace(request, seed=seed), lm=lm), chosen, directory, base, args)
    if args.attempts > 1:
        say(f"the best of all answers: odqa eval compare {','.join(directories)}")


def _attempt(ready: Prepared, chosen: Sequence[metrics.Metric], directory: str, base: str, args: Namespace) -> None:
    """One attempt at the questions, with its table; `base` is what the directories of all attempts are named after."""
    say(f"run: {directory}")
    try:
        with _traced(args.mlflow):
            summary = watched(ready, chosen, directory, Limiter(limits_of(args)))
    except KeyboardInterrupt:
        with suppress(UsageError):  # it was interrupted before it had a directory
            run = read(directory)
            output(table(summarise(run.rows, len(ready.examples), run.manifest, "interrupted")), flush=True)
        say(f"interrupted; to continue, repeat the command with --run {base}")
        raise
    output(table(summary))
    if summary.stopped:
        say(f"to continue, repeat the command with --run {base} and another limit")


@contextmanager
def _traced(experiment: str | None) -> Iterator[None]:
    """Trace what happens in the block to an MLflow experiment, if one is named."""
    if experiment is None:
        yield
        return
    from eval.reports.mlflow import Tracing, trace_to

    tracing = Tracing()
    trace_to(experiment)
    with dspy.context(callbacks=[*dspy.settings.callbacks, tracing]):
        yield


def watched(ready: Prepared, chosen: Sequence[metrics.Metric], directory: str | Path, limiter: Limiter) -> Summary:
    """Ask the questions, with progress on stderr; see `eval.runs.prepare.ask`."""
    metric = chosen[0].__name__ if chosen else None
    with Progress(len(ready.examples), metric, earlier=answered(directory)) as seen:
        return ask(ready, chosen, directory, limiter=limiter, on_row=seen.on_row)
