"""List the papers' tables, or run some and print the papers' figures beside ours.

Runs that exist already are used again.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from eval.commands.options import (
    add_attempts,
    add_data,
    add_demonstrations,
    add_judge_api_base,
    add_limits,
    add_lm_calls,
    add_workers,
    check_draws,
    check_prices,
    limits_of,
    seeds_of,
    workers_of,
)
from eval.reports.progress import Progress
from eval.runs.found import known_runs
from eval.runs.prepare import load_lm
from eval.runs.request import Pace, Request
from odqa.console import output, say
from odqa.limits import Limiter
from programs.commands.flags import adapter_of, add_lm, assignment, lm_settings
from retrieval import FORMS, OdqaError, Retriever, UsageError
from retrieval import load as load_retriever

if TYPE_CHECKING:
    from eval.papers.setup import MakeLM


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="such as blendfilter:table1 (default: list all)")
    parser.add_argument(
        "--rows",
        action="append",
        default=[],
        metavar="NAME",
        help="only the rows with this name or this part of a name; can be repeated",
    )
    parser.add_argument(
        "--columns", action="append", default=[], metavar="NAME", help="only the columns with this name, likewise"
    )
    parser.add_argument("--show", action="store_true", help="print the tables as in the papers, and run nothing")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions of each task")
    parser.add_argument("--judge", metavar="LM", help="LM of acc_judge (default: leave that metric out)")
    add_judge_api_base(parser)
    parser.add_argument(
        "--set",
        action="append",
        type=assignment,
        default=[],
        metavar="NAME=VALUE",
        help="a setting for all programs that have it; what makes a row what it is cannot be set",
    )
    parser.add_argument(
        "--state",
        action="append",
        type=assignment,
        default=[],
        metavar="PROGRAM[:TASK]=FILE",
        help="state file with demonstrations, for rows where the paper uses some",
    )
    paper_s = "BlendFilter's rows as many as its paper, if training questions are at hand; the others none"
    add_demonstrations(parser, ", in such rows without a state file; 0 for none", paper_s)
    parser.add_argument(
        "--runs", default="runs/paper", metavar="DIR", help="directory for the runs (default: %(default)s)"
    )
    parser.add_argument(
        "--known",
        action="append",
        metavar="DIR",
        help="folder with runs of odqa eval, at any depth: one that asked the same of the same questions stands for a "
        "row, and is scored anew (default: runs)",
    )
    add_workers(parser)
    add_lm_calls(parser)
    add_attempts(parser, "each with tables of its own")
    add_limits(parser, "all runs together")
    parser.add_argument(
        "--retriever",
        action="append",
        metavar="[[ROLE][@TASK]=]SPEC",
        help=f"{' or '.join(FORMS)}; with a ROLE only for the paper's retriever of this name, or for oracle, the "
        "corpora with the data sets' own passages; with @TASK, such as @hotpotqa, only for its questions (default: "
        "ODQA_RETRIEVER; rows whose retriever is not given are not run)",
    )
    add_lm(parser, by_role=True)
    add_data(parser)


def main(args: Namespace) -> None:
    from eval.papers import printing, running, setup
    from eval.papers.tables import choose, find

    tables = [find(name) for name in args.tables]
    if not tables:
        output(printing.listing())
        return
    tables = choose(tables, args.rows, args.columns)
    if args.show:
        output("\n\n".join(map(printing.show, tables)))
        return
    seeds, states = seeds_of(args), {name: str(file) for name, file in args.state}
    request = _request(args)
    setup.check_settings(request.settings, tables)
    setup.check_states(states)
    begun: list[Path] = []
    results = []

    def on_run(row: str, task: str, directory: Path) -> None:
        begun.append(directory)
        progress.say(f"{row}, {task}: {directory}")

    with dspy.context(adapter=adapter_of(args)), Progress(None) as progress:
        made = setup.Setup(
            request=request,
            lms=_lms(args),
            retrievers=_retrievers(args),
            directory=Path(args.runs),
            known=known_runs(map(Path, args.known or ["runs"])),
            judge=args.judge,
            states=states,
            limiter=Limiter(limits_of(args)),
            on_demonstrations=lambda shown: progress.say(str(shown)),
            on_run=on_run,
            on_row=progress.on_row,
        )
        try:
            for seed in seeds:
                results += [f"Seed {seed}"] if len(seeds) > 1 else []
                of_seed = replace(made, request=replace(request, seed=seed))
                results += [printing.beside(running.run(table, of_seed)) for table in tables]
        except KeyboardInterrupt:
            say("interrupted; to continue, repeat the command")
            raise
    output("\n\n".join(results))
    if not begun:
        raise OdqaError("nothing was run; what the tables say of their rows tells why")


def _request(args: Namespace) -> Request:
    """What all runs have in common; their rows name task and program."""
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"limit is a number of questions and must be at least 1, not {args.limit}")
    return Request(
        task="",
        program="",
        settings={name.replace("-", "_"): value for name, value in args.set},
        demonstrations=args.demonstrations,
        cache=args.cache,
        limit=args.limit,
        data=args.data,
        judge_api_base=args.judge_api_base,
        pace=Pace(threads=args.threads, lm_calls=args.lm_calls, workers=workers_of(args)),
    )


def _lms(args: Namespace) -> "dict[str, MakeLM]":
    """What makes the LM of each role. Whatever else the flags say of the LM holds for all of them."""
    from eval.papers.setup import by_role, lm_roles

    specs = by_role("--lm", args.lm or ["auto"], lm_roles())
    addresses = by_role("--api-base", args.api_base, lm_roles())
    if lost := sorted(addresses.keys() - specs.keys() - {""}):
        raise UsageError(f"--api-base {lost[0]}=URL has no LM: give --lm {lost[0]}=SPEC too")
    made: dict[str, MakeLM] = {}
    for role, spec in specs.items():
        address = addresses.get(role, addresses.get("")) or None
        made[role] = partial(_load_lm, args, spec, lm_settings(args, address))
    return made


def _load_lm(
    args: Namespace,
    spec: str,
    settings: dict[str, Any],
    examples: Sequence[dspy.Example],
    retriever: Retriever | None,
    seed: int,
) -> dspy.LM:
    lm = load_lm(spec, settings, examples, retriever, seed)
    check_draws(args, lm)
    check_prices(limits_of(args), lm)
    return lm


def _retrievers(args: Namespace) -> dict[str, tuple[str, Retriever]]:
    """The retriever of each role, with its name; each is opened once."""
    from eval.papers.setup import by_role, retriever_roles

    usual = os.environ.get("ODQA_RETRIEVER")
    specs = by_role("--retriever", args.retriever or ([usual] if usual else []), retriever_roles(), by_task=True)
    opened = {spec: load_retriever(spec) for spec in dict.fromkeys(specs.values())}
    return {role: (spec, opened[spec]) for role, spec in specs.items()}
