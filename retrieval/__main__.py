"""The command line of the retrievers: `odqa COMMAND`."""

import inspect
from collections.abc import Sequence
from typing import NoReturn

from odqa.console import Parser, run
from retrieval.commands import add, corpus, delete, fetch, index, search, serve, shard, verify

__all__ = ["COMMANDS", "all_words", "main", "make_parser"]

COMMANDS = {
    command.__name__.rpartition(".")[2]: command
    for command in (fetch, corpus, index, add, delete, shard, verify, search, serve)
}
"""The subcommands, by name."""
_PROG = "odqa"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one subcommand and exit."""
    chosen = make_parser().parse_args(arguments)
    run(_PROG, lambda: chosen.command(chosen))


def all_words(words: Sequence[str]) -> Parser:
    """The parser of what may follow this subcommand, for completion."""
    parser = Parser(_name_in_odqa(words[0]))
    COMMANDS[words[0]].add_flags(parser)
    return parser


def _name_in_odqa(name: str) -> str:
    """The name of a subcommand after `odqa`, where serve is the answers server."""
    return "serve-passages" if name == "serve" else name


def make_parser() -> Parser:
    """Make the parser, with all subcommands."""
    parser = Parser(
        prog=_PROG,
        description="Fetch and make corpora; build, change, split, verify, search and serve indexes of passages.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        about = inspect.getdoc(module) or ""
        command = commands.add_parser(name, prog=f"{_PROG} {_name_in_odqa(name)}", help=about, description=about)
        module.add_flags(command)
        command.set_defaults(command=module.main)
    return parser


if __name__ == "__main__":
    main()
