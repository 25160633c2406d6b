"""A race between methods as plain text: how the candidates stand, who was dropped and why, and what is recommended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.choosing.record import Candidate, Drop, Measured, Price, Race, Standing
from eval.reports.formats import heading, interval, usd
from eval.reports.text import align, filled

__all__ = [
    "PRICES",
    "Entrant",
    "entrants",
    "left",
    "money",
    "price_cells",
    "prices_known",
    "race_table",
    "state_of",
]

PRICES: dict[Price, str] = {
    "usd": "US dollars",
    "tokens": "tokens",
    "calls": "LM calls",
    "depth": "calls in a row",
    "seconds": "seconds",
}
"""The names of prices."""

_LEGEND = """\
Scores in percent; a failed question counts 0. Prices: per question. The intervals of the race allow for the choosing:
those of all candidates after every block hold together with a probability of at least {:.0f} %. The intervals of the
questions that were kept aside, by which nothing was chosen, are of 95 % each."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A candidate, and what became of it so far."""

    number: int
    """Among the candidates, from 0."""
    candidate: Candidate
    standing: Standing | None
    """The last one; None where its first block is not over."""
    drop: Drop | None
    """How it left the race, if it did."""

    @property
    def name(self) -> str:
        return self.candidate.name


def entrants(race: Race) -> list[Entrant]:
    """All candidates: those in the race first, the best first; then those that were dropped, the last one first."""
    standings = {standing.candidate: standing for look in race.looks for standing in look.standings}
    drops = {drop.candidate: drop for drop in race.drops}
    found = [
        Entrant(number, candidate, standings.get(candidate.name), drops.get(candidate.name))
        for number, candidate in enumerate(race.candidates)
    ]

    def place(entrant: Entrant) -> tuple[bool, int, float]:
        look = entrant.drop.look if entrant.drop else 0
        return entrant.drop is not None, -look, -(entrant.standing.score if entrant.standing else 0.0)

    return sorted(found, key=place)


def state_of(race: Race) -> str:
    """How far the race is."""
    asked = f"{race.looks[-1].questions if race.looks else 0} of {len(race.order)} questions were raced"
    match race.state:
        case "finished":
            return f"finished, {asked}"
        case "stopped":
            return f"stopped, {asked}: {race.stopped}"
        case "racing":
            return f"under way, {asked}"
        case _:
            return f"under way, {asked}, now {race.state}"


def money(race: Race) -> str:
    """What the race paid for."""
    paid = f"{race.calls:,} LM calls"
    return f"{paid} and {race.usd:,.4g} US dollars" if race.usd else paid


def prices_known(race: Race) -> list[Price]:
    """The prices that any candidate is known to have, first those by which the front is made."""
    found = [entrant.standing.prices for entrant in entrants(race) if entrant.standing]
    order = dict.fromkeys([*race.prices, *PRICES])
    return [price for price in order if any(prices.get(price) for prices in found)]


def price_cells(prices: Mapping[Price, float | None], known: Sequence[Price]) -> list[str]:
    """What a question costs, by each of these prices."""
    return [_price(price, prices.get(price)) for price in known]


def race_table(race: Race, width: int | None = None) -> str:
    """How the candidates stand, who was dropped and why, and what is recommended; ends without a line break. With a
    width, lines are no longer than that many columns."""
    known, found = prices_known(race), entrants(race)
    figures = ["questions", heading(race.goal), "", *(PRICES[price] for price in known)]
    raced = [[each.name, *(_score(each.standing, known) if each.standing else [""] * len(figures))] for each in found]
    aside = [[each.candidate, *_score(each, known)] for each in race.measured]
    paragraphs = [
        f"{race.task}, {heading(race.goal)}: {state_of(race)}, for {money(race)}.",
        race.recommended.said if race.recommended else "",
        align([["raced", *figures], *raced], width=width),
        "\n".join(filled(f"{each.name}, {left(each)}: {each.drop.said}", width) for each in found if each.drop),
        align([["kept aside", *figures], *aside], width=width) if aside else "",
        race.told.said if race.told else "",
        filled(_LEGEND.format(100 * (1 - race.level)), width),
        f"written: {race.answerer}, which odqa ask @{race.answerer} 'QUESTION' asks" if race.answerer else "",
    ]
    return "\n\n".join(part if "\n" in part else filled(part, width) for part in paragraphs if part)


def left(entrant: Entrant) -> str:
    """When it was dropped, in words; empty where it was not."""
    asked = entrant.standing.questions if entrant.standing else 0
    return f"dropped after {asked} questions" if entrant.drop else ""


def _score(of: Standing | Measured, known: Sequence[Price]) -> list[str]:
    return [str(of.questions), f"{100 * of.score:.1f}", interval(of.low, of.high), *price_cells(of.prices, known)]


def _price(price: Price, value: float | None) -> str:
    if value is None or price == "usd":
        return usd(value)
    return f"{value:,.0f}" if price == "tokens" else f"{value:.2f}"
