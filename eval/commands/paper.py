"""List the papers' tables, or run some and print the papers' figures beside ours.

Runs that exist already are used again.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tqdm import tqdm

from eval.commands.options import add_data, add_demonstrations, add_judge_api_base, add_threads, load_lm
from eval.runs.recorded_calls import Limits
from programs.commands.flags import add_lm
from retrieval import FORMS
from retrieval import load as load_retriever
from retrieval.command_line import without_secrets


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="such as blendfilter:table1 (default: list all)")
    parser.add_argument("--show", action="store_true", help="print the tables as in the papers, and run nothing")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions of each task")
    parser.add_argument("--judge", metavar="LM", help="LM of acc_judge (default: leave that metric out)")
    add_judge_api_base(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for all programs that have it"
    )
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="PROGRAM[:TASK]=FILE",
        help="state file with demonstrations, for rows where the paper uses some (default: zero-shot)",
    )
    add_demonstrations(parser, ", in such rows without a state file")
    parser.add_argument(
        "--runs", default="runs/paper", metavar="DIR", help="directory for the runs (default: %(default)s)"
    )
    add_threads(parser)
    parser.add_argument("--max-calls", type=int, metavar="N", help="stop each run after N LM calls")
    parser.add_argument(
        "--retriever",
        default=os.environ.get("ODQA_RETRIEVER"),
        metavar="SPEC",
        help=f"{' or '.join(FORMS)} (default: ODQA_RETRIEVER; without one, only the closed-book rows are run)",
    )
    parser.add_argument(
        "--oracle-retriever",
        metavar="SPEC",
        help="retriever for the rows with an oracle corpus, which includes the data sets' own passages",
    )
    add_lm(parser)
    add_data(parser)


def main(args: Namespace) -> None:
    from eval.papers import printing, running, setup
    from eval.papers.tables import find

    tables = [find(name) for name in args.tables]
    if not tables:
        print(printing.listing())
        return
    if args.show:
        print("\n\n".join(map(printing.show, tables)))
        return
    with tqdm(unit="question", disable=None, file=sys.stderr) as bar:
        made = setup.Setup(
            lm=lambda examples, retriever: load_lm(args, examples, retriever),
            retriever=load_retriever(args.retriever) if args.retriever else None,
            retriever_spec=args.retriever,
            oracle=load_retriever(args.oracle_retriever) if args.oracle_retriever else None,
            oracle_spec=args.oracle_retriever,
            directory=Path(args.runs),
            limit=args.limit,
            data=args.data,
            judge=args.judge,
            judge_api_base=args.judge_api_base,
            settings=setup.assigned(args.set),
            states=setup.states(args.state),
            demonstrations=args.demonstrations,
            on_demonstrations=lambda shown: bar.write(str(shown), file=sys.stderr),
            threads=args.threads,
            limits=Limits(calls=args.max_calls),
            on_row=lambda row: bar.update(),
            clean=without_secrets,
        )
        results = [printing.beside(running.run(table, made)) for table in tables]
    print("\n\n".join(results))
