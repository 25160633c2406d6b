"""A race on disk: the file `race.json` in its directory, written anew at each look, so that whoever reads it sees how
far the race is.

    race.json      this record
    runs/NAME/     the run of a candidate over the questions that are raced, as `odqa eval` makes it
    aside/NAME/    the run of a candidate over the questions that were kept aside

The record decides nothing: a race that is taken up again looks at the rows of the runs. Scores are from 0 to 1.
"""

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from eval.records.record import jsonable
from odqa.files import json_page, write_whole
from odqa.reading import read_as, reading
from odqa.secrets import public
from programs.instruments.adapters import Structured
from retrieval import UsageError

__all__ = [
    "FILE",
    "Candidate",
    "Drop",
    "Look",
    "Measured",
    "Point",
    "Price",
    "Race",
    "Recommendation",
    "Standing",
    "Told",
    "read_race",
    "write_race",
    "written",
]

FILE = "race.json"
"""The name of the record in a race's directory."""
_FORMAT = 1

Price = Literal["usd", "tokens", "calls", "depth", "seconds"]
"""What a question costs: US dollars, tokens of prompts and replies, LM calls, LM calls that wait for one another, or
seconds."""
Why = Literal["worse", "limit", "price", "failed"]
"""Why a candidate left the race: the test says that one which is not dearer is better; the limit does not suffice for
all, and its chances were small for what it costs, which says nothing for sure; it is dearer than what may be paid; none
of its questions was answered."""
State = Literal["racing", "compiling", "measuring", "finished", "stopped"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Candidate(_Record):
    """A method with all that is chosen about it."""

    name: str
    """Short, and no other candidate of the race has it; also the name of its run's directory."""
    program: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of the program, where they are not its defaults."""
    retriever: str
    state: str | None = None
    demonstrations: int | None = None
    adapter: str | None = None
    structured: Structured = "auto"
    begins: int = 0
    """How many of the raced questions were over when it joined: those that a compiled candidate has learned from."""
    compiled_from: str | None = None
    """The name of the candidate that was compiled into this one."""


class Standing(_Record):
    """How a candidate stands at a look, over the raced questions that it was asked so far."""

    candidate: str
    questions: int
    score: float
    """The mean of the goal; a question that failed counts 0."""
    low: float
    """Where the interval of the mean begins. All intervals of all candidates at all looks hold together with a
    probability of at least 1 - `Race.level`."""
    high: float
    prices: dict[Price, float | None]
    """The mean for a question of everything that can be a price; None where it is unknown."""
    failed: int = 0
    """Questions that ended in an error."""
    against: str | None = None
    """The best of those that are not dearer; None where there is none."""
    p: float = 1.0
    """How surprising the scores are if none that is not dearer is better; it may be looked at as often as one likes. At
    `Race.level` the candidate is dropped; where the best are compiled, at half of it in each of the two races."""


class Look(_Record):
    """The race after a block of questions."""

    number: int
    """From 1."""
    questions: int
    """Of the race's order, so many were asked."""
    standings: tuple[Standing, ...]
    """Of those that were asked this block, the best first."""
    calls: int
    """LM calls that the race has paid for so far."""
    usd: float | None
    """Dollars likewise; None where the price of a call is unknown."""


class Drop(_Record):
    """A candidate left the race."""

    candidate: str
    look: int
    why: Why
    by: str | None
    """Who was better, or is the best, at the same price or a lower one."""
    said: str
    """The same as a sentence."""


class Point(_Record):
    """A point of the front: no candidate that costs no more is better."""

    candidate: str
    score: float
    low: float
    high: float
    prices: dict[Price, float | None]
    questions: int


class Recommendation(_Record):
    """The one candidate that is advised."""

    candidate: str
    said: str
    """Why, as a sentence."""


class Measured(_Record):
    """The score of a candidate on the questions that were kept aside, which no choice was made by."""

    candidate: str
    questions: int
    score: float
    low: float
    """The 95 % confidence interval; see `eval.figures.statistics.interval`."""
    high: float
    prices: dict[Price, float | None]


class Told(_Record):
    """What so many questions can tell, and what they cannot."""

    questions: int
    """That were raced."""
    difference: float
    """The smallest difference of two candidates that so many questions show, four times of five."""
    needed: int
    """Questions that would show a difference of 0.05, four times of five."""
    said: str


class Race(_Record):
    """A race, finished or not."""

    format: int = _FORMAT
    started: str
    """ISO 8601, UTC."""
    state: State
    stopped: str | None = None
    """Why, where the state is stopped."""
    task: str
    goal: str
    """The metric."""
    prices: tuple[Price, ...]
    """By what the front is made: one or two, or none for the best score alone."""
    value: float | None = None
    """What a hundredth of the score is worth, in the first price."""
    within: float | None = None
    """What a question may cost, in the first price."""
    level: float
    """The probability that the best candidate is dropped by the test is at most this."""
    seed: int
    block: int
    """Questions between two looks."""
    order: tuple[str, ...]
    """The ids of the questions that are raced, in their order."""
    aside: tuple[str, ...]
    """The ids of the questions that are kept aside."""
    lm: dict[str, Any]
    """How the LM is asked, without secrets; see `eval.runs.asking.Asking`."""
    limits: dict[str, float]
    """Of `calls`, `usd` and `minutes` those that are set."""
    candidates: tuple[Candidate, ...]
    looks: tuple[Look, ...] = ()
    drops: tuple[Drop, ...] = ()
    front: tuple[Point, ...] = ()
    """The cheapest first, by the first price."""
    recommended: Recommendation | None = None
    measured: tuple[Measured, ...] = ()
    """The recommended candidate, and `direct`."""
    told: Told | None = None
    calls: int = 0
    """LM calls that were paid for, all in all."""
    usd: float | None = 0.0
    """Dollars likewise; None where the price of a call is unknown."""
    test_calls: int = 0
    """Those of them by which a judge was tested, in all sittings."""
    test_usd: float | None = 0.0
    answerer: str | None = None
    """The file that was written for the recommended candidate."""

    DECIDES: ClassVar = (
        *("task", "goal", "prices", "within", "level", "seed", "block", "order", "aside", "lm", "known_candidates"),
    )
    """What a race that is taken up has to have in common with the one that was begun."""

    @property
    def known_candidates(self) -> tuple[Candidate, ...]:
        """Those that were there before any was compiled."""
        return tuple(candidate for candidate in self.candidates if candidate.compiled_from is None)

    def candidate(self, name: str) -> Candidate:
        """The candidate with this name."""
        return next(candidate for candidate in self.candidates if candidate.name == name)


def read_race(directory: str | Path) -> Race:
    """The race in a directory, finished or under way.

    Raises:
        UsageError: there is none, or its record is damaged or of another version's form.
    """
    with reading(f"{directory} holds no race"):
        race = read_as(Path(directory) / FILE, Race.model_validate)
    if race.format != _FORMAT:
        raise UsageError(f"the race in {directory} has the form of another version of dspy-odqa: run it again")
    return race


def write_race(directory: str | Path, race: Race) -> None:
    """Write the record in place of an older one."""
    write_whole(Path(directory) / FILE, json_page(jsonable(written(race))))


def written(race: Race) -> Race:
    """The race as its record has it: without the secrets in the addresses of retrievers and in settings."""
    candidates = tuple(Candidate.model_validate(public(jsonable(candidate))) for candidate in race.candidates)
    return race.model_copy(update={"candidates": candidates})
