"""`odqa completion SHELL` prints a script by which a shell completes the words of `odqa`.

The script is made of the parsers, by shtab, and is static: a shell need not start Python whenever a key is pressed.
"""

import argparse
from collections.abc import Sequence
from typing import NoReturn

import shtab

import programs
from eval.__main__ import make_parser as eval_parser
from eval.commands import run as eval_run
from optimizers import names as recipes
from optimizers.__main__ import make_parser as optimizers_parser
from optimizers.commands import odqa
from programs.commands import method, serve
from retrieval.__main__ import COMMANDS as RETRIEVAL
from retrieval.command_line import Parser, output, run

__all__ = ["main", "script"]

_SHELLS = ("bash", "zsh")


def main(argv: Sequence[str]) -> NoReturn:
    """Print the script and exit."""
    args = _parser().parse_args(argv)
    run("odqa completion", lambda: output(script(args.shell)))


def script(shell: str) -> str:
    """The script for this shell: bash or zsh."""
    parser = odqa.make_parser(_parsers())
    _complete(parser)
    return shtab.complete(parser, shell)


def _parser() -> Parser:
    parser = Parser("odqa completion", description="Print a script by which a shell completes the words of odqa.")
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    return parser


def _parsers() -> dict[str, Parser]:
    """The parsers of the commands, by their names in `odqa`."""
    ask = Parser("odqa ask")
    methods = ask.add_subparsers()
    for name in programs.names():
        program = programs.load(name)
        about = (program.__doc__ or "").splitlines()[0]
        methods.add_parser(name, parents=[method.make_parser(program)], add_help=False, help=about)
    # Without a subcommand eval takes the flags of its subcommand run.
    task = Parser("odqa eval", parents=[eval_parser([])], conflict_handler="resolve")
    eval_run.add_flags(task)
    parsers = {"ask": ask, "serve": serve.make_parser(), "eval": task, "optimize": optimizers_parser([])}
    for command, (_, chosen, _) in odqa.COMMANDS.items():
        if command not in parsers and chosen:
            parsers[command] = Parser(command)
            RETRIEVAL[chosen[0]].add_flags(parsers[command])
    return parsers | {"completion": _parser()}


def _complete(parser: argparse.ArgumentParser) -> None:
    """Say how values are completed: names of methods and recipes by those there are, other text by names of files."""
    known = {"program": programs.names(), "methods": programs.names(), "recipe": recipes()}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete(command)
        elif action.dest in known:
            action.choices = known[action.dest]
        elif action.nargs != 0 and not action.choices and action.type not in (int, float):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
