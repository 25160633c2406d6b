"""download a corpus, check it and unpack it into JSON lines"""

import argparse
import json
from pathlib import Path
from typing import Any

from tqdm import tqdm

from odqa.console import output, progress_bar, say, saying_on_interrupt

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("name", metavar="NAME", help="wiki17, wiki18 or hotpotqa17")
    parser.add_argument("--out", type=Path, required=True, help="directory to make, or one with an unfinished download")
    parser.add_argument("--file", type=Path, help="the archive, if it is on this machine already")
    parser.add_argument("--url", help="a mirror that has the same file")


def main(args: argparse.Namespace) -> None:
    """Fetch the corpus."""
    from retrieval.corpora.catalogue import SOURCES
    from retrieval.corpora.download import fetch

    if args.name in SOURCES:
        say(f"licence: {SOURCES[args.name].licence}")
    bars: dict[str, tqdm[Any]] = {}

    def progress(doing: str, done: int, total: int | None) -> None:
        if doing not in bars:
            close()
            bars[doing] = progress_bar(desc=doing, total=total, initial=done, unit="B", unit_scale=True)
        bars[doing].update(done - bars[doing].n)  # negative when a download begins anew

    def close() -> None:
        for bar in bars.values():
            bar.close()

    try:
        with saying_on_interrupt("the same command goes on with the download"):
            got = fetch(args.name, args.out, url=args.url, file=args.file, progress=progress)
    finally:
        close()
    if got.unchecked:
        say(f"not checked, because no checksum is known: {', '.join(got.unchecked)}")
    output(json.dumps({"corpus": str(got.corpus), "passages": got.passages, "left_out": got.left_out}))
