"""search, and print the passages as JSON lines, the best first"""

import argparse
import json
from contextlib import nullcontext

from odqa.console import output
from odqa.errors import UsageError
from retrieval.commands.asking import add_lm_flags, asking
from retrieval.specs import FORMS, load

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument("query", help="what to search for")
    parser.add_argument("-k", type=int, default=5, help="print at most K passages (default: %(default)s)")
    add_lm_flags(parser)


def main(args: argparse.Namespace) -> None:
    """Search once."""
    if not args.query.strip():
        raise UsageError("the query is empty: say what to look for")
    retriever = load(args.retriever)
    with asking(args) if retriever.asks_lm else nullcontext():
        found = retriever(args.query, args.k)
    for p in found:
        output(json.dumps({"id": p.id, "title": p.title, "text": p.text, "score": p.score}, ensure_ascii=False))
