"""The runs of a directory over HTTP: what there is, how far a run is, reports, a leaderboard, and two runs compared;
and the races of `odqa choose`.

    GET /v1/runs                        all runs at a glance, but for those of a race's candidates
    GET /v1/runs/NAME                   one, with its figures so far
    GET /v1/runs/NAME/report            the page of `odqa eval report`
    GET /v1/leaderboard                 means with intervals, by questions and method
    GET /v1/compare?a=NAME&b=NAME       what `odqa eval compare --json` prints; with &format=html the page of both
    GET /v1/races                       all races at a glance
    GET /v1/races/NAME                  the record of one; see `eval.choosing.record`
    GET /v1/races/NAME/report           its page

The name of a run or a race is its path in the directory. It is looked up among those that are there, so that nothing
else can be read. The figures are those of `eval.figures`.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from eval.choosing.record import FILE, Price, Race, read_race
from eval.figures.comparison import compare
from eval.figures.settings import ABSENT, differing, settings
from eval.figures.summary import Figures, summarise
from eval.records.record import Manifest, jsonable
from eval.records.run import Run
from eval.records.standing import standing
from eval.reports.formats import heading
from eval.reports.html.page import page
from eval.reports.html.race import race_page
from eval.reports.race import PRICES, Entrant, entrants, left, money, price_cells, state_of
from eval.runs.found import find_runs
from eval.runs.store import Glance, glance, read
from retrieval import UsageError

try:
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, Response
    from starlette.routing import BaseRoute

    from programs.serving.description import Endpoint
    from retrieval.serving.requests import json_reply
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[serve]'") from error

__all__ = ["run_routes"]

_REPORT = "/report"
_TOLD_APART_ELSEWHERE = ("program", "lm", "retriever", "fingerprints")  # entries that have a column of their own

_OF_A_LINE = (
    "name", "program", "lm", "retriever", "standing", "questions", "answered", "finished", "scores", "cost",
)  # fmt: skip

_Made = TypeVar("_Made")


class Comparison(BaseModel):
    """Two runs, by their names, and the form in which they are compared."""

    a: str
    b: str
    format: Literal["json", "html"] = "json"


class _Aside:
    """Calls functions in a thread, one at a time, since reading a large run takes memory; a mistake has status 400."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def __call__(self, make: Callable[..., _Made], *args: Any) -> _Made:
        async with self._turn:
            try:
                return await run_in_threadpool(make, *args)
            except UsageError as error:
                raise HTTPException(400, str(error)) from None


def run_routes(folder: str | Path) -> list[BaseRoute]:
    """Routes that show the runs and races in a folder and in the folders in it; whatever is wrong is an
    `HTTPException`.

    Raises:
        UsageError: there is no such folder.
    """
    find_runs(folder)
    aside = _Aside()

    async def all_runs(_: Request) -> Response:
        """All runs at a glance."""
        return json_reply({"runs": await aside(_all, folder)})

    async def one(request: Request) -> Response:
        """One run with its figures so far; with /report behind its name, its report."""
        name = request.path_params["name"]
        runs = await aside(_by_name, folder)
        if name in runs:
            return json_reply(await aside(_run, folder, runs[name]))
        # A run's name may have slashes, but no run is in another: only one of the two can be meant.
        name = name.removesuffix(_REPORT)
        return _page(await aside(_report, [_named(runs, name)], [name]))

    async def leaderboard(_: Request) -> Response:
        """Means with intervals, by questions and method."""
        return json_reply(await aside(_leaderboard, folder))

    async def compared(request: Request) -> Response:
        """Two runs compared, a with b; the format is json or html."""
        names = [request.query_params.get(which, "") for which in ("a", "b")]
        runs = await aside(_by_name, folder)
        paths = [_named(runs, name) for name in names]
        match request.query_params.get("format", "json"):
            case "json":
                return json_reply(await aside(lambda: jsonable(compare(_read(paths, names)))))
            case "html":
                return _page(await aside(_report, paths, names))
            case other:
                raise HTTPException(400, f"the format is json or html, not {other!r}")

    return [
        Endpoint("/v1/runs", all_runs),
        Endpoint("/v1/runs/{name:path}", one, kinds=["application/json", "text/html"]),
        *_race_routes(folder, aside),
        Endpoint("/v1/leaderboard", leaderboard),
        Endpoint("/v1/compare", compared, query=Comparison, kinds=["application/json", "text/html"]),
    ]


