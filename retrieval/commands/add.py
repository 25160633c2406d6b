"""add the passages of a corpus to an index"""

import argparse
import json
from pathlib import Path

from retrieval.command_line import saying_on_interrupt
from retrieval.commands.index import reading, size_of
from retrieval.errors import UsageError
from retrieval.indexes import UpdatableIndex
from retrieval.specs import load

__all__ = ["add_flags", "main", "open_index"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="DIR", type=Path, help="directory of the index")
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')


def main(args: argparse.Namespace) -> None:
    """Add the passages.

    Raises:
        UsageError: There is no such index or corpus, or a passage cannot be added.
    """
    index = open_index(args.index)
    with saying_on_interrupt(f"{args.index} is as it was before; try again"), reading(args.corpus) as passages:
        updated = index.update(add=passages)
    added = len(updated) - len(index)
    print(json.dumps({"passages": len(updated), "added": added, "bytes": size_of(updated.path)}))


def open_index(directory: Path) -> UpdatableIndex:
    """Open an index that is to be changed.

    Raises:
        UsageError: There is none in the directory, or it is one of ColBERT or of HippoRAG.
        RetrievalError: It is damaged.
    """
    if (directory / "hipporag.json").is_file():
        raise UsageError(
            f"{directory} is a HippoRAG index, whose facts are linked all together: index the changed corpus with "
            "--overwrite, which pays for the new passages only"
        )
    index = load(directory)
    if not isinstance(index, UpdatableIndex):
        raise UsageError(
            f"{directory} is a ColBERT index, whose centroids are trained on its passages: nothing is added to it or "
            "deleted from it; build it again, from the changed corpus"
        )
    return index
