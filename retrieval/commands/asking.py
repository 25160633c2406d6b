"""The LM that a retriever asks: its flags, and what it costs, both as on the command lines of programs."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dspy

from odqa.bridge import price
from programs.commands.flags import adapter_of, add_lm, load_lm
from programs.instruments.cost import Cost, measured

__all__ = ["add_lm_flags", "asking", "bill", "given_lm_flags", "measured", "price"]


def add_lm_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the LM."""
    add_lm(parser.add_argument_group("the LM that hipporag asks"))


def given_lm_flags(args: argparse.Namespace) -> list[str]:
    """The flags for the LM that are given, or stand for something else than when they are not."""
    alone = argparse.ArgumentParser()
    add_lm(alone)
    usual = vars(alone.parse_args([]))
    return [
        "--" + name.replace("_args", "_arg").replace("_", "-") for name in usual if getattr(args, name) != usual[name]
    ]


@contextmanager
def asking(args: argparse.Namespace) -> Iterator[dspy.LM]:
    """Make the LM that the flags name DSPy's current one."""
    lm = load_lm(args).copy(cache=args.cache)
    with dspy.context(lm=lm, adapter=adapter_of(args)):
        yield lm


def bill(cost: Cost) -> dict[str, Any]:
    """What the LM calls of a `measured` block cost."""
    return {
        "lm_calls": cost.lm_calls,
        "unparsable": cost.unparsable,
        "input_tokens": cost.input_tokens,
        "output_tokens": cost.output_tokens,
        "usd": cost.paid_usd,
    }
