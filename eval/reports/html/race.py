"""The page of a race between methods: who was dropped when and why, the front, and quality against price.

It needs no network and no other file, and shows a race that is under way as well as one that is over.
"""

from collections.abc import Sequence
from itertools import chain

from eval.choosing.record import Candidate, Measured, Race, Standing
from eval.choosing.record import Point as Best
from eval.reports.formats import heading, interval
from eval.reports.html.drawing import Axis, Interval, Point, chart
from eval.reports.html.files import files
from eval.reports.html.page import Page, rendered
from eval.reports.html.tables import Cell, Line, Table
from eval.reports.html.view import Chart
from eval.reports.html.visible import visible
from eval.reports.race import PRICES, entrants, left, money, price_cells, prices_known, state_of

__all__ = ["race_page"]

_SHARES = Axis(0.0, 1.0)


def race_page(race: Race, title: str | None = None) -> Page:
    """The page of a race, as `eval.choosing.record.read_race` gives it; by default its title says the questions."""
    raced = [entrant.standing for entrant in entrants(race) if entrant.standing]
    sections: dict[str, Sequence[Table | Chart]] = {
        "The race": [*_ways(race), *_scores(race, "raced", "Scores in the race", raced), *_drops(race)],
        "Quality against price": [*_charts(race), *_scores(race, "front", "The front", race.front)],
        "Questions kept aside": _scores(race, "aside", "Scores on the questions kept aside", race.measured),
        "What was raced": [_candidates(race), _setup(race)],
    }
    made = visible(files(chain.from_iterable(sections.values())))
    html = rendered(
        "race.html",
        title or f"Methods for {race.task.rpartition('/')[2]}",
        ["dom.js", "tables.js"],
        {"files": made},
        race=race,
        state=f"{state_of(race)}, for {money(race)}",
        sections={name: parts for name, parts in sections.items() if parts},
    )
    return Page(html, made)


def _ways(race: Race) -> list[Chart]:
    """The scores after each block as lines, which end where a candidate was dropped."""
    ways: dict[str, list[tuple[float, float]]] = {}
    for look in race.looks:
        for standing in look.standings:
            ways.setdefault(standing.candidate, []).append((look.questions, standing.score))
    points = []
    for entrant in entrants(race):
        *way, (asked, score) = ways.get(entrant.name, [(0, 0.0)])
        if asked:
            dropped = entrant.drop is not None
            points.append(Point(entrant.name, entrant.number, "", asked, score, score, score, way, dropped))
    up = heading(race.goal)
    caption = f"{up} so far, after each block. A line ends, hollow, where its candidate was dropped."
    return [Chart("way", chart(points, across="questions", up=up, fronts=False), caption)] if points else []


def _charts(race: Race) -> list[Chart]:
    """The scores against each price that is known."""
    up, charts = heading(race.goal), []
    for price in prices_known(race):
        points = []
        for entrant in entrants(race):
            standing, dropped = entrant.standing, entrant.drop is not None
            if standing and (paid := standing.prices.get(price)) is not None:
                score = standing.score, standing.low, standing.high
                points.append(Point(entrant.name, entrant.number, "", paid, *score, dropped=dropped))
        if any(point.cost for point in points):
            drawing = chart(points, across=f"{PRICES[price]} per question", up=up)
            charts.append(Chart(f"price-{price}", drawing, f"{up} against {PRICES[price]}."))
    return charts


def _scores(race: Race, id_: str, caption: str, of: Sequence[Standing | Best | Measured]) -> list[Table]:
    """Scores with their intervals, and prices; no table where there are none."""
    found = {entrant.name: entrant for entrant in entrants(race)}
    known = prices_known(race)
    lines = []
    for each in of:
        score = [f"{100 * each.score:.1f}", interval(each.low, each.high), str(each.questions)]
        cells: list[Cell] = [Interval(each.score, each.low, each.high), *score, *price_cells(each.prices, known)]
        entrant = found.get(each.candidate)  # direct is measured even where it was no candidate
        number, dropped = (entrant.number, entrant.drop is not None) if entrant else (None, False)
        lines.append(Line(each.candidate, cells, run=number, hollow=dropped))
    prices = [PRICES[price] for price in known]
    columns: list[str | Axis] = ["candidate", _SHARES, heading(race.goal), "interval", "questions", *prices]
    return [Table(id_, caption, columns, lines, head=caption)] if lines else []


def _drops(race: Race) -> list[Table]:
    gone = [(entrant, entrant.drop) for entrant in entrants(race) if entrant.drop]
    lines = [Line(entrant.name, [left(entrant), drop.said]) for entrant, drop in gone]
    caption = "Who was dropped, and why"
    return [Table("drops", caption, ["candidate", "when", "why"], lines, words=True, head=caption)] if lines else []


def _candidates(race: Race) -> Table:
    def line(of: Candidate) -> Line:
        settings = ", ".join(f"{name} {value}" for name, value in of.settings.items())
        shown = f"{of.demonstrations} demonstrations" if of.demonstrations else ""
        prompts = of.state or (f"compiled from {of.compiled_from}" if of.compiled_from else shown)
        return Line(of.name, [of.program, settings, of.retriever, prompts, of.adapter or ""])

    columns = ["candidate", "method", "settings", "retriever", "prompts", "adapter"]
    return Table("candidates", "The candidates", columns, [line(each) for each in race.candidates], words=True)


def _setup(race: Race) -> Table:
    """All else that the race rests on."""
    entries = {
        "questions": race.task,
        "raced": len(race.order),
        "kept aside": len(race.aside),
        "seed of their order": race.seed,
        "questions in a block": race.block,
        "goal": heading(race.goal),
        "prices": ", ".join(PRICES[price] for price in race.prices),
        "what a point is worth": race.value,
        "within": race.within,
        "level": race.level,
        **{f"limit of {name}": f"{limit:g}" for name, limit in race.limits.items()},
        **race.lm,
        "started": race.started,
    }
    lines = [Line(name, [str(value)]) for name, value in entries.items() if value not in (None, "", {})]
    return Table("setup", "How it was raced", ["setting", "value"], lines, words=True)
