"""`python -m programs` lists the methods; `python -m programs NAME QUESTION` answers a question with one of them, and
`python -m programs serve` answers questions over HTTP."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from programs import load, names
from programs.commands import method, serve
from retrieval.command_line import Parser, output, run, say

__all__ = ["main"]

_PROG = "python -m programs"


def main(argv: Sequence[str]) -> NoReturn:
    """List the methods, answer with one of them or serve them, and exit."""
    parser = Parser(_PROG, description="List the methods, one line each, or answer with one of them.")
    parser.add_argument("name", nargs="?", help="the method; without one they are listed; or serve")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="the question and flags, see NAME --help")
    args = parser.parse_args(argv)
    if args.name == "serve":
        serve.main(args.rest)
    run(_PROG, lambda: method.main(load(args.name), args.rest) if args.name else _list())


def _list() -> None:
    for name in names():
        output(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")
    say(
        'python -m programs NAME "QUESTION" answers with one of them, and python -m programs NAME --help lists its '
        "settings; python -m programs serve answers over HTTP"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
