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

from retrieval.command_line import Parser, run, say
from retrieval.corpora.reader import read
from retrieval.errors import UsageError
from retrieval.passage import Passage
from retrieval.specs import FORMS, load

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[Parser]

_PROG = "python -m retrieval"
_bar = partial(tqdm, disable=None, file=sys.stderr)


def _add_index(commands: "_Commands") -> None:
    parser = commands.add_parser("index", help="build an index from a corpus")
    parser.add_argument("--backend", choices=_BUILDERS, required=True, help="kind of index")
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')
    parser.add_argument("--out", type=Path, required=True, help="directory to make")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing index")
    models = parser.add_argument_group("dense and colbert")
    models.add_argument(
        "--batch-size", type=int, metavar="N", help="encode N passages at a time (default: dense 32, colbert 64)"
    )
    models.add_argument("--device", help="where to encode, such as cpu or cuda:1 (default: the best there is)")
    models.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="continue an unfinished build (default: %(default)s)",
    )
    bm25 = parser.add_argument_group("bm25")
    bm25.add_argument("--k1", type=float, default=0.9, help="saturation of term frequency (default: %(default)s)")
    bm25.add_argument("--b", type=float, default=0.4, help="weight of a passage's length (default: %(default)s)")
    bm25.add_argument("--stemmer", default="english", help="a Snowball stemmer, or none (default: %(default)s)")
    bm25.add_argument(
        "--stop-words", choices=["english", "none"], default="english", help="words to ignore (default: %(default)s)"
    )
    dense = parser.add_argument_group("dense")
    dense.add_argument("--encoder", help="sbert, ance, contriever, or a model's directory or Hugging Face name")
    dense.add_argument(
        "--approximate", action="store_true", help="search approximately, in a graph of neighbours (HNSW)"
    )
    colbert = parser.add_argument_group("colbert")
    colbert.add_argument("--checkpoint", help="directory or Hugging Face name, such as colbert-ir/colbertv2.0")
    colbert.add_argument("--bits", type=int, default=2, help="bits per number of a residual (default: %(default)s)")
    colbert.add_argument("--doc-maxlen", type=int, default=220, help="tokens of a passage (default: %(default)s)")
    colbert.add_argument("--kmeans-niters", type=int, default=4, help="iterations of k-means (default: %(default)s)")
    parser.set_defaults(command=_index)


def _index(arguments: argparse.Namespace) -> None:
    start = time.monotonic()
    size = arguments.corpus.stat().st_size if arguments.corpus.is_file() else None
    with _bar(desc="reading", total=size, unit="B", unit_scale=True) as reading:
        index = _BUILDERS[arguments.backend](read(arguments.corpus, reading.update), arguments)
    seconds = round(time.monotonic() - start, 3)
    total = sum(file.stat().st_size for file in arguments.out.iterdir())
    print(json.dumps({"passages": len(index), "seconds": seconds, "bytes": total}))


def _bm25(passages: Iterable[Passage], arguments: argparse.Namespace) -> Any:
    from retrieval.bm25.search import BM25

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
    from retrieval.dense.search import Dense

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
    from retrieval.colbert.search import ColBERT

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


def _add_fetch(commands: "_Commands") -> None:
    parser = commands.add_parser("fetch", help="download a corpus, check it and unpack it into JSON lines")
    parser.add_argument("name", metavar="NAME", help="wiki17, wiki18 or hotpotqa17")
    parser.add_argument("--out", type=Path, required=True, help="directory to make, or one with an unfinished download")
    parser.add_argument("--file", type=Path, help="the archive, if it is on this machine already")
    parser.add_argument("--url", help="a mirror that has the same file")
    parser.set_defaults(command=_fetch)


def _fetch(arguments: argparse.Namespace) -> None:
    from retrieval.corpora.fetch import SOURCES, fetch

    if arguments.name in SOURCES:
        say(f"licence: {SOURCES[arguments.name].licence}")
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
        say(f"not checked, because no checksum is known: {', '.join(got.unchecked)}")
    print(json.dumps({"corpus": str(got.corpus), "passages": got.passages, "left_out": got.left_out}))


def _add_search(commands: "_Commands") -> None:
    parser = commands.add_parser("search", help="search, and print the passages as JSON lines, the best first")
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument("query", help="what to search for")
    parser.add_argument("-k", type=int, default=5, help="print at most K passages (default: %(default)s)")
    parser.set_defaults(command=_search)


def _search(arguments: argparse.Namespace) -> None:
    if not arguments.query.strip():
        raise UsageError("the query is empty: say what to look for")
    for p in load(arguments.retriever)(arguments.query, arguments.k):
        print(json.dumps({"id": p.id, "title": p.title, "text": p.text, "score": p.score}, ensure_ascii=False))


def _add_serve(commands: "_Commands") -> None:
    parser = commands.add_parser(
        "serve", help="serve searches over the ColBERTv2 protocol, for dspy.ColBERTv2 and colbertv2:URL"
    )
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    parser.add_argument("--port", type=int, default=8893, help="port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--max-k", type=int, default=100, help="most passages per query (default: %(default)s)")
    parser.add_argument(
        "--max-query", type=int, default=16384, help="most characters of a query (default: %(default)s)"
    )
    parser.add_argument(
        "--max-batch", type=int, default=32, help="most queries searched together (default: %(default)s)"
    )
    parser.add_argument(
        "--max-waiting", type=int, default=256, help="most queries waiting; others get 503 (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, help="seconds until a query gets 503 (default: %(default)s)"
    )
    parser.set_defaults(command=_serve)


def _serve(arguments: argparse.Namespace) -> None:
    from retrieval.remote.server import Limits, serve

    limits = Limits(
        k=arguments.max_k,
        query=arguments.max_query,
        batch=arguments.max_batch,
        waiting=arguments.max_waiting,
        timeout=arguments.timeout,
    )
    serve(load(arguments.retriever), host=arguments.host, port=arguments.port, limits=limits)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one subcommand and exit."""
    chosen = make_parser().parse_args(arguments)
    run(_PROG, lambda: chosen.command(chosen))


def make_parser() -> Parser:
    """Make the parser, with all subcommands."""
    parser = Parser(prog=_PROG, description="Fetch corpora; build, search and serve indexes of passages.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in _add_fetch, _add_index, _add_search, _add_serve:
        add(commands)
    return parser


if __name__ == "__main__":
    main()
