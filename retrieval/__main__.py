"""The command line of the retrievers: `python -m retrieval COMMAND`."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tqdm import tqdm

from retrieval._load import FORMS, load
from retrieval.corpora import read
from retrieval.errors import OdqaError, UsageError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["_Parser"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help lists what there is)\n")


def _index(commands: "Commands") -> None:
    parser = commands.add_parser("index", help="build an index from a corpus")
    parser.add_argument("--backend", choices=["bm25"], required=True)
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')
    parser.add_argument("--out", type=Path, required=True, help="directory to make")
    parser.add_argument("--overwrite", action="store_true", help="replace the index that is there")
    bm25 = parser.add_argument_group("bm25")
    bm25.add_argument("--k1", type=float, default=0.9, help="saturation of term frequency (default: %(default)s)")
    bm25.add_argument("--b", type=float, default=0.4, help="weight of the length (default: %(default)s)")
    bm25.add_argument("--stemmer", default="english", help="a Snowball stemmer, or none (default: %(default)s)")
    bm25.add_argument("--stop-words", choices=["english", "none"], default="english", help="(default: %(default)s)")

    def run(arguments: argparse.Namespace) -> None:
        from retrieval.bm25 import BM25

        start = time.monotonic()
        bar = partial(tqdm, disable=None, file=sys.stderr)
        size = arguments.corpus.stat().st_size if arguments.corpus.is_file() else None
        with bar(desc="reading", total=size, unit="B", unit_scale=True) as reading:
            index = BM25.build(
                read(arguments.corpus, reading.update),
                arguments.out,
                k1=arguments.k1,
                b=arguments.b,
                stemmer=None if arguments.stemmer == "none" else arguments.stemmer,
                stop_words=None if arguments.stop_words == "none" else arguments.stop_words,
                overwrite=arguments.overwrite,
                progress=partial(bar, desc="scoring"),
            )
        seconds = round(time.monotonic() - start, 3)
        total = sum(file.stat().st_size for file in arguments.out.iterdir())
        print(json.dumps({"passages": len(index), "seconds": seconds, "bytes": total}))

    parser.set_defaults(run=run)


def _search(commands: "Commands") -> None:
    parser = commands.add_parser("search", help="search, and print the passages as JSON lines")
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument("query")
    parser.add_argument("-k", type=int, default=5, help="how many passages at most (default: %(default)s)")

    def run(arguments: argparse.Namespace) -> None:
        if not arguments.query.strip():
            raise UsageError("the query is empty: say what to look for")
        for p in load(arguments.retriever)(arguments.query, arguments.k):
            print(json.dumps({"id": p.id, "title": p.title, "text": p.text, "score": p.score}, ensure_ascii=False))

    parser.set_defaults(run=run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = _Parser(prog="python -m retrieval", description="Build and search indexes of passages.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in _index, _search:
        add(commands)
    chosen = parser.parse_args(arguments)
    try:
        chosen.run(chosen)
    except (OdqaError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
