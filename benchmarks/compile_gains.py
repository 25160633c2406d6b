"""Measures what each recipe gains, and whether equal seeds give equal files, with an LM that has to be taught.

    PYTHONPATH=tests python benchmarks/compile_gains.py --data ../shared/data --pools musique_train --dir /var/tmp/gains

The LM is `tests/support/learning_oracle.py`. It knows the gold, but answers by it only as far as the program finds the
passages, and replies well only if demonstrations or instructions show it how. Every compile runs three times: twice to
compare the state files, and once with an LM that learns nothing, which must gain nothing. A pool is a pair of files,
NAME.questions.jsonl.gz and NAME.corpus.jsonl.gz; BM25 finds the passages. Scores are on held-out questions.
"""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.compiling import SETTINGS as SMALL
from support.compiling import compiled
from support.learning_oracle import LearningOracle

import programs
import retrieval
from eval import metrics, tasks
from eval.runs.ceiling import gold_of
from optimizers import filter_f1, names, why_no_state
from optimizers.split import split
from retrieval.bm25.search import BM25
from retrieval.corpora.reader import read

# Small, because the question is whether there is a gain and not how large it is. GEPA takes the predictors in turn.
SETTINGS = {
    **SMALL,
    "mipro_v2": {"candidates": 6, "trials": 12},
    "simba": {"batch_size": 8, "candidates": 3, "batches": 3},
    "gepa": {"evaluations": 12},
}


def measure(
    name: str, recipe: str, retriever: Any, train: Sequence[Any], held_out: Sequence[Any], out: Path, **how: Any
) -> dict[str, Any]:
    """Compile three times, and compare."""
    began = time.process_time()
    outcomes, states = {}, {}
    for run, deaf in {"one": False, "two": False, "deaf": True}.items():
        learner = LearningOracle([gold_of(example) for example in [*train, *held_out]], deaf=deaf)
        questions = {"train": train, "held_out": held_out}
        program = programs.load(name)(retriever)
        outcomes[run] = compiled(recipe, program, learner, out / run, SETTINGS[recipe], **questions, **how)
        states[run] = None if why_no_state(recipe) else (out / run / "state.json").read_bytes()
    metric = how["metric"].__name__
    one, deaf_one = outcomes["one"], outcomes["deaf"]
    return {
        "before": one.before.total.scores[metric].mean,
        "after": one.after.total.scores[metric].mean,
        "deaf": deaf_one.after.total.scores[metric].mean,
        "equal files": "-" if states["one"] is None else states["one"] == states["two"],
        "LM calls": one.cost.lm_calls,
        "cpu s": time.process_time() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the pools")
    parser.add_argument("--pools", nargs="+", required=True, metavar="NAME")
    parser.add_argument("--programs", nargs="+", default=["blendfilter", "migres"], metavar="NAME")
    parser.add_argument("--recipes", nargs="+", default=names(), metavar="NAME")
    parser.add_argument("--train", type=int, default=12, help="(default: %(default)s)")
    parser.add_argument("--dev", type=int, default=24, help="(default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="predictors that are to learn")
    parser.add_argument("--metric", default="em", help="a metric of odqa eval, or filter_f1 (default: %(default)s)")
    parser.add_argument("--dir", type=Path, required=True, help="for indexes and runs; a new one for new runs")
    args = parser.parse_args()
    metric = filter_f1 if args.metric == "filter_f1" else metrics.load(args.metric)
    for pool in args.pools:
        index = args.dir / f"{pool}.index"
        if not index.exists():
            BM25.build(read(args.data / f"{pool}.corpus.jsonl.gz"), index)
        retriever = retrieval.load(f"bm25:{index}")
        examples = tasks.load(f"file:{args.data / f'{pool}.questions.jsonl.gz'}")
        train, held_out = split(examples, train=args.train, held_out=args.dev, seed=0)
        for name in args.programs:
            for recipe in args.recipes:
                out = args.dir / "-".join([pool, name, recipe, args.metric, *args.only])
                how = {"metric": metric, "only": args.only, "threads": 2}
                with contextlib.redirect_stdout(sys.stderr):  # DSPy prints
                    found = measure(name, recipe, retriever, train, held_out, out, **how)
                rounded = {key: round(x, 3) if isinstance(x, float) else x for key, x in found.items()}
                print(json.dumps({"pool": pool, "program": name, "recipe": recipe, **rounded}), flush=True)


if __name__ == "__main__":
    main()
