"""Ask a program the questions of a task and print its scores. The word run may be left out.

One row per question goes to a directory. To continue a run that was cut short, repeat its command with --run and its
directory. --lm oracle, or oracle:ERROR_RATE, gives the ceiling of the method with its retriever, --lm extractive the
floor. --attempts N makes N runs, whose best answers python -m eval compare takes together. With --program NAME, --help
also lists the settings of that program.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy
from tqdm import tqdm

import programs
from eval import metrics
from eval.commands.options import (
    add_attempts,
    add_data,
    add_demonstrations,
    add_judge_api_base,
    add_threads,
    load_lm,
    seeds_of,
    task_name,
)
from eval.figures.summary import summarise
from eval.reports.text import table
from eval.runs.asking import how_asked
from eval.runs.fingerprints import fingerprints
from eval.runs.record import Row
from eval.runs.recorded_calls import Limits
from eval.runs.runner import evaluate
from eval.runs.store import read
from eval.tasks import SEED, load
from eval.tasks.demonstrations.training import show
from programs.commands.flags import adapter_of, add_environment, load_retriever, make, settings_of
from programs.instruments.plan import price
from retrieval import OdqaError, UsageError
from retrieval.command_line import say
from retrieval.secrets import without_secrets, without_url_secrets


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        help="sample, file:QUESTIONS.jsonl[.gz], or NAME or NAME:VARIANT for a data set and the questions that a paper "
        "takes from it; python -m eval tasks lists them",
    )
    add_data(parser)
    parser.add_argument(
        "--program", required=True, metavar="NAME", help=f"the program to evaluate: {', '.join(programs.names())}"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions (default: all)")
    add_threads(parser)
    parser.add_argument("--run", metavar="DIR", help="directory of the run (default: runs/TASK-PROGRAM-TIME)")
    parser.add_argument(
        "--lm-calls", type=int, default=32, metavar="N", help="make at most N LM calls at once (default: %(default)s)"
    )
    parser.add_argument(
        "--retries",
        type=int,
        default=2,
        metavar="N",
        help="ask a question up to N times again after an error of the LM's provider (default: %(default)s)",
    )
    parser.add_argument("--max-calls", type=int, metavar="N", help="stop after N paid LM calls, including a judge's")
    parser.add_argument("--max-usd", type=float, metavar="USD", help="stop after USD dollars, including a judge's")
    parser.add_argument("--max-minutes", type=float, metavar="MIN", help="stop after MIN minutes")
    add_attempts(parser, "in the directories DIR-1 … DIR-N; limits hold for each")
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
        help="trace each question to this MLflow experiment; to log the finished run, use python -m eval mlflow",
    )
    add_environment(parser)


def main(args: Namespace) -> None:
    seeds = seeds_of(args)
    base = args.run or f"runs/{task_name(args.task)}-{args.program}-{time.strftime('%Y%m%d-%H%M%S')}"
    directories = [base] if args.attempts == 1 else [f"{base}-{number + 1}" for number in range(args.attempts)]
    with dspy.context(adapter=adapter_of(args)):
        program = programs.load(args.program)
        examples = load(args.task, args.limit, data=args.data)
        chosen = _metrics(args, examples)
        retriever = load_retriever(args)
        module = make(program, args, retriever)
        shown = _show_demonstrations(module, args, examples)
        for seed, directory in zip(seeds, directories, strict=True):
            lm = load_lm(args, examples, retriever, seed)
            manifest = {**_manifest(program, args, lm), "seed": seed, "demonstrations": shown}
            _run(module, lm, examples, chosen, directory, Namespace(**{**vars(args), "run": base}), manifest)
    if args.attempts > 1:
        say(f"the best of all answers: python -m eval compare {','.join(directories)}")


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
    limits = Limits(calls=args.max_calls, usd=args.max_usd, minutes=args.max_minutes)
    if limits.usd is not None and (free := _without_price(lm, chosen)):
        raise UsageError(f"the price of {free} is unknown, and so --max-usd cannot be held: use --max-calls")
    say(f"run: {directory}")
    callbacks = dspy.settings.callbacks
    if args.mlflow:
        from eval.reports.mlflow import Tracing, trace_to

        callbacks = [*callbacks, Tracing()]
        trace_to(args.mlflow)
    bar = tqdm(total=len(examples), unit="question", disable=None, file=sys.stderr)
    with dspy.context(lm=lm, callbacks=callbacks), bar:
        failed = 0

        def on_row(row: Row) -> None:
            nonlocal failed
            failed += row.error is not None
            bar.set_postfix(failed=failed, refresh=False)
            bar.update()

        try:
            summary = evaluate(
                module,
                examples,
                metrics=chosen,
                directory=directory,
                threads=args.threads,
                lm_calls=args.lm_calls,
                retries=args.retries,
                limits=limits,
                cache=args.cache,
                manifest=manifest,
                on_row=on_row,
                clean=without_secrets,
            )
        except KeyboardInterrupt:
            with suppress(UsageError):  # it was interrupted before it had a directory
                run = read(directory)
                print(table(summarise(run.rows, len(examples), run.manifest, "interrupted")), flush=True)
            say(f"interrupted; to continue, repeat the command with --run {args.run}")
            raise
    if summary.total.n and summary.total.failed == summary.total.n:
        raise OdqaError(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    print(table(summary))
    if summary.stopped:
        say(f"to continue, repeat the command with --run {args.run} and another limit")


def _show_demonstrations(
    module: dspy.Module, args: Namespace, examples: Sequence[dspy.Example]
) -> dict[str, Any] | None:
    """Give the program the demonstrations that the flags ask for, and say which; the record for the manifest."""
    if args.demonstrations is None:
        return None
    if args.state:
        raise UsageError("a state file has demonstrations of its own: give --state or --demonstrations, not both")
    shown = show(module, args.demonstrations, task=args.task, asked=examples, data=args.data)
    say(str(shown))
    return shown.record()


def _without_price(lm: dspy.LM, chosen: Sequence[metrics.Metric]) -> str | None:
    """The LM, or a metric with a judge, whose price is unknown; None if all are known."""
    tests = {metric.__name__: metrics.self_test_of(metric) for metric in chosen}
    unknown = [name for name, test in tests.items() if test and test.usd is None]
    return lm.model if price(lm, 1, 1) is None else next(iter(unknown), None)


def _manifest(program: type[dspy.Module], args: Namespace, lm: dspy.LM) -> dict[str, Any]:
    """Everything that can change the answers or the scores, without secrets. What is not named here, such as threads
    and limits, may change when a run is taken up. The runner adds the metrics, by name, and a hash of the questions."""
    state = {"file": args.state, "sha256": sha256(Path(args.state).read_bytes()).hexdigest()} if args.state else None
    return {
        "task": args.task,
        "limit": args.limit,
        "sample_seed": SEED,
        "program": args.program,
        "settings": settings_of(program, args),
        "state": state,
        "retriever": without_url_secrets(args.retriever),
        "fingerprints": fingerprints(args.retriever),
        **asdict(how_asked(lm)),
        "cache": args.cache,
        "judge_api_base": args.judge_api_base and without_url_secrets(args.judge_api_base),
    }


def _metrics(args: Namespace, examples: Sequence[dspy.Example]) -> Sequence[metrics.Metric]:
    if not args.metrics:
        return metrics.standard(examples)
    names = dict.fromkeys(args.metrics.split(","))
    return [metrics.load(name, judge_api_base=args.judge_api_base) for name in names]
