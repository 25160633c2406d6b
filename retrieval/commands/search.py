"""search, and print the passages as JSON lines, the best first"""

import argparse
import json

from retrieval.errors import UsageError
from retrieval.specs import FORMS, load

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument("query", help="what to search for")
    parser.add_argument("-k", type=int, default=5, help="print at most K passages (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    """Search once."""
    if not args.query.strip():
        raise UsageError("the query is empty: say what to look for")
    for p in load(args.retriever)(args.query, args.k):
        print(json.dumps({"id": p.id, "title": p.title, "text": p.text, "score": p.score}, ensure_ascii=False))
