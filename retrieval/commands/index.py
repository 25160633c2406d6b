"""build an index from a corpus"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from retrieval.command_line import progress_bar, saying_on_interrupt
from retrieval.corpora.reader import naming_lines, read
from retrieval.encoding import Cluster
from retrieval.errors import UsageError
from retrieval.passage import Passage

__all__ = ["add_flags", "main", "reading", "size_of"]

_SETTINGS = {
    "bm25": ("k1", "b", "stemmer", "stop_words"),
    "dense": ("encoder", "approximate", "batch_size", "device", "resume", "workers", "ray"),
    "colbert": (
        "checkpoint",
        "bits",
        "doc_maxlen",
        "kmeans_niters",
        "batch_size",
        "device",
        "resume",
        "workers",
        "ray",
    ),
}
"""The backends, and the flags that each has. A flag that is not given leaves it to the backend's own default."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("--backend", choices=_SETTINGS, required=True, help="kind of index")
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')
    parser.add_argument("--out", type=Path, required=True, help="directory to make")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing index")
    models = parser.add_argument_group("dense and colbert", argument_default=argparse.SUPPRESS)
    models.add_argument(
        "--batch-size", type=int, metavar="N", help="encode N passages at a time (default: dense 32, colbert 64)"
    )
    models.add_argument("--device", help="where to encode, such as cpu or cuda:1 (default: the best there is)")
    models.add_argument(
        "--resume", action=argparse.BooleanOptionalAction, help="continue an unfinished build (default: --resume)"
    )
    models.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="encode in N processes; needs the extra ray (default: in this one, or with --ray one for each CPU, or for "
        "each GPU if there are any)",
    )
    models.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="encode in this Ray cluster, whose machines must have --out; without an ADDRESS in that of this machine, "
        "or one made for it",
    )
    bm25 = parser.add_argument_group("bm25", argument_default=argparse.SUPPRESS)
    bm25.add_argument("--k1", type=float, help="saturation of term frequency (default: 0.9)")
    bm25.add_argument("--b", type=float, help="weight of a passage's length (default: 0.4)")
    bm25.add_argument("--stemmer", help="a Snowball stemmer, or none (default: english)")
    bm25.add_argument("--stop-words", choices=["english", "none"], help="words to ignore (default: english)")
    dense = parser.add_argument_group("dense", argument_default=argparse.SUPPRESS)
    dense.add_argument("--encoder", help="sbert, ance, contriever, or a model's directory or Hugging Face name")
    dense.add_argument(
        "--approximate", action="store_true", help="search approximately, in a graph of neighbours (HNSW)"
    )
    colbert = parser.add_argument_group("colbert", argument_default=argparse.SUPPRESS)
    colbert.add_argument("--checkpoint", help="directory or Hugging Face name, such as colbert-ir/colbertv2.0")
    colbert.add_argument("--bits", type=int, help="bits per number of a residual (default: 2)")
    colbert.add_argument("--doc-maxlen", type=int, help="tokens of a passage (default: 220)")
    colbert.add_argument("--kmeans-niters", type=int, help="iterations of k-means (default: 4)")


def main(args: argparse.Namespace) -> None:
    """Build the index.

    Raises:
        UsageError: A flag is given that the backend does not have, or one is missing that it needs.
    """
    settings = _settings(args)
    build = {"bm25": _bm25, "dense": _dense, "colbert": _colbert}[args.backend]
    start = time.monotonic()
    goes_on = "the same command begins anew" if args.backend == "bm25" else "the same command goes on where it stopped"
    with saying_on_interrupt(f"{args.out} is as it was before; {goes_on}"), reading(args.corpus) as passages:
        index = build(passages, args.out, overwrite=args.overwrite, **settings)
    seconds = round(time.monotonic() - start, 3)
    print(json.dumps({"passages": len(index), "seconds": seconds, "bytes": size_of(args.out)}))


@contextmanager
def reading(corpus: Path) -> Iterator[Iterator[Passage]]:
    """Gives the passages of a corpus, with a progress bar; errors about them name the lines.

    Raises:
        UsageError: The corpus is a folder, or cannot be read, or a passage of it cannot be indexed.
    """
    if corpus.is_dir():
        raise UsageError(
            f"{corpus} is a folder: make a corpus of it first: python -m retrieval corpus {corpus} --out corpus.jsonl"
        )
    size = corpus.stat().st_size if corpus.is_file() else None
    with progress_bar(desc="reading", total=size, unit="B", unit_scale=True) as bar, naming_lines(corpus):
        yield read(corpus, bar.update)


def size_of(index: Path) -> int:
    """The bytes of all files of an index."""
    return sum(file.stat().st_size for file in index.iterdir())


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The backend's settings that are given."""
    own = _SETTINGS[args.backend]
    for names in _SETTINGS.values():
        for name in names:
            if name in args and name not in own:
                flag = "--" + name.replace("_", "-")
                others = " and ".join(other for other, theirs in _SETTINGS.items() if name in theirs)
                raise UsageError(f"{flag} is a setting of {others}: the backend {args.backend} has no such setting")
    return {name: getattr(args, name) for name in own if name in args}


def _on_cluster(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with those of the cluster as one."""
    address, workers = settings.pop("ray", None), settings.pop("workers", None)
    return settings if address is None and workers is None else settings | {"cluster": Cluster(address, workers)}


def _bm25(passages: Iterable[Passage], out: Path, **settings: Any) -> Any:
    from retrieval.bm25 import BM25

    words = {name: None for name in ("stemmer", "stop_words") if settings.get(name) == "none"}
    return BM25.build(passages, out, progress=partial(progress_bar, desc="scoring"), **settings | words)


def _dense(passages: Iterable[Passage], out: Path, **settings: Any) -> Any:
    from retrieval.dense import Dense

    if not settings.get("encoder"):
        raise UsageError("the backend dense needs --encoder: sbert, ance, contriever, or a model")
    return Dense.build(passages, out, **_on_cluster(settings))


def _colbert(passages: Iterable[Passage], out: Path, **settings: Any) -> Any:
    from retrieval.colbert import ColBERT

    if not settings.get("checkpoint"):
        raise UsageError("the backend colbert needs --checkpoint, such as colbert-ir/colbertv2.0")
    return ColBERT.build(passages, out, progress=progress_bar, **_on_cluster(settings))
