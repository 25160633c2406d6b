"""`python -m programs` lists the methods; `python -m programs NAME QUESTION` answers a question with one of them."""

import argparse

from programs import load, names
from programs.commands.method import main
from retrieval.command_line import Parser, output, run, say


def _list() -> None:
    for name in names():
        output(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")
    say(
        'python -m programs NAME "QUESTION" answers with one of them; python -m programs NAME --help lists its settings'
    )


if __name__ == "__main__":
    parser = Parser("python -m programs", description="List the methods, one line each, or answer with one of them.")
    parser.add_argument("name", nargs="?", help="the method; without one they are listed")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="the question and flags, see NAME --help")
    args = parser.parse_args()
    run("python -m programs", lambda: main(load(args.name), args.rest) if args.name else _list())
