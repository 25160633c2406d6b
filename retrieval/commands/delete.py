"""delete passages from an index"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from odqa.console import output, saying_on_interrupt
from odqa.errors import UsageError
from retrieval.commands.add import how_it_stands, open_index
from retrieval.commands.index import bytes_of
from retrieval.indexes import UpdatableIndex

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("index", metavar="DIR", help="directory of the index; or qdrant:…, see search")
    parser.add_argument("--ids", metavar="ID", nargs="+", default=[], help="passages with these ids")
    parser.add_argument("--ids-from", metavar="FILE", type=Path, help="and with those in the file, one per line")
    parser.add_argument(
        "--document",
        metavar="NAME",
        help="and all of a document, where odqa corpus made the ids: those that begin with NAME#",
    )


def main(args: argparse.Namespace) -> None:
    """Delete the passages."""
    if not (args.ids or args.ids_from or args.document):
        raise UsageError("say which passages: --ids, --ids-from or --document")
    index = open_index(args.index)
    before = len(index)
    ids = {*args.ids, *_listed(args.ids_from), *_of_document(args.document, index)}
    with saying_on_interrupt(how_it_stands(args.index)):
        updated = index.update(delete=ids)
    deleted = before - len(updated)
    output(json.dumps({"passages": len(updated), "deleted": deleted} | bytes_of(updated.path)))


def _listed(file: Path | None) -> list[str]:
    if file is None:
        return []
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8, from byte {error.start + 1} on") from error


@runtime_checkable
class _ListsIds(Protocol):
    """An index on a server, which would have to be asked for each row."""

    def ids(self) -> Iterator[str]: ...


def _of_document(name: str | None, index: UpdatableIndex) -> Iterator[str]:
    if name is None:
        return
    none = True
    for id_ in index.ids() if isinstance(index, _ListsIds) else (index.passage(row).id for row in range(len(index))):
        if id_.startswith(f"{name}#"):
            none = False
            yield id_
    if none:
        raise UsageError(f"the index has no passage of a document {name!r}: no id begins with {name}#")
