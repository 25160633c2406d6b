"""Options that several commands have, and what is made from them."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

import dspy

from eval.figures.comparison import best_of
from eval.runs.ceiling import is_oracle, load_oracle
from eval.runs.store import Run, read
from programs.commands import flags
from retrieval import Retriever

__all__ = [
    "add_data",
    "add_demonstrations",
    "add_judge_api_base",
    "add_runs",
    "add_threads",
    "load_lm",
    "read_runs",
    "task_name",
]


def add_runs(parser: ArgumentParser, more: str = "") -> None:
    """Add the directories of runs as arguments; `more` ends their help text."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"directory of a run{more}")


def read_runs(args: Namespace) -> list[Run]:
    """The runs that `add_runs` asked for; directories joined by commas give one run, the best of their answers.

    Raises:
        UsageError: A directory holds no run, or a damaged one.
    """
    named = [[read(directory) for directory in names.split(",")] for names in args.runs]
    return [runs[0] if len(runs) == 1 else best_of(runs) for runs in named]


def add_data(parser: ArgumentParser) -> None:
    """Add --data, the local copies of data sets."""
    parser.add_argument(
        "--data",
        default=os.environ.get("ODQA_DATA") or None,
        metavar="DIR",
        help="directory with local copies of data sets: files NAME.dev.jsonl.gz (training questions: "
        "NAME.train.jsonl.gz), or directories NAME as on the Hugging Face hub (default: ODQA_DATA)",
    )


def add_demonstrations(parser: ArgumentParser, where: str = "") -> None:
    """Add --demonstrations, labelled examples in the prompts; `where` says in which."""
    parser.add_argument(
        "--demonstrations",
        type=int,
        metavar="N",
        help=f"show each predictor N labelled demonstrations, made from training questions{where} (default: none)",
    )


def add_judge_api_base(parser: ArgumentParser) -> None:
    """Add --judge-api-base, the server of a judge."""
    parser.add_argument(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the LM of acc_judge"
    )


def add_threads(parser: ArgumentParser) -> None:
    """Add --threads, how many questions are asked at once."""
    parser.add_argument(
        "--threads", type=int, default=8, metavar="N", help="ask N questions at once (default: %(default)s)"
    )


def load_lm(args: Namespace, examples: Sequence[dspy.Example], retriever: Retriever | None) -> dspy.LM:
    """Load the LM that the flags name. The oracle is made for these questions and this retriever.

    Raises:
        UsageError: There is no such LM.
    """
    return load_oracle(args.lm, examples, retriever) if is_oracle(args.lm) else flags.load_lm(args)


def task_name(spec: str) -> str:
    """A task or a file of questions as part of a directory's name."""
    return Path(spec.removeprefix("file:")).name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "-")