def _race_routes(folder: str | Path, aside: _Aside) -> list[BaseRoute]:
    async def all_races(_: Request) -> Response:
        """All races at a glance."""
        return json_reply({"races": await aside(_all_races, folder)})

    async def one_race(request: Request) -> Response:
        """The record of a race; with /report behind its name, its page."""
        name, races = request.path_params["name"], await aside(_races, folder)
        if name in races:
            return json_reply(jsonable(await aside(read_race, races[name])))
        path = _named(races, name.removesuffix(_REPORT), "race")
        return _page(await aside(lambda: race_page(read_race(path)).html))

    return [
        Endpoint("/v1/races", all_races),
        Endpoint("/v1/races/{name:path}", one_race, kinds=["application/json", "text/html"]),
    ]


def _by_name(folder: str | Path) -> dict[str, Path]:
    return {_name(folder, path): path for path in find_runs(folder)}


def _name(folder: str | Path, path: Path) -> str:
    inside = path.relative_to(folder).as_posix()
    return path.resolve().name if inside == "." else inside


def _races(folder: str | Path) -> dict[str, Path]:
    return {_name(folder, path.parent): path.parent for path in sorted(Path(folder).rglob(FILE))}


def _named(found: Mapping[str, Path], name: str, what: str = "run") -> Path:
    if name not in found:
        raise HTTPException(404, f"there is no {what} {name!r}; /v1/{what}s lists those that are there")
    return found[name]


def _read(paths: Sequence[Path], names: Sequence[str]) -> list[Run]:
    return [replace(read(path), name=name) for path, name in zip(paths, names, strict=True)]


def _report(paths: Sequence[Path], names: Sequence[str]) -> str:
    return page(_read(paths, names)).html


def _glances(folder: str | Path) -> Iterator[tuple[str, Glance | UsageError]]:
    """Each run by its name, and of one that is damaged why it cannot be read; not those of a race's candidates."""
    races = _races(folder).values()
    for path in find_runs(folder):
        if any(path.is_relative_to(race) for race in races):
            continue
        try:
            yield _name(folder, path), glance(path)
        except UsageError as error:
            yield _name(folder, path), error


def _all(folder: str | Path) -> list[dict[str, Any]]:
    return [
        _shown(name, found, found.total) if isinstance(found, Glance) else {"name": name, "error": str(found)}
        for name, found in _glances(folder)
    ]


def _run(folder: str | Path, path: Path) -> dict[str, Any]:
    """A run with its figures so far, also while there is no summary of it."""
    seen, run = glance(path), read(path)
    summary = summarise(run.rows, run.manifest.asked, run.manifest)
    return {
        **_shown(_name(folder, path), seen, summary.total if run.rows else None),
        "by_type": {name: _figures(figures) for name, figures in summary.by_type.items()},
        "first_error": summary.first_error,
        "entries": {entry.name: entry.values[0] for entry in settings([run.manifest])},
    }


def _shown(name: str, seen: Glance, total: Figures | None) -> dict[str, Any]:
    manifest = seen.manifest
    rows = seen.directory / "rows.jsonl"
    written = rows.stat().st_mtime if rows.exists() else None
    return {
        "name": name,
        "task": manifest.task,
        "program": manifest.program,
        "lm": manifest.lm,
        "retriever": manifest.retriever,
        "standing": standing(manifest.lm or ""),
        "started": manifest.started,
        "last_row": written and datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        "questions": manifest.asked,
        "answered": seen.rows,
        "finished": seen.gap is None,
        "gap": seen.gap,
        **_figures(total),
    }


def _figures(total: Figures | None) -> dict[str, Any]:
    """Scores from 0 to 1, and costs per question; null where they are not known yet."""
    if total is None:
        return {"failed": None, "unparsable": None, "scores": {}, "cost": None}
    scores = {name: {"heading": heading(name), **jsonable(score)} for name, score in total.scores.items()}
    return {"failed": total.failed, "unparsable": total.unparsable, "scores": scores, "cost": total.cost}


