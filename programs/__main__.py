"""`odqa ask` lists the methods; `odqa ask NAME QUESTION` answers a question with one of them, `odqa ask QUESTION` with
the usual one, and `odqa serve` answers questions over HTTP."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from odqa.console import Parser, output, run, say, with_values
from programs import USUAL, load, names
from programs.commands import method, serve
from programs.instruments.answerer import named_answerer

__all__ = ["all_words", "main"]

_PROG = "odqa ask"


def main(argv: Sequence[str]) -> NoReturn:
    """List the methods, answer with one of them or serve them, and exit."""
    run(_PROG, lambda: _main(argv))


def _main(argv: Sequence[str]) -> None:
    parser = Parser(_PROG, description="List the methods, one line each, or answer with one of them.")
    parser.add_argument(
        "name",
        nargs="?",
        help=f"the method, or @FILE.toml for an answerer (default: {USUAL}; without a question all are listed)",
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="the question and flags, see NAME --help")
    if argv and (answerer := named_answerer(argv[0])):
        method.main(load(answerer.program), argv[1:], answerer=answerer)
    if (
        argv and argv[0] not in ("-h", "--help") and not re.fullmatch(r"[A-Za-z]\w*", argv[0])
    ):  # no name, but a question
        because = f"method: {USUAL} (odqa ask lists the others, odqa ask NAME takes one)"
        method.main(load(USUAL), argv, because=because)
    args = parser.parse_args(argv)
    if args.name == "serve":
        serve.main(args.rest)
    elif args.name:
        method.main(load(args.name), args.rest)
    else:
        _list()


def all_words(words: Sequence[str]) -> Parser:
    """The parser of what may follow these words, for completion: of serve, or of all methods."""
    if list(words) == ["serve"]:
        parser = serve.make_parser()
        with_values(parser, {"methods": names()})
        return parser
    ask = Parser(_PROG)
    methods_of = ask.add_subparsers()
    for name in names():
        program = load(name)
        about = (program.__doc__ or "").splitlines()[0]
        methods_of.add_parser(name, parents=[method.make_parser(program)], add_help=False, help=about)
    return ask


def _list() -> None:
    for name in names():
        output(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")
    say(
        f'odqa ask "QUESTION" answers with {USUAL}, odqa ask NAME "QUESTION" with another; odqa ask NAME --help lists '
        "its settings; odqa serve answers over HTTP"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
