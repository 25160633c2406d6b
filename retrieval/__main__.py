"""The command line of the retrievers: `python -m retrieval COMMAND`."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tqdm import tqdm

from retrieval.base import Retriever
from retrieval.corpora import read
from retrieval.errors import OdqaError, UsageError
from retrieval.passage import Passage
from retrieval.specs import FORMS, load

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["_Parser"]

_bar = partial(tqdm, disable=None, file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (--help lists what there is)\n")


def _index(commands: "Commands") -> None:
    parser = commands.add_parser("index", help="build an index from a corpus")
    parser.add_argument("--backend", choices=_BUILDERS, required=True)
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')
    parser.add_argument("--out", type=Path, required=True, help="directory to make")
    parser.add_argument("--overwrite", action="store_true", help="replace the index that is there")
    models = parser.add_argument_group("dense and colbert")
    models.add_argument("--batch-size", type=int, metavar="N", help="passages encoded at a time (default: 32, 64)")
    models.add_argument("--device", help="where to encode, such as cpu or cuda:1 (default: the best one there is)")
    models.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on with what an unfinished build left behind",
    )
    bm25 = parser.add_argument_group("bm25")
    bm25.add_argument("--k1", type=float, default=0.9, help="saturation of term frequency (default: %(default)s)")
    bm25.add_argument("--b", type=float, default=0.4, help="weight of the length (default: %(default)s)")
    bm25.add_argument("--stemmer", default="english", help="a Snowball stemmer, or none (default: %(default)s)")
    bm25.add_argument("--stop-words", choices=["english", "none"], default="english", help="(default: %(default)s)")
    dense = parser.add_argument_group("dense")
    dense.add_argument("--encoder", help="sbert, ance, contriever, or the directory or hub name of a model")
    dense.add_argument(
        "--approximate", action="store_true", help="a graph of neighbours (HNSW) instead of exact search"
    )
    colbert = parser.add_argument_group("colbert")
    colbert.add_argument("--checkpoint", help="directory or hub name, such as colbert-ir/colbertv2.0")
    colbert.add_argument("--bits", type=int, default=2, help="per number of a residual (default: %(default)s)")
    colbert.add_argument("--doc-maxlen", type=int, default=220, help="tokens of a passage (default: %(default)s)")
    colbert.add_argument("--kmeans-niters", type=int, default=4, help="turns of k-means (default: %(default)s)")

    def run(arguments: argparse.Namespace) -> None:
        start = time.monotonic()
        size = arguments.corpus.stat().st_size if arguments.corpus.is_file() else None
        with _bar(desc="reading", total=size, unit="B", unit_scale=True) as reading:
            index = _BUILDERS[arguments.backend](read(arguments.corpus, reading.update), arguments)
        seconds = round(time.monotonic() - start, 3)
        total = sum(file.stat().st_size for file in arguments.out.iterdir())
        print(json.dumps({"passages": len(index), "seconds": seconds, "bytes": total}))

    parser.set_defaults(run=run)


def _bm25(passages: Iterable[Passage], arguments: argparse.Namespace) -> Any:
    from retrieval.bm25 import BM25

    return BM25.build(
        passages,
        arguments.out,
        k1=arguments.k1,
        b=arguments.b,
        stemmer=None if arguments.stemmer == "none" else arguments.stemmer,
        stop_words=None if arguments.stop_words == "none" else arguments.stop_words,
        overwrite=arguments.overwrite,
        progress=partial(_bar, desc="scoring"),
    )


def _dense(passages: Iterable[Passage], arguments: argparse.Namespace) -> Any:
    from retrieval.dense import Dense

    if not arguments.encoder:
        raise UsageError("the backend dense needs --encoder: sbert, ance, contriever, or a model")
    return Dense.build(
        passages,
        arguments.out,
        encoder=arguments.encoder,
        approximate=arguments.approximate,
        batch_size=arguments.batch_size or 32,
        resume=arguments.resume,
        overwrite=arguments.overwrite,
        device=arguments.device,
    )


def _colbert(passages: Iterable[Passage], arguments: argparse.Namespace) -> Any:
    from retrieval.colbert import ColBERT

    if not arguments.checkpoint:
        raise UsageError("the backend colbert needs --checkpoint, such as colbert-ir/colbertv2.0")
    return ColBERT.build(
        passages,
        arguments.out,
        checkpoint=arguments.checkpoint,
        bits=arguments.bits,
        doc_maxlen=arguments.doc_maxlen,
        kmeans_niters=arguments.kmeans_niters,
        batch_size=arguments.batch_size or 64,
        device=arguments.device,
        resume=arguments.resume,
        overwrite=arguments.overwrite,
        progress=_bar,
    )


_BUILDERS: dict[str, Callable[[Iterable[Passage], argparse.Namespace], Any]] = {
    "bm25": _bm25,
    "colbert": _colbert,
    "dense": _dense,
}


def _fetch(commands: "Commands") -> None:
    parser = commands.add_parser("fetch", help="download a corpus, check it and unpack it into JSON lines")
    parser.add_argument("name", metavar="NAME", help="wiki17, wiki18 or hotpotqa17")
    parser.add_argument(
        "--out", type=Path, required=True, help="directory to make; what is there already is gone on with"
    )
    parser.add_argument("--file", type=Path, help="the archive, if it is on this machine already")
    parser.add_argument("--url", help="a mirror of the same file")

    def run(arguments: argparse.Namespace) -> None:
        from retrieval.corpora.catalogue import SOURCES
        from retrieval.corpora.download import fetch

        if arguments.name in SOURCES:
            print(f"licence: {SOURCES[arguments.name].licence}", file=sys.stderr)
        bars: dict[str, tqdm[Any]] = {}

        def progress(doing: str, done: int, total: int | None) -> None:
            if doing not in bars:
                close()
                bars[doing] = _bar(desc=doing, total=total, initial=done, unit="B", unit_scale=True)
            bars[doing].update(done - bars[doing].n)  # negative when a download begins anew

        def close() -> None:
            for bar in bars.values():
                bar.close()

        try:
            got = fetch(arguments.name, arguments.out, url=arguments.url, file=arguments.file, progress=progress)
        finally:
            close()
        if got.unchecked:
            print(f"not checked, for nothing is known of it: {', '.join(got.unchecked)}", file=sys.stderr)
        print(json.dumps({"corpus": str(got.corpus), "passages": got.passages, "left_out": got.left_out}))

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


def _serve(commands: "Commands") -> None:
    parser = commands.add_parser(
        "serve", help="serve searches over the ColBERTv2 protocol, for dspy.ColBERTv2 and ours"
    )
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument("--host", default="127.0.0.1", help="(default: %(default)s, this machine alone)")
    parser.add_argument("--port", type=int, default=8893, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--max-k", type=int, default=100, help="passages per query (default: %(default)s)")
    parser.add_argument("--max-query", type=int, default=16384, help="characters (default: %(default)s)")
    parser.add_argument("--max-batch", type=int, default=32, help="queries searched together (default: %(default)s)")
    parser.add_argument(
        "--max-waiting", type=int, default=256, help="queries waiting; beyond them 503 (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, help="seconds until a query is given up with 503 (default: %(default)s)"
    )

    def run(arguments: argparse.Namespace) -> None:
        from retrieval.remote.server import ServerLimits, serve

        limits = ServerLimits(
            k=arguments.max_k,
            query=arguments.max_query,
            batch=arguments.max_batch,
            waiting=arguments.max_waiting,
            timeout=arguments.timeout,
        )
        retriever: Retriever = load(arguments.retriever)
        serve(retriever, host=arguments.host, port=arguments.port, limits=limits)

    parser.set_defaults(run=run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = _Parser(
        prog="python -m retrieval", description="Fetch corpora; build, search and serve indexes of passages."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in _fetch, _index, _search, _serve:
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
