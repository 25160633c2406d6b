"""How BM25 grows with the corpus, beside its peers: building, opening, and searching in one interleaved run.

    python benchmarks/bm25_scale.py --small
    python benchmarks/bm25_scale.py --sizes 1000000 5000000 --dir /var/tmp/bm25 \
        --source DATA/*.corpus.jsonl.gz --questions DATA/*.dev.jsonl.gz

The passages are resampled from those of the source: see resampled.py. Short queries are the questions themselves; long
ones have beside it what an LM might have written on it, about 100 words, as BlendFilter's have. Each search gives row
numbers and scores, passages are read in the last column alone. The peers: bm25s with NumPy and with its numba kernel,
over our own index, whose format is its own; tantivy and PISA (`pip install tantivy pyterrier-pisa`), over the words
that our analyser finds. What is not installed is said and left out. Every step that is not compared has a process of
its own, so that the peaks of memory (resident set, mapped files included) are its own too.

Queries per second are of processor time: wall clocks say more about what else the machine does.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from measuring import Timer, alone, peak, quantile, rows, show
from resampled import long_queries, passages, short_queries

from retrieval.corpora import SAMPLE

SAMPLE_QUESTIONS = Path(__file__).parents[1] / "eval" / "tasks" / "sample.questions.jsonl"
ROUNDS = 3
FIRST = "who was the first president"

Search = Callable[[str, int], Any]


def build(source: list[Path], size: int, out: Path) -> dict[str, float]:
    """Build our index; the making of the passages is not counted."""
    from retrieval.bm25 import BM25

    made = 0.0

    def counted() -> Iterator[Any]:
        nonlocal made
        stream = passages(rows(source), size)
        while True:
            begin = time.thread_time()
            passage = next(stream, None)
            made += time.thread_time() - begin
            if passage is None:
                return
            yield passage

    timer = Timer()
    BM25.build(counted(), out, overwrite=True)
    seconds = timer.cpu - made
    megabytes = sum(file.stat().st_size for file in out.iterdir()) / 1e6
    return {
        "passages per CPU s": size / seconds,
        "CPU s": seconds,
        "wall s, making of passages included": timer.wall,
        "peak MB": peak(),
        "index MB": megabytes,
    }


def build_plain(out: Path) -> dict[str, float]:
    """Build an index of the same passages with bm25s alone, in memory."""
    import bm25s
    import Stemmer

    from retrieval.bm25 import BM25

    index = BM25(out)
    texts = [f"{passage.title} {passage.text}" for passage in map(index.passage, range(len(index)))]
    timer = Timer()
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    bm25s.BM25(k1=0.9, b=0.4).index(tokens, show_progress=False)
    seconds = timer.cpu
    return {"passages per CPU s": len(texts) / seconds, "CPU s": seconds, "peak MB": peak()}


def first_search(out: Path) -> dict[str, float]:
    """Import, open and search once, in a fresh process."""
    timer = Timer()
    from retrieval.bm25 import BM25

    taken = {"import ms": 1000 * timer.wall, "import CPU ms": 1000 * timer.cpu}
    timer = Timer()
    BM25(out)(FIRST, 5)
    return taken | {"open and first search ms": 1000 * timer.wall, "open and first search CPU ms": 1000 * timer.cpu}


def ours(out: Path) -> Search:
    from retrieval.bm25 import BM25

    return BM25(out).rank


def ours_by_numpy(out: Path) -> Search:
    from retrieval.bm25 import BM25, search

    index = BM25(out)

    def rank(query: str, k: int) -> Any:
        kept, search.kernel = search.kernel, None
        try:
            return index.rank(query, k)
        finally:
            search.kernel = kept

    return rank


def ours_with_passages(out: Path) -> Search:
    from retrieval.bm25 import BM25

    return BM25(out)


def bm25s_with(backend: str) -> Callable[[Path], Search]:
    def opened(out: Path) -> Search:
        import bm25s
        import Stemmer

        index = bm25s.BM25.load(out, mmap=True, backend=backend)
        stemmer = Stemmer.Stemmer("english")

        def search(query: str, k: int) -> Any:
            tokens = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
            return index.retrieve(tokens, k=k, show_progress=False, n_threads=1)

        return search

    return opened


def words_of(out: Path) -> Iterator[str]:
    """The words of each passage, as our analyser finds them; found once and kept in a file."""
    from retrieval.bm25 import BM25

    kept = out.with_suffix(".words")
    if not kept.exists():
        index = BM25(out)
        split, stem = index.analyser.make_words(), index.analyser.make_stem()
        known = dict.fromkeys(index.analyser.stop_words, "")
        with kept.open("w") as file:
            for row in range(len(index)):
                passage = index.passage(row)
                words = split(f"{passage.title} {passage.text}")
                known |= {word: stem(word) for word in words if word not in known}
                file.write(" ".join(filter(None, map(known.__getitem__, words))) + "\n")
    with kept.open() as lines:
        yield from map(str.strip, lines)


def tantivy(out: Path) -> Search:
    import tantivy as engine

    from retrieval.bm25 import BM25

    place = out.with_suffix(".tantivy")
    schema = engine.SchemaBuilder()
    schema.add_text_field("words", stored=False, tokenizer_name="whitespace", index_option="freq")
    if not place.exists():
        place.mkdir()
        index = engine.Index(schema.build(), path=str(place))
        writer = index.writer(500_000_000, num_threads=1)
        for words in words_of(out):
            writer.add_document(engine.Document(words=words))
        writer.commit()
        writer.wait_merging_threads()
    index = engine.Index.open(str(place))
    searcher, analyser = index.searcher(), BM25(out).analyser
    return lambda query, k: searcher.search(index.parse_query(" ".join(analyser(query)), ["words"]), k, count=False)


def pisa(algorithm: str) -> Callable[[Path], Search]:
    def opened(out: Path) -> Search:
        import pandas
        from pyterrier_pisa import PisaIndex

        from retrieval.bm25 import BM25

        place, analyser = out.with_suffix(".pisa"), BM25(out).analyser
        index = PisaIndex(str(place), stemmer="none", stops="none", threads=1, text_field="text")
        if not place.exists():
            index.index({"docno": str(row), "text": words} for row, words in enumerate(words_of(out)))
        of_k: dict[int, Any] = {}

        def search(query: str, k: int) -> Any:
            if k not in of_k:
                of_k[k] = index.bm25(num_results=k, threads=1, query_algorithm=algorithm)
            return of_k[k](pandas.DataFrame([{"qid": "1", "query": " ".join(analyser(query))}]))

        # What pandas and pyterrier cost around a query is not PISA's: all queries in one call.
        search.many = lambda queries, k: of_k[k](  # type: ignore[attr-defined]
            pandas.DataFrame(
                {"qid": list(map(str, range(len(queries)))), "query": [" ".join(analyser(q)) for q in queries]}
            )
        )
        return search

    return opened


ENGINES: dict[str, Callable[[Path], Search]] = {
    "ours": ours,
    "ours, NumPy": ours_by_numpy,
    "bm25s": bm25s_with("numpy"),
    "bm25s, numba": bm25s_with("numba"),
    "tantivy": tantivy,
    "PISA, MAXSCORE": pisa("maxscore"),
    "PISA, block-max WAND": pisa("block_max_wand"),
    "ours, passages read": ours_with_passages,
}


def opened(out: Path, names: Sequence[str]) -> dict[str, Search]:
    """Those of the engines that are installed, each tried often enough that what it compiles or loads late is there."""
    found = {}
    for name in names:
        try:
            search = found[name] = ENGINES[name](out)
        except ModuleNotFoundError as missing:
            print(f"left out: {name}, since {missing.name} is not installed", file=sys.stderr)
            continue
        for _ in range(20):
            search(FIRST, 5)
    return found


def waits(out: Path, kinds: dict[str, Sequence[str]], k: int) -> dict[str, dict[str, float]]:
    """Milliseconds of the wall until ours has an answer: when it is asked each query for the first time, and again."""
    search, table = opened(out, ["ours"])["ours"], {}
    for kind, asked in kinds.items():
        for time_ in "first", "second":
            taken = []
            for query in asked:
                timer = Timer()
                search(query, k)
                taken.append(1000 * timer.wall)
            table[f"{kind}, {time_} time"] = {"p50": quantile(taken, 0.5), "p99": quantile(taken, 0.99)}
    return table


def compare(
    out: Path, kinds: dict[str, Sequence[str]], ks: Sequence[int], names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Queries per CPU second of each engine: the best of some rounds, in each of which they take turns."""
    engines, table = opened(out, names), {}
    for kind, asked in kinds.items():
        for k in ks:
            seconds: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(ROUNDS):
                for name, search in engines.items():
                    search(asked[0], k)
                    timer = Timer()
                    if many := getattr(search, "many", None):
                        many(asked, k)
                    else:
                        for query in asked:
                            search(query, k)
                    seconds[name].append(timer.cpu)
            table[f"{kind}, k = {k}"] = {name: len(asked) / min(taken) for name, taken in seconds.items()}
    return table


