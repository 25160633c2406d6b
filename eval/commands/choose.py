"""Find the best method for questions of yours: candidates are raced, and the worse ones dropped as soon as it is sure.

The plan comes first: what a full grid of the candidates would take. Then all are asked a block of questions, those that
are worse than one which is not dearer are dropped by a test that holds however often it is looked at, and the others
are asked the next block. The answer is a front, the best method for each price, and one recommendation, which is
measured with direct on questions that were kept aside and written as an answerer, for odqa ask, odqa serve and odqa
eval. To go on with a race that was cut short, repeat its command with --race and its directory; nothing is paid twice.
"""

import importlib
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, get_args

import dspy

import lms
import programs
from eval import metrics, tasks
from eval.choosing.candidates import USUAL, candidates_of, request_of
from eval.choosing.record import Candidate, Measured, Price, Race, write_race
from eval.choosing.running import Wanted, choose
from eval.commands.options import (
    add_data,
    add_judge_api_base,
    add_limits,
    add_pace,
    check_prices,
    columns,
    limits_of,
    pace_of,
    task_name,
)
from eval.commands.set import prospect
from eval.records.standing import standing
from eval.reports.race import race_table
from eval.reports.run_set import Prospect, plan_table
from eval.runs.ceiling import is_oracle
from eval.runs.prepare import Opened, adapter, prepare
from eval.runs.request import Request
from lms.extractive import READER
from odqa.bridge import price
from odqa.console import output, say
from programs.commands import flags
from programs.instruments.answerer import Answerer, Chosen, Figure, write_answerer
from programs.instruments.plan import plan
from programs.instruments.state import save_state
from retrieval import UsageError

