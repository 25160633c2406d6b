"""From a contest to its record: how it stands at a look, who leaves and why."""

from collections.abc import Sequence

from eval.choosing.advice import tell
from eval.choosing.race import PRICES, Contest, Leave, Outcome
from eval.choosing.record import Drop, Look, Point, Standing, Told
from eval.records.record import Error, Row

__all__ = ["drop_of", "look_of", "outcome_of", "point_of", "told_by"]


def outcome_of(row: Row, goal: str, *, timed: bool) -> Outcome:
    """What became of the question of a row; one that has no score by the goal counts as failed. Its seconds are known
    if it was `timed`, so that no search of another candidate was used, and no reply was on record."""
    spent = [row.cost, *row.judging.values()]
    dollars = [each.paid_usd for each in spent]
    score = row.scores.get(goal)
    return Outcome(
        score=score or 0.0,
        prices={
            "usd": row.cost.usd,
            "tokens": row.cost.input_tokens + row.cost.output_tokens,
            "calls": row.cost.lm_calls,
            "depth": row.cost.depth,
            "seconds": row.cost.seconds if timed and not row.cost.cached_calls else None,
        },
        calls=sum(each.lm_calls - each.cached_calls for each in spent),
        usd=None if None in dollars else sum(each or 0.0 for each in dollars),
        failed=score is None,
    )


def look_of(contest: Contest, names: Sequence[str], leaves: Sequence[Leave], *, number: int, begins: int) -> Look:
    """The look that was just taken, without what was paid so far.

    Args:
        contest: The race.
        names: Of its candidates.
        leaves: Who has just left.
        number: Of the look.
        begins: How many of the race's questions came before those of the contest.
    """
    asked = sorted({*contest.racing(), *(leave.candidate for leave in leaves)}, key=contest.score, reverse=True)
    standings = tuple(_standing(contest, names, one) for one in asked)
    return Look(number=number, questions=begins + contest.asked, standings=standings, calls=0, usd=None)


def point_of(contest: Contest, names: Sequence[str], one: int) -> Point:
    """A candidate as a point of score and prices."""
    standing = _standing(contest, names, one)
    return Point.model_validate({name: getattr(standing, name) for name in Point.model_fields})


def told_by(contest: Contest) -> Told:
    """What the questions of the race can tell, by how much its best two differ."""
    first, *others = sorted(contest.racing(), key=contest.score, reverse=True)
    rest = contest.scores(others[0]) if others else []
    return tell(contest.asked, [a - b for a, b in zip(contest.scores(first), rest, strict=False)])


def drop_of(contest: Contest, names: Sequence[str], leave: Leave, *, look: int, error: Error | None) -> Drop:
    """A candidate that leaves at this look; `error` is that of its last question, if that failed."""
    return Drop(
        candidate=names[leave.candidate],
        look=look,
        why=leave.why,
        by=None if leave.by is None else names[leave.by],
        said=_said(contest, names, leave, error),
    )


def _standing(contest: Contest, names: Sequence[str], one: int) -> Standing:
    low, high = contest.interval(one)
    rival = contest.rival(one)
    return Standing(
        candidate=names[one],
        questions=len(contest.scores(one)),
        score=contest.score(one),
        low=low,
        high=high,
        prices={price: contest.price(one, price) for price in PRICES},
        failed=contest.failures(one),
        against=None if rival is None else names[rival],
        p=contest.p(one),
    )


def _said(contest: Contest, names: Sequence[str], leave: Leave, error: Error | None) -> str:
    """Why a candidate leaves, as a sentence."""
    questions = f"after {len(contest.scores(leave.candidate))} questions"
    by = "" if leave.by is None else names[leave.by]
    match leave.why:
        case "worse":
            p = contest.p(leave.candidate)
            than = "is better and costs no more" if contest.rules.prices else "is better"
            return f"{by} {than} ({questions}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})."
        case "limit":
            return f"The limit does not suffice for all, and {questions} its chances were small for what it costs."
        case "price":
            return f"It costs more than may be paid ({questions})."
        case "failed":
            return f"None of its questions was answered ({questions})" + (f": {error}" if error else ".")