def check(out: Path, asked: Sequence[str], k: int) -> None:
    """See that bm25s finds the same scores."""
    mine, plain = ours(out), bm25s_with("numpy")(out)
    for query in asked:
        scores = mine(query, k)[1].tolist()
        if scores != plain(query, k).scores[0].tolist()[: len(scores)]:
            sys.exit(f"the scores differ: {query}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="20,000 passages, 100 queries, k = 20: below a minute")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="(default: %(default)s)")
    parser.add_argument(
        "--plain", type=int, default=1_000_000, help="bm25s builds up to this size (default: %(default)s)"
    )
    parser.add_argument(
        "--queries", type=int, default=200, help="short ones; a quarter are long (default: %(default)s)"
    )
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, default=list(ENGINES), help="that are compared (default: all)"
    )
    parser.add_argument("--k", type=int, nargs="+", default=[5, 20, 100], help="(default: %(default)s)")
    parser.add_argument(
        "--source", type=Path, nargs="+", default=[SAMPLE], help="passages (default: the packaged ones)"
    )
    parser.add_argument("--questions", type=Path, nargs="+", default=[SAMPLE_QUESTIONS], help="(default: likewise)")
    parser.add_argument("--dir", type=Path, help="for indexes (default: one that is deleted at the end)")
    parser.add_argument("--keep", action="store_true", help="keep the indexes, and use those that are there")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.sizes, arguments.queries, arguments.k, arguments.plain = [20_000], 100, [20], 20_000
    with ExitStack() as stack:
        if arguments.dir is None:
            arguments.dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    """Build, open and search at each size."""
    source, questions = rows(arguments.source), rows(arguments.questions)
    kinds = {
        "short": short_queries(questions, arguments.queries),
        "long": long_queries(source, questions, max(1, arguments.queries // 4)),
    }
    for size in arguments.sizes:
        out = arguments.dir / f"{size}.index"
        out.parent.mkdir(parents=True, exist_ok=True)
        print(f"\n{size:,} passages, load {os.getloadavg()[0]:.0f}")
        if not (arguments.keep and out.exists()):
            built = {"ours": alone(build, arguments.source, size, out)}
            if size <= arguments.plain:
                built["bm25s"] = alone(build_plain, out)
            show("building", built)
        show("opening", {f"process {n}": alone(first_search, out) for n in (1, 2)})
        alone(check, out, list(chain.from_iterable(kinds.values())), max(arguments.k))
        show(f"ms, k = {arguments.k[0]}", alone(waits, out, kinds, arguments.k[0]))
        show("queries per CPU second", alone(compare, out, kinds, arguments.k, arguments.engines))
        if not arguments.keep:
            out.with_suffix(".words").unlink(missing_ok=True)
            for place in (out, out.with_suffix(".tantivy"), out.with_suffix(".pisa")):
                shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
