"""`odqa COMMAND …`: the commands of all rooms under one name, whatever is in the folder in which it is called."""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import NoReturn

from retrieval.__main__ import COMMANDS as RETRIEVAL
from retrieval.command_line import Parser

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS = {
    "ask": ("programs.__main__", [], "answer a question with a method, or list the methods"),
    "serve": ("programs.__main__", ["serve"], "answer questions over HTTP"),
    "eval": ("eval.__main__", [], "ask a method the questions of a task, compare runs, report them, judge retrievers"),
    "optimize": ("optimizers.__main__", [], "compile a method's prompts for a task"),
    **{
        "serve-passages" if name == "serve" else name: ("retrieval.__main__", [name], inspect.getdoc(module) or "")
        for name, module in RETRIEVAL.items()
    },
    "completion": ("optimizers.commands.completion", [], "print a script by which a shell completes the words of odqa"),
}
"""For each command the module that has it, the words that choose it there, what it does."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    words = sys.argv[1:] if argv is None else argv
    where, chosen, _ = COMMANDS[make_parser().parse_args(words[:1]).command]
    run: Callable[[Sequence[str]], NoReturn] = importlib.import_module(where).main
    run([*chosen, *words[1:]])


def make_parser(parsers: Mapping[str, Parser] | None = None) -> Parser:
    """Make the parser of the first word, which chooses the command; with `parsers`, also of the commands' own words."""
    parser = Parser(
        "odqa",
        description="Answer questions by published methods over your corpus, evaluate them and compile their prompts.",
        epilog="COMMAND --help lists its flags.",
    )
    parser.add_argument("--version", action="version", version=version("dspy-odqa"), help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, (_, _, about) in COMMANDS.items():
        own = [parsers[name]] if parsers else []
        commands.add_parser(name, parents=own, add_help=False, help=about)
    return parser
