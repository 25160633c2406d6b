"""How often a race chooses a candidate that is as good as the best, and for what share of the calls of a full grid.

    python benchmarks/choosing.py RUNS … [--races 200] [--share 0.25] [--without PROGRAM …]

The runs under each folder are sorted by LM; those that asked the same questions make a record: the score and the LM
calls of each question by each program. A race goes over as many questions as the record has, drawn from them with
replacement. Its choice is compared with that of the full grid, which asks every candidate every question.

    race             as odqa choose, with a limit of --share of the calls of the full grid
    race, no limit   the same without a limit: candidates leave by the test only
    halving          successive halving: equal parts of the limit for ever fewer candidates, the better half stays
    equal            the limit divided evenly: each candidate is asked as many questions as the others
    greedy           part by part, as AutoRAG goes: the plainest method of each way of searching is asked everything,
                     then the other methods of the best way; no limit
    pruned           as syftr prunes: one candidate after the other in a random order, which is given up when the upper
                     end of its 90 % interval lies below a finished one that costs less; no limit

`near` is the share of races whose choice is within 2 points of the best of the full grid, over the questions of the
race; `gap` the mean distance from it in points; `lost` the share in which the test dropped the best, that is all of
several. AutoRAG and syftr are more than these rules: what is compared is the order in which they ask.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import ceil, log2, sqrt
from typing import NamedTuple

import numpy as np
from measuring import header, row
from numpy.typing import NDArray

from eval.choosing.race import Contest, Outcome, Rules
from eval.runs.found import find_runs
from eval.runs.store import read

NEAR = 0.02
WAYS = (
    ("direct", "cot", "alce", "retrieve_read", "upr", "rerank", "das", "sure", "vtg"),
    ("qpaug", "blendfilter", "par2_rag", "chain_of_rewrite", "allies"),
    ("iter_retgen", "itrg"),
    ("ircot", "self_ask", "react", "search_o1", "hop", "migres", "adaptive_rag"),
    ("genread", "self_verification"),
)
"""The methods by how they search: once, by rewritten queries, again with an answer, step by step, not at all."""

Table = NDArray[np.float64]


class Record(NamedTuple):
    """What many programs did with the same questions."""

    name: str
    programs: list[str]
    scores: Table
    """By program and question; likewise the LM calls."""
    calls: Table


class Chosen(NamedTuple):
    """What came of a race."""

    candidate: int
    calls: float
    dropped: frozenset[int] = frozenset()
    """By the test."""


def records(folders: Sequence[str], without: Sequence[str]) -> Iterator[Record]:
    """The records in these folders, each of at least four programs."""
    for folder in folders:
        runs = [read(path) for path in find_runs(folder)]
        by_lm = defaultdict(list)
        for run in runs:
            if run.gap is None and run.manifest.program not in without:
                by_lm[str(run.manifest.lm).rpartition("/")[2], tuple(sorted(row.id for row in run.rows))].append(run)
        for (lm, ids), group in by_lm.items():
            if len(group) < 4:
                continue
            metric = group[0].manifest.metrics[0]
            tables = [{row.id: row for row in run.rows} for run in group]
            yield Record(
                f"{group[0].manifest.task}, {lm}",
                [str(run.manifest.program) for run in group],
                np.array([[rows[id_].scores.get(metric) or 0.0 for id_ in ids] for rows in tables]),
                np.array([[float(rows[id_].cost.lm_calls) for id_ in ids] for rows in tables]),
            )


def race(scores: Table, calls: Table, limit: float | None) -> Chosen:
    contest = Contest(len(scores), Rules(questions=scores.shape[1], calls=limit))
    outcomes = [
        [Outcome(score, {"calls": cost}, int(cost), 0.0) for score, cost in zip(*rows, strict=True)]
        for rows in zip(scores.tolist(), calls.tolist(), strict=True)
    ]
    dropped = set()
    while block := contest.next_block():
        for one in contest.racing():
            contest.take(one, outcomes[one][block.start : block.stop])
        dropped |= {leave.candidate for leave in contest.look() if leave.why == "worse"}
    return Chosen(max(contest.racing(), key=contest.score), contest.spent("calls"), frozenset(dropped))


def halving(scores: Table, calls: Table, limit: float) -> Chosen:
    left, asked, spent = list(range(len(scores))), 0, 0.0
    rounds = ceil(log2(len(left)))
    for _ in range(rounds):
        end, part = asked, 0.0
        while end < scores.shape[1] and part + calls[left, end].sum() <= limit / rounds:
            part += calls[left, end].sum()
            end += 1
        asked, spent = end, spent + part
        means = scores[left, : max(asked, 1)].mean(axis=1)
        left = [left[n] for n in np.argsort(-means, kind="stable")[: ceil(len(left) / 2)]]
    return Chosen(left[0], spent)


def equal(scores: Table, calls: Table, limit: float) -> Chosen:
    costs = calls.sum(axis=0).cumsum()
    asked = max(1, int((costs <= limit).sum()))
    return Chosen(int(scores[:, :asked].mean(axis=1).argmax()), float(costs[asked - 1]))


def greedy(scores: Table, calls: Table, programs: Sequence[str]) -> Chosen:
    means = scores.mean(axis=1)
    ways = [[programs.index(name) for name in way if name in programs] for way in WAYS]
    best = max((way for way in ways if way), key=lambda way: means[way[0]])
    asked = sorted({*(way[0] for way in ways if way), *best})
    return Chosen(max(asked, key=lambda one: means[one]), float(calls[asked].sum()))


def pruned(scores: Table, calls: Table, rng: np.random.Generator, batch: int = 10) -> Chosen:
    finished: list[int] = []
    spent = 0.0
    for one in rng.permutation(len(scores)).tolist():
        for end in range(batch, scores.shape[1] + batch, batch):
            known, costs = scores[one, :end], calls[one, :end]
            upper = known.mean() + 1.645 * known.std() / sqrt(len(known))
            cheap = costs.mean() - 1.645 * costs.std() / sqrt(len(costs))
            if any(scores[other].mean() > upper and calls[other].mean() <= cheap for other in finished):
                break
        else:
            finished.append(one)
        spent += float(costs.sum())
    return Chosen(max(finished, key=lambda other: scores[other].mean()), spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="RUNS", help="folder with runs")
    parser.add_argument("--races", type=int, default=200, metavar="N")
    parser.add_argument("--share", type=float, default=0.25, metavar="S", help="of the calls of the full grid")
    parser.add_argument("--without", nargs="*", default=[], metavar="PROGRAM", help="leave out these")
    args = parser.parse_args()
    header("record", "rule", "near, %", "calls, %", "gap", "lost, %")
    for record in records(args.folders, args.without):
        rng = np.random.default_rng(0)
        rules: dict[str, Callable[[Table, Table, float], Chosen]] = {
            "race": race,
            "race, no limit": lambda scores, calls, _: race(scores, calls, None),
            "halving": halving,
            "equal": equal,
            "greedy": lambda scores, calls, _, record=record: greedy(scores, calls, record.programs),  # type: ignore[misc]
            "pruned": lambda scores, calls, _, rng=rng: pruned(scores, calls, rng),  # type: ignore[misc]
        }
        found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for _ in range(args.races):
            drawn = rng.integers(record.scores.shape[1], size=record.scores.shape[1])
            scores, calls = record.scores[:, drawn], record.calls[:, drawn]
            means, grid = scores.mean(axis=1), calls.sum()
            best = {*np.flatnonzero(means >= means.max() - 1e-9).tolist()}
            for name, rule in rules.items():
                chosen = rule(scores, calls, args.share * grid)
                behind = means.max() - means[chosen.candidate]
                found[name].append((behind <= NEAR + 1e-9, chosen.calls / grid, behind, best <= chosen.dropped))
        for name, outcomes in found.items():
            near, share, gap, lost = np.mean(outcomes, axis=0)
            shown = f"{record.name}: {len(record.programs)} programs, {record.scores.shape[1]} questions"
            row(shown, name, 100 * near, 100 * share, 100 * gap, *([100 * lost] if "race" in name else ["-"]))


if __name__ == "__main__":
    main()
