"""add the passages of a corpus to an index"""

import argparse
import json
from pathlib import Path
from typing import Any

from odqa.console import output, saying_on_interrupt
from odqa.errors import UsageError
from odqa.secrets import public
from retrieval.commands.index import bytes_of, reading
from retrieval.indexes import UpdatableIndex
from retrieval.specs import load

__all__ = ["add_flags", "how_it_stands", "main", "open_index"]

_QDRANT = "qdrant:"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="DIR", help="directory of the index; or qdrant:…, see search")
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')


def main(args: argparse.Namespace) -> None:
    """Add the passages."""
    index = open_index(args.index)
    before = len(index)
    with saying_on_interrupt(how_it_stands(args.index)), reading(args.corpus) as passages:
        updated = index.update(add=passages)
    added = len(updated) - before
    output(json.dumps({"passages": len(updated), "added": added} | bytes_of(updated.path)))


def how_it_stands(spec: str) -> str:
    """What to say of an index after an interrupt."""
    if spec.startswith(_QDRANT):
        return f"a part of {public(spec)} may be changed; what is there already is not added again"
    return f"{spec} is as it was before; try again"


def open_index(spec: str) -> UpdatableIndex:
    """Open an index that is to be changed, by its directory or as qdrant:…; one of ColBERT or HippoRAG is refused."""
    if (Path(spec) / "hipporag.json").is_file():
        raise UsageError(
            f"{spec} is a HippoRAG index, whose facts are linked all together: index the changed corpus with "
            "--overwrite, which pays for the new passages only"
        )
    index: Any = load(spec if spec.startswith(_QDRANT) else Path(spec))
    if not isinstance(index, UpdatableIndex):
        raise UsageError(
            f"{spec} is a ColBERT index, whose centroids are trained on its passages: nothing is added to it or "
            "deleted from it; build it again, from the changed corpus"
        )
    return index
