"""A run's report, or several runs', as one HTML file that needs nothing else: no network and no other file.

The figures are those of `eval.figures.summary`, `eval.figures.comparison` and `eval.figures.costs`. What LMs, passages
and errors say is text wherever it stands: `eval.reports.html.markup` escapes it, and the script sets it as text.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from eval.figures.comparison import Comparison, Difference, Run, compare, read
from eval.figures.costs import Costs, costs
from eval.figures.summary import Figures, Score, Summary, summarise
from eval.reports.html.drawing import Point, front, interval, scatter
from eval.reports.html.markup import Html, document, tag
from eval.reports.html.ways import ways
from eval.reports.text import cost_lines, cost_notes, heading, p_value
from eval.runs.ceiling import label
from eval.runs.store import read_passages
from retrieval import UsageError

__all__ = ["page", "write"]

_COSTS = {
    "LM calls": ("lm_calls",),
    "tokens": ("input_tokens", "output_tokens"),
    "US dollars": ("usd",),
    "searches": ("searches",),
    "seconds": ("seconds",),
}
_ASSETS = files("eval.reports.html")
_ABSENT = "–"
_DRAWN = "0 to 100"  # the heading of intervals that are drawn
_AXES = ("LM calls", "tokens", "US dollars", "seconds")
_SCORES = (
    "Scores in percent with 95 % confidence intervals over questions: Wilson’s for scores of 0 and 1 or few that "
    "differ, else a bootstrap (BCa). A failed question counts 0. (m): defined for m of the questions only."
)
_OUTCOMES = (
    "Failed: ended in an error, neither right nor wrong. Unparsable: with at least one reply that did not fit its "
    "signature; most of these questions are answered all the same, and counted as right or wrong too."
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A run as the page has it; the figures are of the questions that all the runs have asked."""

    short: str
    """R1, R2 …; empty where there is but one run."""
    run: Run
    asked: list[dict[str, Any]]
    """The rows of these questions."""
    summary: Summary
    costs: Costs
    state: str
    """Whether it is complete, in words, and why not."""
    complete: bool

    @property
    def lm(self) -> str:
        return label(str(self.run.manifest.get("lm", "")))

    @property
    def kind(self) -> str:
        """Empty for a language model; else what its figures are, a ceiling or a floor."""
        return self.lm.partition(" = ")[2]


def page(directories: Sequence[str]) -> str:
    """The page.

    Args:
        directories: Of one run, or of several of the same task, to be compared; see `eval.figures.comparison.read`.

    Raises:
        UsageError: a directory holds no run, or a damaged one; or the runs cannot be compared.
    """
    runs = [read(directory) for directory in directories]
    comparison = compare(runs) if len(runs) > 1 else None
    shared = set.intersection(*({row["id"] for row in run.rows} for run in runs))
    shown = [
        _show(f"R{n}" if comparison else "", run, comparison.runs[n - 1].summary if comparison else None, shared)
        for n, run in enumerate(runs, 1)
    ]
    metrics = comparison.metrics if comparison else list(shown[0].summary.total.scores)
    sections = {
        "results": ("Results", _results(shown, metrics)),
        "against": ("Accuracy against cost", _against(shown, metrics) if comparison else None),
        "differences": ("Differences", _differences(comparison, shown) if comparison else None),
        "types": ("By question type", _by_type(shown, metrics)),
        "costs": ("Cost by predictor", _costs(shown)),
        "setup": ("What was run", _setup(shown)),
        "questions": ("Questions", _questions(shown)),
    }
    written = {name: (title, parts) for name, (title, parts) in sections.items() if parts}
    data = {
        "metrics": [[name, heading(name)] for name in metrics],
        "runs": [[one.short, str(one.run.manifest.get("program", "")), "best_of" in one.run.manifest] for one in shown],
        **ways(runs, [read_passages(run.name) for run in runs]),
    }
    main = [tag("section", tag("h2", title), *parts, id=name) for name, (title, parts) in written.items()]
    return document(
        _title(shown),
        [tag("header", tag("h1", _title(shown)), _lead(shown)), _bar(written, metrics), tag("main", *main)],
        style=(_ASSETS / "page.css").read_text(encoding="utf-8"),
        script=(_ASSETS / "page.js").read_text(encoding="utf-8"),
        data=data,
    )


