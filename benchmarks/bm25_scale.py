"""How BM25 grows with the corpus: building, opening and searching, beside plain bm25s on the same passages.

    python benchmarks/bm25_scale.py --sizes 100000 1000000 --plain 1000000 --dir /var/tmp/bm25

The corpora are synthetic and the same every time: passages of about 60 words out of five million, drawn by Zipf's law
with the steeper tail of natural vocabularies (exponent 1 up to rank 8,000, then 1.7); the 33 most frequent are the stop
words. A query is the title of a passage of the corpus and ten words of its text. Every step has a process of its own,
so that the peaks of memory (resident set, mapped files included) are its own too. Seconds are of the wall; where other
work keeps the processors busy, the seconds of processor time beside them say more.
"""

import argparse
import json
import random
import resource
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

WORDS = 5_000_000
K = 10


def generate(path: Path, size: int) -> dict[str, float]:
    """Write a corpus of `size` passages, unless it is there."""
    import numpy as np
    from bm25s.stopwords import STOPWORDS_EN

    syllables = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]

    def spell(n: int) -> str:
        ending, word = ("", "n", "nt", "nts")[n % 4], syllables[n % 75]
        while n := n // 75:
            word += syllables[n % 75]
        return word + ending

    words = np.array([*STOPWORDS_EN, *map(spell, range(WORDS - len(STOPWORDS_EN)))], object)
    ranks = np.arange(WORDS) + 2.0
    shares = np.where(ranks < 8000, 1 / ranks, 8000**0.7 * ranks**-1.7).cumsum()
    random_ = np.random.default_rng(0)
    with path.open("w") as file:
        for start in range(0, size, 10_000):
            lengths = np.clip(random_.lognormal(4.0, 0.45, min(10_000, size - start)), 8, 400).astype(int) + 2
            drawn = words[np.searchsorted(shares, random_.random(lengths.sum()) * shares[-1])].tolist()
            for n, end in enumerate(lengths.cumsum().tolist()):
                begin = end - int(lengths[n])
                title, text = " ".join(drawn[begin : begin + 2]), " ".join(drawn[begin + 2 : end])
                file.write(json.dumps({"id": start + n, "title": title, "text": text}) + "\n")
    return {}


def queries(path: Path, size: int, count: int) -> list[str]:
    """The queries for a corpus."""
    pick = random.Random(0)
    rows, asked = set(pick.sample(range(size), count)), []
    with path.open() as lines:
        for row, line in enumerate(lines):
            if row in rows:
                passage = json.loads(line)
                words = passage["text"].split()
                asked.append(" ".join([passage["title"], *pick.sample(words, min(10, len(words)))]))
    return asked


def build(corpus: Path, out: Path) -> dict[str, float]:
    """Build our index."""
    from retrieval.bm25 import BM25
    from retrieval.corpora import read

    begin = clocks()
    BM25.build(read(corpus), out)
    return since(begin, "build") | {"index MB": sum(file.stat().st_size for file in out.iterdir()) / 1e6}


def search(out: Path, asked: list[str]) -> dict[str, Any]:
    """Open and search our index, the check with known items included."""
    import retrieval

    before, begin = peak(), clocks()
    index = retrieval.load(f"bm25:{out}")
    found = since(begin, "open") | {"MB before opening": before}
    begin = clocks()
    scores = [[p.score for p in index(query, K)] for query in asked]
    return found | rates(begin, len(asked)) | {"scores": scores}


def plain_build(corpus: Path, out: Path) -> dict[str, float]:
    """Build an index with bm25s alone."""
    import bm25s
    import Stemmer

    begin = clocks()
    with corpus.open() as lines:
        passages = [json.loads(line) for line in lines]
    texts = [f"{passage['title']} {passage['text']}" for passage in passages]
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    index = bm25s.BM25(k1=0.9, b=0.4)
    index.index(tokens, show_progress=False)
    index.save(out, corpus=passages, show_progress=False)
    return since(begin, "build") | {"index MB": sum(file.stat().st_size for file in out.iterdir()) / 1e6}


def plain_search(out: Path, asked: list[str]) -> dict[str, Any]:
    """Open and search an index with bm25s alone."""
    import bm25s
    import Stemmer

    before, begin = peak(), clocks()
    index = bm25s.BM25.load(out, mmap=True, load_corpus=True, show_progress=False, verbosity=0)
    found = since(begin, "open") | {"MB before opening": before}
    stemmer, scores = Stemmer.Stemmer("english"), []
    begin = clocks()
    for query in asked:
        tokens = bm25s.tokenize(query, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        scores.append(index.retrieve(tokens, k=K, show_progress=False).scores[0].tolist())
    return found | rates(begin, len(asked)) | {"scores": scores}


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(begin: tuple[float, float], what: str) -> dict[str, float]:
    wall, processor = clocks()
    return {f"{what} s": wall - begin[0], f"{what} cpu s": processor - begin[1], f"{what} peak MB": peak()}


def rates(begin: tuple[float, float], count: int) -> dict[str, float]:
    wall, processor = clocks()
    return {
        "queries/s": count / (wall - begin[0]),
        "queries/cpu s": count / (processor - begin[1]),
        "search peak MB": peak(),
    }


def peak() -> float:
    kilo = 1000 if sys.platform == "darwin" else 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / kilo / 1e6


def alone(step: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(step, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="passages (default: %(default)s)"
    )
    parser.add_argument(
        "--plain", type=int, default=1_000_000, help="plain bm25s up to this size (default: %(default)s)"
    )
    parser.add_argument("--queries", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument(
        "--dir", type=Path, required=True, help="for corpora, which are kept, and indexes, which are not"
    )
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    for size in arguments.sizes:
        corpus, out = arguments.dir / f"{size}.jsonl", arguments.dir / f"{size}.index"
        if not corpus.exists():
            print(f"writing {corpus}", file=sys.stderr)
            alone(generate, corpus, size)
        asked, scores = queries(corpus, size, arguments.queries), []
        steps = [("retrieval.bm25.search", build, search), ("plain bm25s", plain_build, plain_search)]
        for name, make, find in steps[: 2 if size <= arguments.plain else 1]:
            found = alone(make, corpus, out) | alone(find, out, asked)
            shutil.rmtree(out)
            scores.append(found.pop("scores"))
            print(
                json.dumps({"passages": size, "with": name} | {key: round(x, 2) for key, x in found.items()}),
                flush=True,
            )
        if any(other != scores[0] for other in scores):
            sys.exit("the scores differ")


if __name__ == "__main__":
    main()
