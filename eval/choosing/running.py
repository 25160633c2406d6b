"""A race with everything that asks: candidates are asked block by block, as runs of `odqa eval`, and the best one is
measured on questions that were kept aside.

Each candidate has a run of its own over the raced questions, of which it is asked more and more. So a race that was
killed goes on with what its runs hold, and pays nothing twice; decisions follow from the rows, and are the same again.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import dspy

from eval.choosing.advice import front, recommend, tell
from eval.choosing.candidates import request_of
from eval.choosing.looks import drop_of, look_of, outcome_of, point_of, told_by
from eval.choosing.race import PRICES, Contest, Leave, Outcome, Rules
from eval.choosing.record import FILE, Candidate, Drop, Measured, Price, Race, read_race, write_race, written
from eval.choosing.searches import Remembering
from eval.figures.statistics import interval
from eval.metrics import Metric, self_test_of
from eval.records.record import PaidCall, Row
from eval.records.run import CallLog
from eval.runs.asking import draws, how_asked
from eval.runs.found import asked, find_runs
from eval.runs.prepare import AllFailed, Opened, Prepared, adapter, ask, load_metrics, manifest_of, prepare
from eval.runs.request import Request
from eval.runs.runner import whole_manifest
from eval.runs.store import glance, making, read_begun
from odqa.errors import OdqaError, UsageError
from odqa.limits import Limiter, Limits
from programs.instruments.cost import Spent

__all__ = ["Compile", "Wanted", "choose"]

_FINALISTS = 3  # that are compiled at most
_CALLS = "calls.jsonl"

Compile = Callable[[Prepared, Metric, Path, Limiter], Path]
"""Compiles the program on the questions of the run, in a directory, within limits, and gives the state file."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be chosen from, by what, and what it may cost."""

    base: Request
    """The task, the LM and how it is asked, the pace, and the goal as the only metric."""
    candidates: Sequence[Candidate]
    directory: Path
    limits: Limits = field(default_factory=Limits)
    prices: tuple[Price, ...] = ()
    """See `eval.choosing.record.Race`; likewise `value`, `within`, `level`, `seed` and `block`."""
    value: float | None = None
    within: float | None = None
    level: float = 0.05
    seed: int = 0
    block: int = 10
    aside: float = 0.25
    """The share of the questions that is kept aside."""
    paid: Path | None = None
    """A folder with runs of `odqa eval`, whose replies are used."""
    compile: tuple[str, Compile] | None = None
    """The name of a recipe, and what compiles the finalists by it."""
    opened: Opened = field(default_factory=Opened)
    """What was opened before."""
    seen: Callable[[Race], object] = lambda race: None
    """Called at each look."""


class _Short(Exception):
    """A limit is reached, and the race ends with what there is."""


def choose(wanted: Wanted) -> Race:
    """Race the candidates, or go on with the race in the directory, and measure the best one and `direct` on the
    questions that were kept aside.

    Returns:
        The race as it is on disk; `stopped` where a limit was reached before its end.

    Raises:
        UsageError: the request or the directory cannot be used, or no question has a score by the goal.
        AllFailed: every question of every candidate failed.
        KeyboardInterrupt: passed on; the same call goes on with the race.
    """
    with making(wanted.directory):
        return _Choosing(wanted).run()


@dataclass
class _Entrant:
    """A candidate with its run."""

    candidate: Candidate
    ready: Prepared
    directory: Path
    rows: dict[str, Row] = field(default_factory=dict)
    """Of its run, by question."""
    earlier: list[PaidCall] = field(default_factory=list)
    """What other runs with the same program paid for."""