def write(path: str | Path, page: str) -> None:
    """Write a page, whole or not at all, in place of one that is there.

    Raises:
        UsageError: the file cannot be written.
    """
    part = Path(f"{path}.part")
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


# What the sections are made from.


def _show(short: str, run: Run, summary: Summary | None, shared: set[str]) -> _Shown:
    rows = [row for row in run.rows if row["id"] in shared]
    state, complete = _state(run)
    return _Shown(
        short=short,
        run=run,
        asked=rows,
        summary=summary or summarise(rows, len(rows), run.manifest),
        costs=costs(rows, run.manifest),
        state=state,
        complete=complete,
    )


def _state(run: Run) -> tuple[str, bool]:
    """Whether the run is complete, in words, and why not. The summary on disk may be that of an earlier sitting."""
    n = len(run.rows)
    summary = _summary(run.name)
    asked = run.manifest.get("asked", summary.get("questions"))
    if asked == n:
        return f"complete: {n} questions", True
    if asked is None:
        return f"{n} questions; the run did not end, and how many there were to be is not known", False
    ended = summary.get("total", {}).get("n") == n
    if ended and summary.get("stopped"):
        why = summary["stopped"]
    elif ended and n and all(row["error"] is not None for row in run.rows):
        why = "all of the first questions failed"
    else:
        why = "it was interrupted" if ended else "it was killed, or is under way"
    return f"incomplete: {n} of {asked} questions; {why}", False


def _summary(directory: str) -> dict[str, Any]:
    """What is in the run's summary.json; nothing where there is none."""
    path = Path(directory) / "summary.json"
    try:
        summary = json.loads(path.read_bytes()) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return summary if isinstance(summary, dict) else {}


def _title(shown: Sequence[_Shown]) -> str:
    programs = list(dict.fromkeys(str(one.run.manifest.get("program", "a program")) for one in shown))
    named = ", ".join(programs) if len(programs) <= 3 else f"{len(shown)} runs"
    return f"{named} on {str(shown[0].run.manifest.get('task', 'questions')).rpartition('/')[2]}"


def _flat(value: Any, name: str = "") -> dict[str, str]:
    """A manifest's entries in lines: what is inside of what is joined by dots."""
    if isinstance(value, dict) and value:
        return {path: text for key, item in value.items() for path, text in _flat(item, f"{name}.{key}").items()}
    name = name.removeprefix(".")
    if name == "best_of":
        return {name: f"{len(value)} runs"}
    if isinstance(value, list):
        return {name: ", ".join(map(str, value)) or "none"}
    return {name: "none" if value is None or value == {} else str(value)}


def _setups(shown: Sequence[_Shown]) -> dict[str, list[str]]:
    """Every entry of any manifest, and what it is in each run."""
    flat = [_flat(one.run.manifest) for one in shown]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return {name: [entries.get(name, _ABSENT) for entries in flat] for name in names}


# The sections, in their order.


def _lead(shown: Sequence[_Shown]) -> Html:
    """What each run is and whether it can be relied on, in a few lines."""
    setups = _setups(shown)
    differ = [
        name
        for name, values in setups.items()
        if name.startswith(("settings.", "temperature")) and len(set(values) - {_ABSENT}) > 1
    ]
    items = []
    for n, one in enumerate(shown):
        manifest = one.run.manifest
        about = [f"best of {len(manifest['best_of'])}"] if "best_of" in manifest else []
        about += [f"LM {one.lm}"] if one.lm else []
        about += [f"retriever {manifest['retriever']}"] if manifest.get("retriever") else []
        about += [f"compiled state {manifest['state'].get('file')}"] if isinstance(manifest.get("state"), dict) else []
        about += [
            f"{name.removeprefix('settings.')} {setups[name][n]}" for name in differ if setups[name][n] != _ABSENT
        ]
        name = tag("b", f"{one.short} {manifest.get('program', '')}".strip())
        state = tag("span", "✓ " if one.complete else "⚠ ", one.state, class_="good" if one.complete else "bad")
        lines = [
            tag("div", name, *(f", {what}" for what in about)),
            tag("div", state, " · ", one.run.name, class_="quiet"),
        ]
        errors = [row["error"] for row in one.run.rows if row["error"] is not None]
        if errors:
            lines.append(tag("div", f"⚠ {len(errors)} failed, the first with ", tag("q", errors[0]), class_="bad"))
        items.append(tag("li", *lines))
    return tag("ul", *items, class_="runs")


