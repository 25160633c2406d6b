"""Judge a retriever by itself, or compare it with another one.

Searches each question and compares what is found with the gold titles, passages and answers. One row per question goes
to a directory; the figures are printed. A retriever that asks an LM asks the one of --lm.
"""

import json
import time
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext

from eval.commands.options import task_name
from eval.reports.progress import Progress
from eval.reports.retrieval import retrieval_table
from eval.runs.retrieval import evaluate_retriever
from eval.tasks import load
from odqa.console import output, say
from odqa.secrets import public
from programs.instruments.cost import measured
from retrieval import FORMS
from retrieval import load as load_retriever
from retrieval.commands.asking import add_lm_flags, asking, bill


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("--retriever", required=True, metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument(
        "--questions", required=True, metavar="FILE", help="QUESTIONS.jsonl[.gz], or sample for the packaged ones"
    )
    parser.add_argument(
        "-k", type=int, nargs="+", default=[5, 10, 20, 100], metavar="K", help="cut-offs (default: 5 10 20 100)"
    )
    parser.add_argument("--against", metavar="SPEC", help="another retriever, to compare the first one with")
    parser.add_argument("--limit", type=int, metavar="N", help="search only the first N questions (default: all)")
    parser.add_argument("--run", metavar="DIR", help="directory for the rows (default: runs/retrieval-FILE-TIME)")
    add_lm_flags(parser)


def main(args: Namespace) -> None:
    examples = load(args.questions if args.questions == "sample" else f"file:{args.questions}", args.limit)
    specs = [spec for spec in (args.retriever, args.against) if spec]
    retriever = load_retriever(args.retriever)
    against = load_retriever(args.against) if args.against else None
    directory = args.run or f"runs/retrieval-{task_name(args.questions)}-{time.strftime('%Y%m%d-%H%M%S')}"
    say(f"run: {directory}")
    asks = retriever.asks_lm or (against is not None and against.asks_lm)
    with asking(args) if asks else nullcontext(), measured() as cost, Progress(len(examples) * len(specs)) as progress:
        figures = evaluate_retriever(
            retriever,
            examples,
            directory=directory,
            ks=args.k,
            against=against,
            manifest={"file": args.questions, "retrievers": [*map(public, specs)]},
            progress=progress.count,
        )
    if asks:
        say(f"cost: {json.dumps(bill(cost))}")
    output(retrieval_table(figures))