_PLANNED_ON = 2  # questions


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "task", metavar="TASK", help="the questions: a file (.csv, .tsv, .jsonl) or a task of odqa eval"
    )
    add_data(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="take only the first N questions (default: all)")
    group = parser.add_argument_group("candidates")
    group.add_argument("--methods", metavar="NAME,…", help=f"the methods to race (default: {','.join(USUAL)})")
    group.add_argument(
        "--set",
        dest="tried",
        type=_tried,
        action="append",
        default=[],
        metavar="METHOD.NAME=VALUE,…",
        help="a candidate for each value of a setting of a method, such as cot.k=3,5,10; may be given several times",
    )
    group.add_argument(
        "--retriever",
        action="append",
        metavar="SPEC",
        help="what is searched, as for odqa ask, or none for closed book; given several times, each is tried with each "
        "method (default: ODQA_RETRIEVER, else sample)",
    )
    group.add_argument(
        "--candidates",
        metavar="FILE.toml",
        help="more of them: programs, retrievers, adapters and settings as in a set of odqa eval set, where a program "
        "may also have a state or demonstrations",
    )
    group.add_argument(
        "--compile", metavar="RECIPE", help="compile the best three on half of the raced questions, and race them again"
    )
    group = parser.add_argument_group("what counts")
    group.add_argument(
        "--goal",
        metavar="METRIC",
        help="what is to be high, a metric of odqa eval such as em, f1, accuracy or acc_judge:LM (default: em, or "
        "accuracy if all questions are answered by yes or no)",
    )
    group.add_argument(
        "--price",
        type=_prices,
        metavar="NAME[,NAME]",
        help=f"what is to be low: one or two of {', '.join(get_args(Price))} (depth: LM calls in a row), or none for "
        "the best score at any price (default: usd, or tokens where the LM has no price)",
    )
    group.add_argument(
        "--value", type=_amount, metavar="PRICE", help="recommend by what a point of the score is worth for a question"
    )
    group.add_argument(
        "--within", type=_amount, metavar="PRICE", help="recommend what costs at most this for a question"
    )
    group = parser.add_argument_group("race")
    group.add_argument("--plan", action="store_true", help="ask no LM; print what a full grid would take")
    group.add_argument("--race", metavar="DIR", help="directory of the race (default: runs/choose-TASK-TIME)")
    group.add_argument("--out", metavar="FILE.toml", help="the answerer to write (default: answerer.toml in DIR)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="for the order of the questions (default: 0)")
    group.add_argument(
        "--block", type=int, default=10, metavar="N", help="ask at most N questions between two looks (default: 10)"
    )
    group.add_argument(
        "--aside",
        type=float,
        default=0.25,
        metavar="SHARE",
        help="keep this share of the questions aside, on which the best one and direct are measured (default: 0.25)",
    )
    group.add_argument(
        "--paid",
        default="runs",
        metavar="DIR",
        help="use the replies that runs of odqa eval in this folder have paid for (default: runs)",
    )
    add_limits(parser, "the race")
    add_pace(parser)
    add_judge_api_base(parser)
    flags.add_lm(parser.add_argument_group("LM"))


def main(args: Namespace) -> None:
    if args.value is not None and args.within is not None:
        raise UsageError("a recommendation is made by --value or by --within, not by both")
    if not 0 <= args.aside < 1:
        raise UsageError(f"--aside is a share of the questions from 0 to below 1, not {args.aside:g}")
    if args.block < 1:
        raise UsageError(f"--block must be at least 1, not {args.block}")
    out = args.out and Path(args.out)
    if out and out.suffix != ".toml":
        raise UsageError(f"an answerer is TOML: its name must end in .toml, and {out} does not")
    questions = tasks.load(args.task, args.limit, data=args.data)
    base = _base(args, args.goal or metrics.standard(questions)[0].__name__)
    candidates = candidates_of(
        base,
        methods=[name.strip() for name in args.methods.split(",")] if args.methods else (),
        settings=_by_method(args.tried),
        retrievers=args.retriever or (),
        file=args.candidates,
    )
    for retriever in dict.fromkeys(candidate.retriever for candidate in candidates):
        flags.say_sample(retriever)
    opened = Opened()
    with adapter(base):
        lm = prepare(request_of(candidates[0], base), opened).lm
    assert lm is not None
    limits, prices = limits_of(args), _prices_for(args, lm)
    check_prices(limits, lm)
    wanted = Wanted(
        base=base,
        candidates=candidates,
        directory=Path(args.race or f"runs/choose-{task_name(args.task)}-{time.strftime('%Y%m%d-%H%M%S')}"),
        limits=limits,
        prices=prices,
        value=args.value,
        within=args.within,
        seed=args.seed,
        block=args.block,
        aside=args.aside,
        paid=Path(args.paid),
        opened=opened,
        # This room is below that of the recipes: it finds them by name.
        compile=args.compile and importlib.import_module("optimizers.finalist").compiling(args.compile, lm, args.seed),
        seen=_Said(),
    )
    grid = plan_table(list(_grid(wanted, opened, len(questions), lm)), columns())
    if args.plan:
        output(grid)
        return
    say(f"the full grid, of which a race takes a part:\n{grid}\nrace: {wanted.directory}")
    try:
        race = choose(wanted)
    except KeyboardInterrupt:
        say(f"interrupted; to continue, repeat the command with --race {wanted.directory}")
        raise
    again = f"repeat the command with --race {wanted.directory}"
    if race.state == "finished" and race.recommended:
        try:
            race = _written(race, wanted, lm, out or wanted.directory / "answerer.toml")
        except UsageError as error:
            output(race_table(race, columns()))
            raise UsageError(f"{error}; {again} and another --out: nothing is asked twice") from None
    output(race_table(race, columns()))
    if race.state == "stopped":
        say(
            f"no answerer is written; to continue, {again} and another limit of calls or dollars; minutes are counted "
            "anew"
        )


class _Said:
    """Says what is new at each look; after a race was taken up, all of it again."""

    def __init__(self) -> None:
        self._drops = 0
        self._state = ""

    def __call__(self, race: Race) -> None:
        for drop in race.drops[self._drops :]:
            say(f"left: {drop.candidate}. {drop.said}")
        self._drops = len(race.drops)
        if race.looks and race.state == "racing":
            look, best = race.looks[-1], race.looks[-1].standings[0]
            say(
                f"{look.questions} of {len(race.order)} questions, {len(look.standings)} candidates, {look.calls:,} LM "
                f"calls paid; best so far: {best.candidate} {100 * best.score:.1f}"
            )
        elif race.state in ("compiling", "measuring") and race.state != self._state:
            say({"compiling": "compiling the best", "measuring": "measuring on what was kept aside"}[race.state])
        self._state = race.state


def _base(args: Namespace, goal: str) -> Request:
    return Request(
        task=args.task,
        program="direct",
        retriever=flags.environment("ODQA_RETRIEVER") or "sample",
        lm=args.lm,
        lm_settings=flags.lm_settings(args, args.api_base),
        adapter=args.adapter,
        structured=args.structured,
        cache=args.cache,
        limit=args.limit,
        data=args.data,
        metrics=(goal,),
        judge_api_base=args.judge_api_base,
        pace=pace_of(args),
    )


def _prices_for(args: Namespace, lm: dspy.LM) -> tuple[Price, ...]:
    """The prices that are named, or the usual one.

    Raises:
        UsageError: one is not known of the LM, or --value or --within have nothing to be in.
    """
    known = bool(price(lm, 1_000_000, 1_000_000)) and not standing(lm.model)
    prices: tuple[Price, ...] = (("usd",) if known else ("tokens",)) if args.price is None else args.price
    if "usd" in prices and not known:
        raise UsageError(f"{lm.model} has no known price: take tokens, calls, depth or seconds for --price")
    if "seconds" in prices and args.cache:
        raise UsageError("--price seconds cannot be told with --cache: a reply on record takes no time")
    if not prices and (args.value is not None or args.within is not None):
        raise UsageError("--value and --within are in the first --price, and there is none")
    return prices


def _grid(wanted: Wanted, opened: Opened, questions: int, lm: dspy.LM) -> Iterator[Prospect]:
    """What it would take to ask all candidates all questions."""
    for candidate in wanted.candidates:
        request = request_of(candidate, wanted.base)
        with adapter(request):
            ready = prepare(request, opened)
            asked = [example.question for example in ready.examples[:_PLANNED_ON]]
            amounts = plan(ready.module, lms.load("extractive"), asked)
        yield prospect(candidate.name, questions, questions, lm, amounts)


def _written(race: Race, wanted: Wanted, lm: dspy.LM, out: Path) -> Race:
    """The race, with the answerer that was written for the recommended candidate."""
    assert race.recommended is not None
    if is_oracle(wanted.base.lm):
        say("no answerer is written: the oracle knows the answers of these questions only")
        return race
    best = race.candidate(race.recommended.candidate)
    point = next(point for point in race.front if point.candidate == best.name)
    measured = {each.candidate: each for each in race.measured}
    direct = next((each for each in race.measured if each.candidate != best.name), measured.get(best.name))
    chosen = Chosen(
        task=race.task,
        goal=race.goal,
        said=race.recommended.said,
        raced=Figure(questions=point.questions, score=point.score, low=point.low, high=point.high),
        aside=_figure(measured.get(best.name)),
        direct=_figure(direct),
        prices={name: amount for name, amount in point.prices.items() if amount is not None},
    )
    took = flags.environment("ODQA_LM") or ("extractive" if lm.model == READER else lm.model)
    named = took if wanted.base.lm == "auto" else wanted.base.lm
    answerer = Answerer(
        program=best.program,
        settings=best.settings,
        retriever=best.retriever,
        lm=named,
        lm_settings=wanted.base.lm_settings,
        adapter=best.adapter or ("json" if lms.is_local(named) else None),  # type: ignore[arg-type]
        structured=best.structured,
        chosen=chosen,
    )
    write_answerer(out, answerer, state=_state(best, wanted))
    race = race.model_copy(update={"answerer": str(out)})
    write_race(wanted.directory, race)
    return race


def _state(best: Candidate, wanted: Wanted) -> Path | None:
    """The file with the candidate's state, which is written where it has labelled demonstrations."""
    if best.demonstrations is None:
        return Path(best.state) if best.state else None
    request = request_of(best, wanted.base)
    with adapter(request):
        ready = prepare(request, wanted.opened)
        file = wanted.directory / f"{best.name}.state.json"
        save_state(ready.module, file, {"demonstrations": ready.shown and ready.shown.record()})
    return file


def _figure(measured: Measured | None) -> Figure | None:
    if measured is None:
        return None
    return Figure(questions=measured.questions, score=measured.score, low=measured.low, high=measured.high)


def _by_method(tried: Sequence[tuple[str, str, list[Any]]]) -> Mapping[str, Mapping[str, Sequence[Any]]]:
    """The values to be tried, by method and setting.

    Raises:
        UsageError: there is no such method.
    """
    found: dict[str, dict[str, list[Any]]] = {}
    for method, name, values in tried:
        programs.load(method)
        found.setdefault(method, {})[name] = values
    return found


def _tried(text: str) -> tuple[str, str, list[Any]]:
    where, equals, values = text.partition("=")
    method, dot, name = where.partition(".")
    if not (method and dot and name and equals and values):
        raise ArgumentTypeError(f"it is given as METHOD.NAME=VALUE,…, not {text!r}")
    return method, name.replace("-", "_"), [flags.assignment(f"x={value}")[1] for value in values.split(",")]


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < inf:
        raise ArgumentTypeError(f"a price is a number from 0 on, not {text!r}")
    return amount


def _prices(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    known = get_args(Price)
    if len(names) > 2 or len({*names}) < len(names) or any(name not in known for name in names):
        raise ArgumentTypeError(f"it is one or two of {', '.join(known)}, or none, not {text!r}")
    return names
