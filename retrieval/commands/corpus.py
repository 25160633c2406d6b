"""make a corpus of a folder of documents: text, Markdown, HTML, CSV, PDF"""

import argparse
import gzip
import json
import logging
from itertools import count
from pathlib import Path

from odqa.console import output, progress_bar
from odqa.errors import UsageError
from odqa.files import replaced
from retrieval.indexes import checked_passages, passage_line

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder, or one document")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .jsonl or .jsonl.gz, for index and add")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--words", type=int, default=100, help="most words of a passage (default: %(default)s, as in DPR's Wikipedia)"
    )
    parser.add_argument(
        "--overlap",
        type=int,
        default=0,
        help="most words at the end of a passage that begin the next one too (default: %(default)s)",
    )
    tables = parser.add_argument_group("CSV and TSV", "NAME is the name of a column, or '' for none")
    tables.add_argument(
        "--text-column", metavar="NAME", help="the text (default: text, passage, body …; else all columns)"
    )
    tables.add_argument(
        "--title-column", metavar="NAME", help="the title (default: title, name …; else the file's name)"
    )
    tables.add_argument("--id-column", metavar="NAME", help="the id (default: id, docid …; else FILE#LINE)")


def main(args: argparse.Namespace) -> None:
    """Write the corpus."""
    from retrieval.corpora.folder import Folder

    if args.out.exists() and not args.overwrite:
        raise UsageError(f"{args.out} exists: choose another file, or ask to overwrite it with --overwrite")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it does not say in which file
    folder = Folder(
        args.folder,
        words=args.words,
        overlap=args.overlap,
        text_column=args.text_column,
        title_column=args.title_column,
        id_column=args.id_column,
    )
    args.out.parent.mkdir(parents=True, exist_ok=True)
    written = count()
    with replaced(args.out) as file, progress_bar(desc="reading", unit=" passages") as bar:
        lines = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if args.out.suffix == ".gz" else file
        for passage in checked_passages(folder):
            lines.write(passage_line(passage))
            bar.update()
            next(written)
        if not (passages := next(written)):
            raise UsageError(
                f"there is nothing to read in {args.folder}: no text, Markdown, HTML, CSV or PDF with text"
            )
        if lines is not file:
            lines.close()
    output(
        json.dumps(
            {"corpus": str(args.out), "files": folder.files, "passages": passages, "problems": len(folder.problems)}
        )
    )
