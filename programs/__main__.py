"""`python -m programs` lists the methods; `python -m programs NAME QUESTION` answers a question with one of them, and
`python -m programs serve` answers questions over HTTP."""

import argparse

from programs import load, names
from programs.commands.method import main
from programs.commands.serve import main as serve
from retrieval.command_line import Parser, output, run, say


def _list() -> None:
    for name in names():
        output(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")
    say(
        'python -m programs NAME "QUESTION" answers with one of them, and python -m programs NAME --help lists its '
        "settings; python -m programs serve answers over HTTP"
    )


if __name__ == "__main__":
    parser = Parser("python -m programs", description="List the methods, one line each, or answer with one of them.")
    parser.add_argument("name", nargs="?", help="the method; without one they are listed; or serve")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="the question and flags, see NAME --help")
    args = parser.parse_args()
    if args.name == "serve":
        serve(args.rest)
    run("python -m programs", lambda: main(load(args.name), args.rest) if args.name else _list())
