"""split an index into shards, for more than one process or machine"""

import argparse
import json
from pathlib import Path

from odqa.console import output, progress_bar
from retrieval.specs import load

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="SPEC", help="bm25:DIR or dense:DIR or colbert:DIR")
    parser.add_argument("--shards", type=int, required=True, metavar="N", help="how many")
    parser.add_argument("--out", type=Path, required=True, help="directory to make, for shards:DIR")
    parser.add_argument("--overwrite", action="store_true", help="replace shards that are there")


def main(args: argparse.Namespace) -> None:
    """Split the index."""
    from retrieval.shards import split

    directories = split(load(args.index), args.out, args.shards, overwrite=args.overwrite, progress=progress_bar)
    output(json.dumps({"shards": [str(directory) for directory in directories]}))
