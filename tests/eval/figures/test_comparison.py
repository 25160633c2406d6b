import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records import a_row, a_run

from eval.__main__ import main
from eval.figures.comparison import best_of, compare
from eval.figures.statistics import difference_interval, interval
from eval.records.record import Row
from eval.records.run import Run
from eval.reports.text import comparison_table
from programs.instruments.cost import Cost, Spent
from retrieval import UsageError

COST = Cost(1, 0, 1200, 30, 0.5, searches=1, unparsable=1, seconds=2.0, predictors={"read": Spent(lm_calls=1)})


def row(id_: str, em: float | None, f1: float | None = None, **fields: Any) -> Row:
    scores = {"em": em, "f1": em if f1 is None else f1}
    error = None if em is not None else "LMTimeoutError: late"
    return a_row(id_, scores=scores, error=error, **{"answers": ["Rome"], "cost": COST, **fields})


def run(name: str, *scores: float | None, first: int = 0, **manifest: Any) -> Run:
    rows = [row(f"q{n}", score) for n, score in enumerate(scores, first)]
    return a_run(name, rows, {"task": "t", "questions": f"hash of {first} to {first + len(scores)}", **manifest})


def write(directory: Path, run: Run) -> str:
    """The run as a run that is under way has it on disk."""
    directory.mkdir()
    (directory / "manifest.json").write_text(json.dumps(run.manifest.entries()))
    (directory / "rows.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in run.rows))
    return str(directory)


def test_means_differences_and_what_failed() -> None:
    comparison = compare([run("a", 1, 1, 1, 0, None), run("b", 0, 1, 0, 0, 1)])
    assert (comparison.questions, comparison.metrics) == (5, ["em", "f1"])
    a, b = comparison.runs
    assert (a.name, a.left_out, a.summary.total.n, a.summary.total.failed) == ("a", 0, 5, 1)
    assert (a.summary.total.scores["em"].mean, b.summary.total.scores["em"].mean) == (3 / 5, 2 / 5)
    em, f1 = comparison.differences
    assert (em.metric, em.type, em.first, em.second, em.n) == ("em", None, "a", "b", 5)
    assert em.mean == pytest.approx(1 / 5)
    assert (em.low, em.high) == difference_interval([1, 0, 1, 0, -1])
    assert em.p == em.p_corrected == pytest.approx(5 / 8, abs=1e-6)
    assert f1.metric == "f1"


def test_only_shared_questions_count_and_what_is_left_out_is_said() -> None:
    comparison = compare([run("a", 1, 0, 0), run("b", 1, 1, 1, first=1), run("c", 0, 1, 0, 1)], ["em"])
    assert comparison.questions == 2
    assert [r.left_out for r in comparison.runs] == [1, 1, 2]
    assert [r.summary.total.scores["em"].mean for r in comparison.runs] == [0, 1, 1 / 2]
    assert [(d.first, d.second, d.mean) for d in comparison.differences] == [
        ("a", "b", -1),
        ("a", "c", -1 / 2),
        ("b", "c", 1 / 2),
    ]


def test_p_values_are_corrected_for_all_pairs_of_a_metric() -> None:
    comparison = compare([run("a", *[1] * 10), run("b", *[0] * 10), run("c", *[0] * 9, 1)])
    for metric in "em", "f1":
        ps = {(d.first, d.second): (d.p, d.p_corrected) for d in comparison.differences if d.metric == metric}
        assert ps["a", "b"] == pytest.approx((1 / 2**10, 3 / 2**10), abs=1e-6)
        assert ps["a", "c"] == pytest.approx((1 / 2**9, 2 / 2**9), abs=1e-6)
        assert ps["b", "c"] == pytest.approx((1 / 2, 1 / 2), abs=1e-6)


def test_by_type() -> None:
    def typed(name: str, *scores: float) -> Run:
        rows = [row(f"q{n}", score, type=("x", "y", None)[n % 3]) for n, score in enumerate(scores)]
        return a_run(name, rows, {"task": "t"})

    comparison = compare([typed("a", 1, 1, 0, 1, 0, 0), typed("b", 0, 1, 0, 0, 0, 1)], ["em"])
    assert [(d.type, d.n, d.mean) for d in comparison.differences] == [(None, 6, 1 / 6), ("x", 2, 1), ("y", 2, 0)]
    x, y = comparison.differences[1:]
    assert (x.p, x.p_corrected, y.p_corrected) == pytest.approx((1 / 4, 1 / 2, 1), abs=1e-6)


def test_a_metric_counts_where_both_have_it() -> None:
    one, other = run("a", 1, 0, 1, None), run("b", 0, 1, 1, 1)
    for rows, values in ((one.rows, [1.0, "undefined", 0.5, None]), (other.rows, [0.5, 0.5, "undefined", 1.0])):
        for r, value in zip(rows, values, strict=True):
            if value != "undefined":
                r.scores["judged"] = value
    (difference,) = compare([one, other], ["judged"]).differences
    assert (difference.n, difference.mean) == (2, -0.25)  # the failed question counts 0


def test_what_cannot_be_compared() -> None:
    a, b = run("a", 1, 0), run("b", 1, 0)
    for runs, complaint in [
        ([], "there must be at least two runs"),
        ([a], "there must be at least two runs"),
        ([a, a], "one of the runs is named twice"),
        ([a, run("c", 1, first=7)], "the runs a, c have no question in common"),
        ([a, run("c", 1, 1, 1, task="u")], "a is of the task t, c of u: they cannot be compared"),
    ]:
        with pytest.raises(UsageError, match=complaint):
            compare(runs)
    with pytest.raises(UsageError, match="not all of the runs have the metric 'rouge_l'; what they all have: em, f1"):
        compare([a, b], ["em", "rouge_l"])
    b.rows[1] = row("q1", 0, answers=["Paris"])
    with pytest.raises(UsageError, match="the question 'q1' is not the same in all runs"):
        compare([a, b])


def test_the_same_questions_from_another_file_are_the_same_task() -> None:
    assert compare([run("a", 1, 0), run("b", 1, 0, task="file:copy.jsonl")]).questions == 2


def test_best_of() -> None:
    samples = [run("a", 1, 0, None, None, 0), run("b", 0, 0, None, 0, 1), run("c", 0, 0, None, 1, 0)]
    samples[1].rows[1].scores["f1"] = 0.5
    best = best_of(samples)
    assert (best.name, best.gap) == ("a, b, c", None)
    assert [r.scores for r in best.rows] == [
        {"em": 1, "f1": 1},
        {"em": 0, "f1": 0.5},
        {"em": None, "f1": None},
        {"em": 1, "f1": 1},
        {"em": 1, "f1": 1},
    ]
    assert [r.error is None for r in best.rows] == [True, True, False, True, True]
    assert best.rows[0].cost.lm_calls == 3
    assert best.rows[0].cost.predictors == {"read": Spent(lm_calls=3)}
    assert best.rows[0].cost.usd == 1.5
    assert (best.manifest.task, len(best.manifest.best_of)) == ("t", 3)
    assert best_of(samples[:1]).rows[0].scores == samples[0].rows[0].scores


def test_best_of_where_a_price_is_unknown() -> None:
    samples = [run("a", 1), run("b", 1)]
    samples[1].rows[0] = row("q0", 1, cost=replace(COST, usd=None))
    assert best_of(samples).rows[0].cost.usd is None


def test_the_best_of_runs_of_which_one_was_cut_short_says_so() -> None:
    assert best_of([run("a", 1), replace(run("b", 1), gap="it was interrupted")]).gap == "b: it was interrupted"


def test_the_table() -> None:
    a = run("runs/a", *[1] * 30, *[0] * 9, None, program="direct", settings={"k": 1, "style": "short"})
    b = run("runs/b", *[0] * 20, *[1] * 21, program="direct", settings={"k": 5, "style": "short"})
    b.rows[3] = row("q3", 0, cost=replace(COST, usd=None))
    text = comparison_table(compare([a, b], ["em"]))
    assert text.split("\n\nMeans in percent")[0].splitlines() == [
        "a answered 10 more of 40 exactly; chance can explain that (p = 0.071); it costs as many LM calls.",
        "",
        "a: runs/a, task t, program direct",
        "b: runs/b, task t, program direct",
        "",
        "what differs  a  b",
        "settings.k    1  5",
        "",
        "40 questions that all runs asked",
        "",
        "    n  failed  unparsable  LM calls  searches  seconds  tokens in  tokens out       USD  left out",
        "a  40       1          40      1.00      1.00     2.00      1,200          30  0.500000         0",
        "b  40       0          40      1.00      1.00     2.00      1,200          30   unknown         1",
        "",
        "EM                   a                  b",
        "all  75.0 [59.8, 85.8]  50.0 [35.2, 64.8]",
        "",
        "        n  difference                     p  corrected",
        "a - b  40       +25.0  [-2.1, +47.9]  0.071      0.071",
    ]
    low, high = interval([1] * 30 + [0] * 10)
    assert (round(100 * low, 1), round(100 * high, 1)) == (59.8, 85.8)


def test_metrics_with_the_same_figures_stand_together() -> None:
    a, b = run("a", 1, 0, 1), run("b", 0, 0, 1)
    assert "EM, F1 " in comparison_table(compare([a, b]))
    a.rows[1].scores["f1"] = 0.5
    assert "EM, F1" not in comparison_table(compare([a, b]))


def test_a_width_is_kept_and_nothing_is_left_out() -> None:
    comparison = compare([run(name, 1, 0, 1, program=f"program {name}") for name in "abcd"])
    narrow, wide = comparison_table(comparison, 60), comparison_table(comparison)
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines()))
    assert set(wide.split()) == set(narrow.split())


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ({"program": "cot"}, ["direct", "cot"]),
        ({"lm": "openai/small"}, ["direct floor", "direct small"]),
        ({}, ["a", "b"]),
    ],
)
def test_runs_have_the_shortest_names_that_tell_them_apart(others: dict[str, str], names: list[str]) -> None:
    usual = {"program": "direct", "lm": "extractive/reader"}
    comparison = compare([run("x/a", 1, **usual), run("y/b", 0, **usual | others)])
    assert [each.short for each in comparison.runs] == names


def call(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directories = [write(tmp_path / name, run(name, *scores)) for name, scores in {"a": (1, 0), "b": (0, 0)}.items()]
    assert call("compare", *directories) == 0
    assert "a - b  2       +50.0" in capsys.readouterr().out
    assert call("compare", *directories, "--metric", "f1", "--json") == 0
    comparison = json.loads(capsys.readouterr().out)
    assert comparison["metrics"] == ["f1"]
    assert comparison["differences"][0]["mean"] == 0.5
    assert comparison["runs"][0]["summary"]["total"]["scores"]["f1"]["n"] == 2
    assert call("compare", ",".join(directories), directories[1]) == 0
    assert "best of 2" in capsys.readouterr().out
    assert call("compare", "--help") == 0
    assert "--metric" in capsys.readouterr().out
