"""Command lines run in this process, and what their --help leaves out."""

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

import pytest


def exit_code(main: Callable[[Sequence[str]], NoReturn], arguments: Sequence[str]) -> int | str | None:
    """Run a command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def without_help(parser: argparse.ArgumentParser) -> list[str]:
    """The flags, arguments and subcommands about which --help says nothing."""
    missing = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            listed = {choice.dest for choice in action._choices_actions if choice.help}
            missing += [name for name in action.choices if name not in listed]
            missing += [f"{name} {flag}" for name, sub in action.choices.items() for flag in without_help(sub)]
        elif not action.help:
            missing.append("/".join(action.option_strings) or action.dest)
    return missing
