"""read all files of an index, and say whether they are as they were built"""

import argparse
import json
from pathlib import Path

from odqa.console import output, progress_bar
from retrieval.commands.index import bytes_of
from retrieval.descriptions import verify
from retrieval.shards.build import DESCRIPTION, directories_of

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="DIR", help="directory of an index, or of shards")


def main(args: argparse.Namespace) -> None:
    """Verify the index, or each shard."""
    path = Path(args.index)
    directories = [directory for _, directory in directories_of(path)] if (path / DESCRIPTION).exists() else [path]
    size = sum(bytes_of(directory)["bytes"] for directory in directories)
    with progress_bar(desc="verifying", total=size, unit="B", unit_scale=True) as bar:
        for directory in directories:
            read = verify(directory, bar.update)
            with bar.external_write_mode():
                output(json.dumps({"index": str(directory), "bytes": read}))
