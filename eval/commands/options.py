"""Options that several commands have, and what is made from them."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy

from eval.figures.comparison import best_of
from eval.runs.ceiling import is_oracle, load_oracle
from eval.runs.store import Run, read
from programs.commands import flags
from programs.instruments.adapters import adapter_name
from retrieval import Retriever
from retrieval.secrets import names_a_secret, without_secrets, without_url_secrets

__all__ = [
    "add_data",
    "add_demonstrations",
    "add_judge_api_base",
    "add_runs",
    "add_threads",
    "lm_record",
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


def load_lm(args: Namespace, examples: Sequence[dspy.Example], retriever: Retriever | None, seed: int = 0) -> dspy.LM:
    """Load the LM that the flags name. The oracle is made for these questions and this retriever.

    The seed is DSPy's rollout id, by which it tells the replies of one attempt from those of another; 0 for none.

    Raises:
        UsageError: There is no such LM.
    """
    if is_oracle(args.lm):
        return load_oracle(args.lm, examples, retriever, seed)
    lm = flags.load_lm(args)
    return lm.copy(rollout_id=seed) if seed else lm


def lm_record(args: Namespace, lm: dspy.LM) -> dict[str, Any]:
    """What a manifest says of the LM and of how it was asked, without secrets: two runs that differ here are different.

    Args:
        args: The flags of `programs.commands.flags.add_lm`.
        lm: The LM that they name.
    """
    return {
        "lm": lm.model,
        "api_base": _public("api_base", args.api_base),
        "adapter": adapter_name(flags.adapter_of(args)),
        "structured": args.structured,
        "temperature": lm.kwargs.get("temperature"),
        "max_tokens": lm.kwargs.get("max_tokens"),
        "lm_args": {name: _public(name, value) for name, value in args.lm_args},
        "cache": args.cache,
    }


def _public(name: str, value: Any) -> Any:
    """The value of a setting, with *** in place of what its name or the environment says is secret, and in URLs."""
    if isinstance(value, dict):
        return {inner: "***" if names_a_secret(name) else _public(inner, item) for inner, item in value.items()}
    if isinstance(value, list):
        return [_public(name, item) for item in value]
    if value is not None and names_a_secret(name):
        return "***"
    return without_url_secrets(without_secrets(value)) if isinstance(value, str) else value


def task_name(spec: str) -> str:
    """A task or a file of questions as part of a directory's name."""
    return Path(spec.removeprefix("file:")).name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "-")