def _bar(written: Mapping[str, tuple[str, object]], metrics: Sequence[str]) -> Html:
    return tag(
        "nav",
        *(tag("a", title, href=f"#{name}") for name, (title, _) in written.items()),
        tag(
            "label",
            "Metric ",
            tag("select", *(tag("option", heading(name), value=name) for name in metrics), id="metric"),
            class_="scripted",
        ),
        aria_label="Sections",
    )


def _results(shown: Sequence[_Shown], metrics: Sequence[str]) -> list[Html]:
    parts = [_counts(shown, metrics)]
    if len(shown) == 1:
        total = shown[0].summary.total
        lines = [[heading(name), *_scored(total.scores[name], total.n)] for name in metrics]
        parts.append(_table(["metric", "score", "95 % interval", _DRAWN], lines))
    else:
        parts += _each(
            metrics,
            lambda metric: _table(
                ["run", heading(metric), "95 % interval", _DRAWN],
                [[_name(one), *_scored(one.summary.total.scores[metric], one.summary.total.n)] for one in shown],
            ),
        )
    return [*parts, tag("p", _SCORES, class_="note")]


def _counts(shown: Sequence[_Shown], metrics: Sequence[str]) -> Html:
    """What became of the questions, and what they cost."""
    first = metrics[:1]
    by = [f"right ({heading(name)} 1)" for name in first] + ["wrong", "not scored"] * bool(first)
    lines = []
    for one in shown:
        figures = one.summary.total
        outcomes = Counter(_outcome(row, first[0]) for row in one.asked) if first else Counter()
        counts = [str(outcomes[name]) for name in ("right", "wrong", "not scored")] * bool(first)
        spent = [_amount(figures, name) for name in _COSTS]
        lines.append([_name(one), str(figures.n), *counts, str(figures.failed), str(figures.unparsable), *spent])
    table = _table(["run", "questions", *by, "failed", "unparsable", *_COSTS], lines)
    note = f"{_OUTCOMES} Costs are means per question, as they were when first paid for."
    left_out = [
        f"{one.short} {len(one.run.rows) - len(one.asked)}" for one in shown if len(one.run.rows) > len(one.asked)
    ]
    if left_out:
        note += f" Left out, for not all runs have asked them: {', '.join(left_out)}."
    return tag("div", table, tag("p", note, class_="note"))


def _outcome(row: Mapping[str, Any], metric: str) -> str:
    if row["error"] is not None:
        return "failed"
    if metric not in row["scores"]:
        return "not scored"
    return "right" if row["scores"][metric] == 1 else "wrong"


def _against(shown: Sequence[_Shown], metrics: Sequence[str]) -> list[Html]:
    signs = {"": "●", "ceiling": "△", "floor": "▽"}
    legend = ", ".join(f"{signs[_brief(kind)]} {kind or 'language model'}" for kind in _kinds(shown))
    unknown = {axis: [one.short for one in shown if _cost(one.summary.total, axis) is None] for axis in _AXES}
    missing = [f" {axis} not known: {', '.join(names)}." for axis, names in unknown.items() if names]
    axes = [axis for axis in _AXES if len(unknown[axis]) < len(shown)]
    return [
        *_each(metrics, lambda metric: tag("div", *(_chart(shown, metric, axis) for axis in axes), class_="charts")),
        tag(
            "p",
            f"{legend}. Upright lines: 95 % intervals of the score. Stepped line: the Pareto front, the runs that no "
            f"other one beats; ceilings and floors have fronts of their own.{''.join(missing)}",
            class_="note",
        ),
    ]


def _chart(shown: Sequence[_Shown], metric: str, axis: str) -> Html:
    points = []
    for one in shown:
        score, cost = one.summary.total.scores[metric], _cost(one.summary.total, axis)
        if cost is not None:
            points.append(Point(one.short, one.kind, cost, score.mean, score.low, score.high))
    fronts = []
    for kind in _kinds(shown):
        alike = [point for point in points if point.kind == kind]
        if len(alike) > 1:
            fronts.append(f" Front{f' of {_brief(kind)}s' if kind else ''}: {', '.join(p.name for p in front(alike))}.")
    drawn = scatter(points, across=f"{axis} per question", up=heading(metric))
    return tag("figure", drawn, tag("figcaption", f"{heading(metric)} against {axis}.", *fronts))


