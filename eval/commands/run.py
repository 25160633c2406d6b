"""Ask a program the questions of a task and print its scores. The word run may be left out.

One row per question goes to a directory. To continue a run that was cut short, repeat its command with --run and its
directory. --lm oracle, or oracle:ERROR_RATE, gives the ceiling of the method with its retriever, --lm extractive the
floor. --attempts N makes N runs, whose best answers odqa eval compare takes together. With --program NAME, --help
also lists the settings of that program.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

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
    limits_of,
    load_lm,
    priced,
    seeds_of,
    task_name,
    workers_of,
)
from eval.figures.summary import Summary, summarise
from eval.reports.progress import Progress
from eval.reports.text import table
from eval.runs.asking import how_asked
from eval.runs.fingerprints import fingerprints
from eval.runs.limits import Limits
from eval.runs.runner import evaluate
from eval.runs.store import answered, read
from eval.tasks import SEED, load
from eval.tasks.demonstrations.training import Shown, show
from odqa.console import Parser, output, say
from odqa.secrets import without_secrets, without_url_secrets
from programs.commands.flags import adapter_of, add_environment, add_settings, load_retriever, make, settings_of
from retrieval import OdqaError, Retriever, UsageError


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        help="sample, file:QUESTIONS.jsonl[.gz], or NAME or NAME:VARIANT for a data set and the questions that a paper "
        "takes from it; odqa eval tasks lists them",
    )
    add_data(parser)
    parser.add_argument(
        "--program", required=True, metavar="NAME", help=f"the program to evaluate: {', '.join(programs.names())}"
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
    seeds = seeds_of(args)
    base = args.run or f"runs/{task_name(args.task)}-{args.program}-{time.strftime('%Y%m%d-%H%M%S')}"
    directories = [base] if args.attempts == 1 else [f"{base}-{number + 1}" for number in range(args.attempts)]
    with dspy.context(adapter=adapter_of(args)):
        programs.load(args.program)
        examples = load(args.task, args.limit, data=args.data)
        chosen = load_metrics(args, examples, limits_of(args))
        retriever = load_retriever(args)
        module, shown = make_program(args, examples, retriever)
        if shown:
            say(str(shown))
        for seed, directory in zip(seeds, directories, strict=True):
            lm = load_lm(args, examples, retriever, seed)
            manifest = make_manifest(args, lm, shown, seed)
            _run(module, lm, examples, chosen, directory, Namespace(**{**vars(args), "run": base}), manifest)
    if args.attempts > 1:
        say(f"the best of all answers: odqa eval compare {','.join(directories)}")


def _run(
    module: dspy.Module,
    lm: dspy.LM,
    examples: Sequence[dspy.Example],
    chosen: Sequence[metrics.Metric],
    directory: str,
    args: Namespace,
    manifest: dict[str, Any],
) -> None:
    """One attempt at the questions, with its table."""
    limits = limits_of(args)
    check_prices(limits, lm, chosen)
    say(f"run: {directory}")
    try:
        summary = ask(module, lm, examples, chosen, directory, args, manifest, limits)
    except KeyboardInterrupt:
        with suppress(UsageError):  # it was interrupted before it had a directory
            run = read(directory)
            output(table(summarise(run.rows, len(examples), run.manifest, "interrupted")), flush=True)
        say(f"interrupted; to continue, repeat the command with --run {args.run}")
        raise
    output(table(summary))
    if summary.stopped:
        say(f"to continue, repeat the command with --run {args.run} and another limit")


def arguments(program: str, flags: Mapping[str, Any]) -> Namespace:
    """The flags of a run as this command line gives them to `main`.

    Args:
        program: The name of the program.
        flags: Values of flags and settings, by the names in the namespace; of the others the defaults hold.
    """
    parser = Parser()
    add_flags(parser)
    add_settings(parser, programs.load(program))
    defaults = parser.parse_args(["sample", "--program", program])
    return Namespace(**{**vars(defaults), **flags})


def ask(
    module: dspy.Module,
    lm: dspy.LM,
    examples: Sequence[dspy.Example],
    chosen: Sequence[metrics.Metric],
    directory: str | Path,
    args: Namespace,
    manifest: Mapping[str, Any],
    limits: Limits,
) -> Summary:
    """Ask the program the questions, with progress on stderr; goes on with the run that the directory holds.

    Args:
        module: The program, as `make_program` gives it.
        lm: As `load_lm` gives it.
        examples: The questions.
        chosen: The metrics.
        directory: Of the run.
        args: The flags: threads, lm_calls, workers, ray, retries, cache and mlflow are used here.
        manifest: As `make_manifest` gives it.
        limits: When to stop.

    Raises:
        OdqaError: All questions that were asked failed, or the directory cannot be used.
    """
    callbacks, workers = dspy.settings.callbacks, workers_of(args)
    if args.mlflow and workers:
        raise UsageError("--mlflow traces what happens in this process: leave out --workers and --ray")
    if args.mlflow:
        from eval.reports.mlflow import Tracing, trace_to

        callbacks = [*callbacks, Tracing()]
        trace_to(args.mlflow)
    metric = chosen[0].__name__ if chosen else None
    with dspy.context(lm=lm, callbacks=callbacks), Progress(len(examples), metric, earlier=answered(directory)) as seen:
        summary = evaluate(
            module,
            examples,
            metrics=chosen,
            directory=directory,
            threads=args.threads,
            lm_calls=args.lm_calls,
            workers=workers,
            retries=args.retries,
            limits=limits,
            cache=args.cache,
            manifest=manifest,
            on_row=seen.on_row,
            clean=without_secrets,
        )
    if summary.total.n and summary.total.failed == summary.total.n:
        raise OdqaError(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    return summary


def make_program(
    args: Namespace, examples: Sequence[dspy.Example], retriever: Retriever | None
) -> tuple[dspy.Module, Shown | None]:
    """The program with its state or its demonstrations, and these.

    Raises:
        UsageError: A setting, the state or the number of demonstrations does not fit.
    """
    module = make(programs.load(args.program), args, retriever)
    if args.demonstrations is None:
        return module, None
    if args.state:
        raise UsageError("a state file has demonstrations of its own: give --state or --demonstrations, not both")
    return module, show(module, args.demonstrations, task=args.task, asked=examples, data=args.data)


def check_prices(limits: Limits, lm: dspy.LM, chosen: Sequence[metrics.Metric]) -> None:
    """Refuse a limit of dollars where the price of the LM, or of a metric with a judge, is unknown.

    Raises:
        UsageError: It cannot be held.
    """
    if limits.usd is None:
        return
    priced(lm)
    tests = {metric.__name__: metrics.self_test_of(metric) for metric in chosen}
    if unknown := [name for name, test in tests.items() if test and test.usd is None]:
        raise UsageError(f"the price of {unknown[0]} is unknown, and so --max-usd cannot be held: use --max-calls")


def make_manifest(args: Namespace, lm: dspy.LM, shown: Shown | None, seed: int) -> dict[str, Any]:
    """Everything that can change the answers or the scores, without secrets. What is not named here, such as threads
    and limits, may change when a run is taken up. The runner adds the metrics, by name, and a hash of the questions."""
    state = {"file": args.state, "sha256": sha256(Path(args.state).read_bytes()).hexdigest()} if args.state else None
    return {
        "task": args.task,
        "limit": args.limit,
        "sample_seed": SEED,
        "program": args.program,
        "settings": settings_of(programs.load(args.program), args),
        "state": state,
        "retriever": without_url_secrets(args.retriever),
        "fingerprints": fingerprints(args.retriever),
        **asdict(how_asked(lm)),
        "cache": args.cache,
        "judge_api_base": args.judge_api_base and without_url_secrets(args.judge_api_base),
        "seed": seed,
        "demonstrations": shown and shown.record(),
    }


def metric_names(args: Namespace, examples: Sequence[dspy.Example]) -> list[str]:
    """The metrics that the flags name, or those that are usual for the questions."""
    if args.metrics:
        return list(dict.fromkeys(args.metrics.split(",")))
    return [metric.__name__ for metric in metrics.standard(examples)]


def load_metrics(args: Namespace, examples: Sequence[dspy.Example], limits: Limits) -> list[metrics.Metric]:
    """These metrics. Those with a judge ask it what `eval.metrics.judge` tests it by.

    Raises:
        UsageError: There is no such metric, or its judge is not good enough, or testing it exceeds the limits.
    """
    names = metric_names(args, examples)
    return [metrics.load(name, judge_api_base=args.judge_api_base, most_calls=limits.calls) for name in names]