class _Choosing:
    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.limiter = Limiter(wanted.limits)
        self.shared: dict[str, dict[str, PaidCall]] = {}  # calls of the questions asked now, by question and request
        first = self._prepared(wanted.candidates[0])
        assert first.lm is not None
        self.shares = not draws(first.lm)
        self.raced, self.aside = _parted(first.examples, wanted.aside, wanted.seed)
        self.goal = self._tested(first)
        with adapter(first.request):
            lm = asdict(how_asked(first.lm))
        self.race = self._begun(lm)
        self.paid = _paid(wanted.paid, wanted.directory)
        self.entrants = {each.name: self._entrant(each, "runs", self.raced) for each in self.race.known_candidates}

    def run(self) -> Race:
        try:
            contest = self._race(list(self.race.known_candidates), 0)
            if self.wanted.compile:
                contest = self._compiled(contest)
            self._measure()
            self._write(state="finished", stopped=None)
        except _Short as short:
            self._write(state="stopped", stopped=str(short))
        return self.race

    def _prepared(self, candidate: Candidate) -> Prepared:
        request = request_of(candidate, self.wanted.base)
        name = request.retriever
        with adapter(request):
            ready = prepare(request, self.wanted.opened)
            retriever = self.wanted.opened.retrievers[name]
            shares = "seconds" not in self.wanted.prices  # what was found before takes no time
            if shares and retriever is not None and not isinstance(retriever, Remembering):
                self.wanted.opened.retrievers[name] = Remembering(retriever)
                ready = prepare(request, self.wanted.opened)
        return ready

    def _entrant(self, candidate: Candidate, folder: str, questions: Sequence[dspy.Example]) -> _Entrant:
        """The candidate, with the rows that its run has from an earlier sitting."""
        directory = self.wanted.directory / folder / candidate.name
        entrant = _Entrant(candidate, replace(self._prepared(candidate), examples=questions), directory)
        if run := read_begun(directory):
            entrant.rows = {row.id: row for row in run.rows if row.error is None}
        log = CallLog(directory / _CALLS)
        if self.limiter.take_up(log.path):
            for call in log.read():
                self.limiter.count(call.usd)
        entrant.earlier = list(self._earlier(entrant, {example.id for example in questions}))
        return entrant

    def _earlier(self, entrant: _Entrant, questions: set[str]) -> Iterable[PaidCall]:
        """The calls about these questions in runs that asked the same program in the same way."""
        with adapter(entrant.ready.request):
            mine = _asked(whole_manifest(manifest_of(entrant.ready), entrant.ready.examples))
        for path in self.paid.get(mine, []):
            yield from (call for call in CallLog(path / _CALLS).read() if call.question in questions)

    def _tested(self, ready: Prepared) -> Metric:
        """The goal. What the test of its judge costs is counted once, and not again with each candidate's run."""
        (metric,) = load_metrics(ready.request, ready.examples, self.limiter.calls_left())
        self.test = self_test_of(metric) or Spent()
        self.limiter.count(self.test.paid_usd, self.test.lm_calls - self.test.cached_calls)

        def goal(example: dspy.Example, prediction: dspy.Prediction, *more: object) -> float | None:
            return metric(example, prediction, *more)

        goal.__name__ = metric.__name__
        return goal

    def _begun(self, lm: Mapping[str, object]) -> Race:
        """The record of the race, or that of the one that the directory holds."""
        wanted = self.wanted
        calls, usd = self.test.lm_calls - self.test.cached_calls, self.test.paid_usd
        race = Race(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            state="racing",
            task=wanted.base.task,
            goal=self.goal.__name__,
            prices=wanted.prices,
            value=wanted.value,
            within=wanted.within,
            level=wanted.level,
            seed=wanted.seed,
            block=wanted.block,
            order=tuple(example.id for example in self.raced),
            aside=tuple(example.id for example in self.aside),
            lm=dict(lm),
            limits={name: limit for name, limit in asdict(wanted.limits).items() if limit is not None},
            candidates=tuple(wanted.candidates),
            told=tell(len(self.raced), []),
            test_calls=calls,
            test_usd=usd,
        )
        if not (wanted.directory / FILE).exists():
            write_race(wanted.directory, race)
            return race
        old, new = read_race(wanted.directory), written(race)
        if different := [name for name in Race.DECIDES if getattr(old, name) != getattr(new, name)]:
            raise UsageError(
                f"{wanted.directory} holds another race, with different "
                f"{', '.join(different).replace('known_', '')}; choose another directory"
            )
        self.limiter.count(old.test_usd, old.test_calls)
        together = None if usd is None or old.test_usd is None else usd + old.test_usd
        return race.model_copy(
            update={"started": old.started, "test_calls": calls + old.test_calls, "test_usd": together}
        )

    def _write(self, **changed: object) -> None:
        self.race = self.race.model_copy(update={**changed, "calls": self.limiter.paid, "usd": self.limiter.paid_usd})
        write_race(self.wanted.directory, self.race)
        self.wanted.seen(self.race)

    def _race(self, candidates: Sequence[Candidate], begins: int) -> Contest:
        """Race these over the questions from a place in the order on.

        Raises:
            _Short: a limit is reached.
            AllFailed: every question failed.
        """
        names = [candidate.name for candidate in candidates]
        limits, test_usd = self.wanted.limits, self.race.test_usd or 0.0
        rules = Rules(
            questions=len(self.raced) - begins,
            block=self.wanted.block,
            level=self.wanted.level / (2 if self.wanted.compile else 1),  # of both races together
            prices=self.wanted.prices,
            within=self.wanted.within,
            # A second race is short: the limits only stop it.
            calls=None if limits.calls is None or begins else limits.calls - self.race.test_calls,
            usd=None if limits.usd is None or begins else limits.usd - test_usd,
            aside=len(self.aside),
            direct=next((n for n, candidate in enumerate(candidates) if candidate.program == "direct"), None),
        )
        contest = Contest(len(candidates), rules)
        while block := contest.next_block():
            self.shared = {}
            for one in contest.racing():
                entrant = self.entrants[names[one]]
                contest.take(one, self._outcomes(entrant, slice(begins + block.start, begins + block.stop)))
            leaves = contest.look()
            if all(contest.failures(one) == contest.asked for one in contest.racing()):
                errors = [row.error for row in self.entrants[names[0]].rows.values() if row.error]
                if not errors:
                    raise UsageError(f"no question has what {self.goal.__name__} is computed from: take another --goal")
                raise AllFailed(f"all questions that were asked failed, the first with {errors[0]}")
            self._looked(contest, names, leaves, begins)
        if contest.short:
            raise _Short(f"the limit of {contest.short} does not suffice for another question of those that are left")
        return contest

    def _outcomes(self, entrant: _Entrant, part: slice) -> list[Outcome]:
        """What became of a part of the questions, asked where they were not yet.

        Raises:
            _Short: a limit is reached before all were asked.
        """
        ids = [example.id for example in entrant.ready.examples[part]]
        missing = [id_ for id_ in ids if id_ not in entrant.rows]
        if missing:
            known = [call for call in entrant.earlier if call.question in missing]
            if self.shares:
                known += [call for id_ in missing for call in self.shared.get(id_, {}).values()]
            if "seconds" in self.wanted.prices:
                known = []  # what is on record takes no time
            rows: dict[str, Row] = {}
            with adapter(entrant.ready.request), suppress(AllFailed):  # which is one candidate's misfortune
                ask(
                    entrant.ready,
                    [self.goal],
                    entrant.directory,
                    limiter=self.limiter,
                    part=slice(entrant.candidate.begins, part.stop),
                    known=known,
                    on_row=lambda row: rows.update({row.id: row}),
                )
            entrant.rows |= {id_: rows[id_] for id_ in missing if id_ in rows}
            if any(id_ not in entrant.rows for id_ in ids):
                if reached := self.limiter.reached():
                    raise _Short(reached)
                errors = [row.error for row in rows.values() if row.error]
                raise OdqaError(f"{entrant.candidate.name}: too many questions failed, the last with {errors[-1]}")
        if self.shares:
            for call in CallLog(entrant.directory / _CALLS).read():
                if call.question in ids:
                    self.shared.setdefault(call.question, {}).setdefault(call.key, call)
        timed = "seconds" in self.wanted.prices
        return [outcome_of(entrant.rows[id_], self.goal.__name__, timed=timed) for id_ in ids]

    def _looked(self, contest: Contest, names: Sequence[str], leaves: Sequence[Leave], begins: int) -> None:
        """Write down how the race stands."""
        number = len(self.race.looks) + 1
        look = look_of(contest, names, leaves, number=number, begins=begins)
        points = [point_of(contest, names, one) for one in contest.racing()]
        kept = front(points, self.wanted.prices)
        paid = {"calls": self.limiter.paid, "usd": self.limiter.paid_usd}
        last = self.raced[begins + contest.asked - 1].id

        def drop(leave: Leave) -> Drop:
            error = self.entrants[names[leave.candidate]].rows[last].error
            return drop_of(contest, names, leave, look=number, error=error)

        self._write(
            looks=(*self.race.looks, look.model_copy(update=paid)),
            drops=(*self.race.drops, *map(drop, leaves)),
            front=kept,
            recommended=recommend(kept, self.wanted.prices, value=self.wanted.value, within=self.wanted.within),
            told=told_by(contest),
        )

    def _compiled(self, contest: Contest) -> Contest:
        """Compile the finalists on the first half of the raced questions, and race all of them on the second half."""
        assert self.wanted.compile is not None
        recipe, make = self.wanted.compile
        half = len(self.raced) // 2
        names = [candidate.name for candidate in self.race.known_candidates]
        best = sorted(contest.racing(), key=contest.score, reverse=True)[:_FINALISTS]
        finalists = [self.race.candidate(names[one]) for one in best]
        self._write(state="compiling")
        compiled = []
        for each in finalists:
            ready = replace(self.entrants[each.name].ready, examples=self.raced[:half])
            with adapter(ready.request), dspy.context(lm=ready.lm):
                state = make(ready, self.goal, self.wanted.directory / "compiling" / each.name, self.limiter)
            entry = each.model_copy(
                update={
                    "name": f"{each.name}-{recipe}",
                    "state": str(state),
                    "demonstrations": None,
                    "begins": half,
                    "compiled_from": each.name,
                }
            )
            compiled.append(entry)
            self.entrants[entry.name] = self._entrant(entry, "runs", self.raced)
        self._write(state="racing", candidates=(*self.race.candidates, *compiled))
        return self._race([*finalists, *compiled], half)

    def _measure(self) -> None:
        """Measure the recommended candidate and `direct` on the questions that were kept aside."""
        assert self.race.recommended is not None
        best = self.race.candidate(self.race.recommended.candidate)
        if not self.aside:
            return
        self._write(state="measuring")
        direct = next((each for each in self.race.candidates if each.program == "direct"), None)
        direct = direct or Candidate(name="direct", program="direct", retriever=best.retriever)
        self.shared = {}
        for each in dict.fromkeys([best.name, direct.name]):
            candidate = best if each == best.name else direct
            entrant = self._entrant(candidate.model_copy(update={"begins": 0}), "aside", self.aside)
            outcomes = self._outcomes(entrant, slice(0, len(self.aside)))
            scores = [outcome.score for outcome in outcomes]
            low, high = interval(scores)
            measured = Measured(
                candidate=each,
                questions=len(scores),
                score=sum(scores) / len(scores),
                low=low,
                high=high,
                prices={price: _mean([outcome.prices[price] for outcome in outcomes]) for price in PRICES},
            )
            self._write(measured=(*self.race.measured, measured))


def _parted(examples: Sequence[dspy.Example], aside: float, seed: int) -> tuple[list[dspy.Example], list[dspy.Example]]:
    """The questions to race, in an order drawn by the seed, and those to keep aside."""
    order = random.Random(seed).sample(list(examples), len(examples))
    kept = round(len(order) * aside)
    if len(order) - kept < 2:
        raise UsageError(f"a race needs at least 2 questions beside those kept aside, and there are {len(order)}")
    return order[kept:], order[:kept]


def _paid(folder: Path | None, besides: Path) -> dict[str, list[Path]]:
    """The runs in a folder by what they asked, those in `besides` left out."""
    found: dict[str, list[Path]] = {}
    for path in find_runs(folder) if folder and folder.is_dir() else []:
        if not path.resolve().is_relative_to(besides.resolve()):
            with suppress(UsageError):  # a damaged run is none
                found.setdefault(_asked(glance(path).manifest.entries()), []).append(path)
    return found


def _asked(manifest: Mapping[str, object]) -> str:
    """What a run asked of whom, whichever questions."""
    return asked({**manifest, "questions": None})


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
