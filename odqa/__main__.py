"""`odqa COMMAND …`, also `python -m odqa`: the commands of all rooms under one name, whatever folder it is called in.

A command is named here as text, and its room is imported when it is chosen: help costs no import of DSPy.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import NoReturn

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt ends the process at once

# isort: split
from odqa.console import Parser

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS = {
    "ask": ("programs.__main__", [], "answer a question with a method, or list the methods"),
    "serve": ("programs.__main__", ["serve"], "answer questions over HTTP"),
    "eval": ("eval.__main__", [], "ask a method the questions of a task, compare runs, report them, judge retrievers"),
    "choose": ("eval.__main__", ["choose"], "find the best method for questions, passages and an LM of yours"),
    "optimize": ("optimizers.__main__", [], "compile a method's prompts for a task"),
    "fetch": ("retrieval.__main__", ["fetch"], "download a corpus, check it and unpack it into JSON lines"),
    "corpus": (
        "retrieval.__main__",
        ["corpus"],
        "make a corpus of a folder of documents",
    ),
    "index": ("retrieval.__main__", ["index"], "build an index from a corpus"),
    "add": ("retrieval.__main__", ["add"], "add the passages of a corpus to an index"),
    "delete": ("retrieval.__main__", ["delete"], "delete passages from an index"),
    "shard": ("retrieval.__main__", ["shard"], "split an index into shards, for more than one process or machine"),
    "verify": (
        "retrieval.__main__",
        ["verify"],
        "say whether an index is as it was built",
    ),
    "search": ("retrieval.__main__", ["search"], "search, and print the passages as JSON lines, the best first"),
    "serve-passages": (
        "retrieval.__main__",
        ["serve"],
        "serve searches over the ColBERTv2 protocol",
    ),
    "completion": ("odqa.completion", [], "print a script by which a shell completes the words of odqa"),
}
"""For each command the module whose `main` runs it, the words that choose it there, what it does."""


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


if __name__ == "__main__":
    main()