def _kinds(shown: Sequence[_Shown]) -> list[str]:
    return list(dict.fromkeys(one.kind for one in shown))


def _differences(comparison: Comparison, shown: Sequence[_Shown]) -> list[Html]:
    short = {one.run.name: one.short for one in shown}

    def tables(metric: str) -> Html:
        of_metric = [d for d in comparison.differences if d.metric == metric]
        over_all = [d for d in of_metric if d.type is None]
        by_type = [d for d in of_metric if d.type is not None]
        widest = max((abs(end) for d in of_metric for end in (d.low, d.high)), default=0.0)
        parts = [_difference_table(over_all, short, widest)]
        if by_type:
            inner = _difference_table(by_type, short, widest)
            parts.append(tag("details", tag("summary", f"By question type: {len(by_type)} comparisons"), inner))
        return tag("div", *parts)

    return [
        *_each(comparison.metrics, tables),
        tag(
            "p",
            f"The first run’s mean less the second’s, in percent, over the {comparison.questions} questions that all "
            "runs asked, with 95 % confidence intervals: Bonett and Price’s for scores of 0 and 1, else a bootstrap "
            "(BCa). p: the randomisation test for pairs, two-sided; corrected: by Holm’s method for as many "
            "comparisons as the table has lines. Drawn around 0, the upright line; * corrected p below 0.05.",
            class_="note",
        ),
    ]


