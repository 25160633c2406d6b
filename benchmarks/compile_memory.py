"""Measures how much memory compiling takes besides the index, which is neither copied nor read as a whole.

    python benchmarks/compile_memory.py --dir /var/tmp/compile

The index is a BM25 index over passages that are resampled from the packaged ones: see resampled.py. BlendFilter is
compiled over it with the built-in extractive reader as its LM. Each recipe runs in a process of its own, which first
imports what the recipe needs. The figures are in MB, millions of bytes:

idle       after ten questions, one at a time
asking     the most while the held-out questions are asked, as many at a time as while compiling
compiling  the most while the recipe runs, and the same questions are asked before and after it

As in `odqa optimize`, the C library gives memory back at once. Private memory is the process's own. That of files has
the pages of the mapped index that searches touched; the system takes these back when it needs them.
"""

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from bm25_scale import SAMPLE_QUESTIONS, build
from measuring import alone, memory, rows
from resampled import short_queries

from retrieval.corpora import SAMPLE

RECIPES = ["bootstrap_few_shot", "bootstrap_random_search", "copro", "mipro_v2", "simba", "gepa"]


def compile_over(index: Path, asked: list[str], recipe: str, train: int, threads: int, tell: bool) -> dict[str, float]:
    """Compile over the index, and measure the memory."""
    import dspy
    import gepa  # noqa: F401
    import optuna  # noqa: F401

    import lms
    import retrieval
    from eval.metrics import f1
    from eval.runs.runner import evaluate
    from odqa.heaps import give_back_memory
    from optimizers import load
    from optimizers.optimize import optimize
    from programs.blendfilter import BlendFilter

    if tell:
        give_back_memory()
    program = BlendFilter(retrieval.load(f"bm25:{index}"))
    examples = [
        dspy.Example(id=str(n), question=query, answers=[query.split()[0]]).with_inputs("question")
        for n, query in enumerate(asked)
    ]
    with dspy.context(lm=lms.load("extractive")), tempfile.TemporaryDirectory() as runs:
        for example in examples[-10:]:
            program(question=example.question)
        found = {"idle": memory()}
        held_out = examples[train : 2 * train]
        with most(found, "asking"):
            evaluate(program, held_out, metrics=[f1], directory=Path(runs) / "warm", threads=threads)
        talk = (Path(runs) / "talk").open("w")
        with most(found, "compiling"), talk, redirect_stdout(talk), redirect_stderr(talk):
            outcome = optimize(
                program,
                load(recipe),
                train=examples[:train],
                held_out=held_out,
                metric=f1,
                out=Path(runs) / "state.json",
                directory=Path(runs) / "run",
                threads=threads,
            )
    figures = {f"{what} {when}": found[when][what] for what in ("private", "files") for when in found}
    return figures | {"LM calls": outcome.cost.lm_calls}


@contextmanager
def most(found: dict[str, dict[str, float]], name: str) -> Iterator[None]:
    """Record the most memory used in the block, under this name."""
    ended = threading.Event()
    found[name] = memory()

    def watch() -> None:
        while not ended.wait(0.05):
            found[name] = {what: max(size, found[name][what]) for what, size in memory().items()}

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=700_000, help="passages of the corpus (default: %(default)s)")
    parser.add_argument("--train", type=int, default=12, help="questions to learn from (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=8, help="questions at a time (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="let the heaps of threads keep memory, as in code")
    parser.add_argument("--recipes", nargs="+", default=RECIPES, metavar="NAME")
    parser.add_argument("--dir", type=Path, required=True, help="for the index, which is kept")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    index = args.dir / f"{args.size}.index"
    if not index.exists():
        print(alone(build, [SAMPLE], args.size, index), file=sys.stderr)
    size = sum(file.stat().st_size for file in index.iterdir()) / 1e6
    asked = short_queries(rows([SAMPLE_QUESTIONS]), 2 * args.train + 10)
    for recipe in args.recipes:
        found = alone(compile_over, index, asked, recipe, args.train, args.threads, not args.keep)
        print(
            json.dumps({"recipe": recipe, "index MB": round(size)} | {k: round(x, 1) for k, x in found.items()}),
            flush=True,
        )


if __name__ == "__main__":
    main()
