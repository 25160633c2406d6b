"""read all files of an index, and say whether they are as they were built"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from odqa.console import output, progress_bar
from odqa.errors import UsageError
from retrieval.commands.index import bytes_of
from retrieval.descriptions import verify
from retrieval.shards.build import DESCRIPTION, shards_in, verify_shard

__all__ = ["add_flags", "main", "parts_of"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="DIR", help="directory of an index, of shards, or of collections of Qdrant")


def main(args: argparse.Namespace) -> None:
    """Verify the index, each shard, or each collection of Qdrant."""
    if "://" in args.index:  # a path of it would be another address, whose password nobody knows for one
        raise UsageError(f"{args.index} is a server, which keeps its files itself: name a directory")
    path = Path(args.index)
    with progress_bar(desc="verifying", total=bytes_of(path)["bytes"], unit="B", unit_scale=True) as bar:
        for directory, check in parts_of(path).items():
            read = check(bar.update)
            with bar.external_write_mode():
                output(json.dumps({"index": str(directory), "bytes": read}))


def parts_of(path: Path) -> dict[Path, Callable[[Callable[[int], object]], int]]:
    """What verifies each part of an index."""
    if (path / DESCRIPTION).exists():
        return {shard.directory: partial(verify_shard, shard) for shard in shards_in(path)}
    if (path / "meta.json").exists() and (collections := sorted((path / "collection").glob("*"))):
        from retrieval.qdrant.checksums import verify_collection

        return {folder: partial(verify_collection, path, folder.name) for folder in collections}
    return {path: partial(verify, path)}
