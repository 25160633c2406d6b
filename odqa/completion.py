"""`odqa completion SHELL` prints a script by which a shell completes the words of `odqa`.

The script is made of the parsers, by shtab, and is static: a shell need not start Python whenever a key is pressed.
"""

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import NoReturn

import shtab

from odqa.__main__ import COMMANDS
from odqa.__main__ import make_parser as make_front_parser
from odqa.console import Parser, output, run

__all__ = ["all_words", "main", "script"]

_SHELLS = ("bash", "zsh")


def main(argv: Sequence[str]) -> NoReturn:
    """Print the script and exit."""
    args = all_words([]).parse_args(argv)
    run("odqa completion", lambda: output(script(args.shell)))


def script(shell: str) -> str:
    """The script for this shell: bash or zsh."""
    parsers: dict[str, Parser] = {}
    for command, (where, words, _) in COMMANDS.items():
        make: Callable[[Sequence[str]], Parser] = importlib.import_module(where).all_words
        parsers[command] = make(words)
    parser = make_front_parser(parsers)
    _complete(parser)
    return shtab.complete(parser, shell)


def all_words(words: Sequence[str]) -> Parser:
    """The parser of `odqa completion`; every module of `COMMANDS` has a function of this name, which is told the words
    that choose the command there and gives the parser of what may follow them."""
    parser = Parser("odqa completion", description="Print a script by which a shell completes the words of odqa.")
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    return parser


def _complete(parser: argparse.ArgumentParser) -> None:
    """Have values without choices completed by names of files."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete(command)
        elif action.nargs != 0 and not action.choices and action.type not in (int, float):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