def _difference_table(differences: Sequence[Difference], short: Mapping[str, str], widest: float) -> Html:
    most = max(0.1, -(-widest * 10 // 1) / 10)  # up to the next 10 percent
    lines = []
    for d in differences:
        pair = f"{short[d.first]} − {short[d.second]}"
        lines.append(
            [
                f"{d.type}: {pair}" if d.type else pair,
                str(d.n),
                f"{100 * d.mean:+.1f}",
                f"[{100 * d.low:+.1f}, {100 * d.high:+.1f}]",
                interval(d.mean, d.low, d.high, least=-most, most=most),
                p_value(d.p),
                p_value(d.p_corrected) + (" *" if d.p_corrected < 0.05 else ""),
            ]
        )
    drawn = f"{-100 * most:.0f} to {100 * most:+.0f}"
    return _table(["", "n", "difference", "95 % interval", drawn, "p", "corrected"], lines)


def _by_type(shown: Sequence[_Shown], metrics: Sequence[str]) -> list[Html]:
    types = list(shown[0].summary.by_type)
    if not types:
        return []

    def lines(metric: str) -> list[list[object]]:
        found: list[list[object]] = []
        for name in types:
            for one in shown:
                figures = one.summary.by_type[name]
                scored = _scored(figures.scores[metric], figures.n) if metric in figures.scores else ["–", "", ""]
                costs = [_amount(figures, cost) for cost in ("LM calls", "seconds")]
                run = [one.short] if len(shown) > 1 else []
                counts = [str(figures.n), str(figures.failed), str(figures.unparsable)]
                found.append([name, *run, *counts, *scored, *costs])
        return found

    head = ["type", *(["run"] if len(shown) > 1 else []), "n", "failed", "unparsable"]
    return _each(
        metrics,
        lambda metric: _table([*head, heading(metric), "95 % interval", _DRAWN, "LM calls", "seconds"], lines(metric)),
    )


def _costs(shown: Sequence[_Shown]) -> list[Html]:
    parts: list[Html] = []
    for one in shown:
        head, *lines = cost_lines(one.costs)
        if len(shown) > 1:
            parts.append(tag("h3", _name(one)))
        parts.append(_table(head, lines))
        parts += [tag("p", note) for note in cost_notes(one.costs)]
    note = (
        "Tokens and dollars are what the calls cost when they were first paid for; what a cache answered is not in "
        "what was paid in this run."
    )
    return [*parts, tag("p", note, class_="note")]


def _setup(shown: Sequence[_Shown]) -> list[Html]:
    entries = _setups(shown)
    lines = {
        name: [name, *(tag("span", label(value) if name == "lm" else value, class_="value") for value in values)]
        for name, values in entries.items()
    }
    if len(shown) == 1:
        return [_table(["", ""], list(lines.values()), class_="setup")]
    same = [name for name, values in entries.items() if len(set(values)) == 1]
    head = ["", *(_name(one) for one in shown)]
    return [
        _table(head, [line for name, line in lines.items() if name not in same], class_="setup"),
        tag(
            "details",
            tag("summary", f"The same in all runs: {len(same)} entries"),
            _table(["", ""], [lines[name][:2] for name in same], class_="setup"),
        ),
    ]


def _questions(shown: Sequence[_Shown]) -> list[Html]:
    several = len(shown) > 1
    outcomes = ["all", "wrong", "right", "not scored", "failed", "unparsable", *["runs differ"] * several]
    runs = [tag("option", "any run", value="")] + [tag("option", _name(one), value=n) for n, one in enumerate(shown)]
    controls = [
        _choice("Outcome", "outcome", [tag("option", name, value=name) for name in outcomes]),
        _choice("in", "run", runs) if several else None,
        _choice("Type", "type", [tag("option", "all", value="")]) if shown[0].summary.by_type else None,
        tag("label", "Text ", tag("input", type="search", id="text", placeholder="question, answer, error, id")),
    ]
    note = (
        "Right: a score of 1 by the metric chosen above; wrong: less. Of a passage: kept, it is in the evidence, which "
        "the answering call was shown; extract, with another text; cited, facts drawn from it are; dropped, none of "
        "these. Query 2 #3: the third that the second query found. ★ gold, by title or id."
    )
    return [
        tag("noscript", tag("p", "The list of questions needs JavaScript; nothing is loaded from anywhere.")),
        tag("form", *controls, class_="controls scripted", role="search", id="controls"),
        tag("p", role="status", id="count"),
        tag("div", id="list"),
        tag("p", note, class_="note"),
    ]


# What they have in common.


def _choice(name: str, id_: str, options: Sequence[Html]) -> Html:
    return tag("label", f"{name} ", tag("select", *options, id=id_))


def _each(metrics: Sequence[str], make: Callable[[str], Html]) -> list[Html]:
    """The same for each metric; the page shows that of the chosen one."""
    return [tag("div", make(metric), class_="by-metric", data_metric=metric) for metric in metrics]


def _name(one: _Shown) -> str:
    program = str(one.run.manifest.get("program", one.run.name))
    best = f", best of {len(one.run.manifest['best_of'])}" if "best_of" in one.run.manifest else ""
    return f"{one.short} {program}{best}{f', {_brief(one.kind)}' if one.kind else ''}".strip()


def _brief(kind: str) -> str:
    """Ceiling or floor."""
    return kind.partition(" ")[0]


def _scored(score: Score, n: int) -> list[object]:
    mean = f"{100 * score.mean:.1f}" + (f" ({score.n})" if score.n < n else "")
    drawn = interval(score.mean, score.low, score.high)
    return [mean, f"[{100 * score.low:.1f}, {100 * score.high:.1f}]", drawn]


def _cost(figures: Figures, name: str) -> float | None:
    """Per question; None where it is not known."""
    parts = [figures.cost.get(part) for part in _COSTS[name]]
    return None if None in parts else sum(part for part in parts if part is not None)


def _amount(figures: Figures, name: str) -> str:
    cost = _cost(figures, name)
    if cost is None:
        return "unknown"
    return f"{cost:.6f}" if name == "US dollars" else f"{cost:,.0f}" if name == "tokens" else f"{cost:,.2f}"


def _table(head: Sequence[object], lines: Sequence[Sequence[object]], class_: str | None = None) -> Html:
    """The first cell of a line is its heading, one for lines in which it is the same; a heading that begins with blanks
    belongs to the line above."""
    body = []
    for first, group in groupby(lines, key=lambda line: line[0]):
        cells = [[tag("td", cell) for cell in line[1:]] for line in group]
        inner = "inner" if str(first).startswith(" ") else None
        cells[0].insert(0, tag("th", first, scope="row", rowspan=len(cells) if len(cells) > 1 else None, class_=inner))
        body += [tag("tr", *line) for line in cells]
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") if cell else tag("td") for cell in head)))
    return tag("div", tag("table", top, tag("tbody", *body), class_=class_), class_="wide")