def _all_races(folder: str | Path) -> list[dict[str, Any]]:
    found = []
    for name, path in _races(folder).items():
        try:
            found.append({"name": name, **_race(read_race(path))})
        except UsageError as error:
            found.append({"name": name, "error": str(error)})
    return found


def _race(race: Race) -> dict[str, Any]:
    return {
        "task": race.task,
        "goal": heading(race.goal),
        "state": state_of(race),
        "finished": race.state in ("finished", "stopped"),
        "started": race.started,
        "paid": money(race),
        "recommended": race.recommended and race.recommended.said,
        "candidates": [_candidate(entrant, race.prices or ("calls",)) for entrant in entrants(race)],
    }


def _candidate(entrant: Entrant, by: Sequence[Price]) -> dict[str, Any]:
    """A candidate, with the prices by which the front is made; null where its first block is not over."""
    last = entrant.standing
    return {
        "name": entrant.name,
        "questions": last.questions if last else 0,
        "score": last and {"mean": last.score, "low": last.low, "high": last.high},
        "prices": last and dict(zip((PRICES[price] for price in by), price_cells(last.prices, by), strict=True)),
        "dropped": entrant.drop and f"{left(entrant)}: {entrant.drop.said}",
    }


def _leaderboard(folder: str | Path) -> dict[str, Any]:
    """The runs with figures, by the questions that they were asked: what each is, and what came of it.

    A rescored copy is no line beside the run that it was made of: that one has the copy's further scores.
    """
    seen = {name: found for name, found in _glances(folder) if isinstance(found, Glance) and found.total}
    apart = _what_sets_apart({name: found.manifest for name, found in seen.items()})
    lines = {}
    for name, found in seen.items():
        shown = _shown(name, found, found.total)
        own = {"title": _title(found.manifest), "apart": apart[name]}
        lines[name] = own | {key: shown[key] for key in _OF_A_LINE}
    copies = _rescored(seen)
    for name, first in copies.items():
        while first in copies:  # a copy of a copy
            first = copies[first]
        lines[first]["scores"] = lines.pop(name)["scores"] | lines[first]["scores"]
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for name, line in lines.items():
        manifest = seen[name].manifest
        groups.setdefault((manifest.task or "", manifest.asked, manifest.questions), []).append(line)
    return {
        "groups": [{"task": task, "questions": asked, "lines": of} for (task, asked, _), of in sorted(groups.items())],
        "metrics": {metric: score["heading"] for line in lines.values() for metric, score in line["scores"].items()},
    }


def _rescored(seen: Mapping[str, Glance]) -> dict[str, str]:
    """By the name of each rescored copy, that of the run it was made of, where that is there too."""
    begun = {(found.directory.name, found.manifest.started): name for name, found in seen.items()}
    copies = {}
    for name, found in seen.items():
        was = found.manifest.entries().get("rescored")
        first = was and begun.get((Path(was["run"]).name, was["started"]))
        if first and first != name:
            copies[name] = first
    return copies


def _title(manifest: Manifest) -> str:
    """What a run is of: its program, and whether an optimizer made it before or after it compiled the program."""
    program, entries = manifest.program or "a program", manifest.entries()
    if "recipe" not in entries:
        return program
    return f"{program}, {'compiled by' if 'compiled' in entries else 'before'} {entries['recipe']}"


def _what_sets_apart(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """By the run's name, the settings in which runs of the same program and task differ, in words."""

    def kind(name: str) -> tuple[str, str]:
        return (manifests[name].program or "", manifests[name].task or "")

    found = {}
    for _, group in groupby(sorted(manifests, key=kind), kind):
        alike = list(group)
        unlike = [
            entry
            for entry in differing([manifests[name] for name in alike])
            if entry.name.partition(".")[0] not in _TOLD_APART_ELSEWHERE
        ]
        for place, name in enumerate(alike):
            values = {entry.name.removeprefix("settings."): entry.values[place] for entry in unlike}
            found[name] = ", ".join(f"{entry} {value}" for entry, value in values.items() if value != ABSENT)
    return found


def _page(html: str) -> Response:
    """A report. It has a policy of its own for its script, which stays shut off from all else that this server has."""
    return HTMLResponse(html, headers={"Content-Security-Policy": "sandbox allow-scripts allow-downloads"})
