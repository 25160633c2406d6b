"""The command line of the retrievers: `python -m retrieval COMMAND`."""

import inspect
from collections.abc import Sequence
from typing import NoReturn

from retrieval.command_line import Parser, run
from retrieval.commands import add, corpus, delete, fetch, index, search, serve, shard, verify

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS = {
    command.__name__.rpartition(".")[2]: command
    for command in (fetch, corpus, index, add, delete, shard, verify, search, serve)
}
"""The subcommands, by name."""
_PROG = "python -m retrieval"


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one subcommand and exit."""
    chosen = make_parser().parse_args(arguments)
    run(_PROG, lambda: chosen.command(chosen))


def make_parser() -> Parser:
    """Make the parser, with all subcommands."""
    parser = Parser(
        prog=_PROG,
        description="Fetch and make corpora; build, change, split, verify, search and serve indexes of passages.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        about = inspect.getdoc(module) or ""
        command = commands.add_parser(name, prog=f"{_PROG} {name}", help=about, description=about)
        module.add_flags(command)
        command.set_defaults(command=module.main)
    return parser


if __name__ == "__main__":
    main()
