import pytest
from support.records import a_manifest, a_row

from eval.figures.summary import judges, summarise, total
from programs.instruments.cost import Cost, Spent


def test_every_question_counts_in_the_mean_the_failed_ones_as_0() -> None:
    rows = [
        a_row("1", scores={"em": 1.0, "recall": 0.5}, type="a"),
        a_row("2", scores={"em": 0.0}, type="b"),
        a_row("3", scores={"em": None, "recall": None}, error="LMTimeoutError: late", type="a"),
    ]
    summary = summarise(rows, 4, a_manifest())
    assert (summary.complete, summary.questions, summary.first_error) == (False, 4, "LMTimeoutError: late")
    figures = summary.total
    assert (figures.n, figures.failed) == (3, 1)
    assert {name: (score.mean, score.n) for name, score in figures.scores.items()} == {
        "em": (pytest.approx(1 / 3), 3),
        "recall": (0.25, 2),
    }
    assert {name: (of.n, of.scores["em"].mean) for name, of in summary.by_type.items()} == {"a": (2, 0.5), "b": (1, 0)}


def test_a_metric_that_only_failed_questions_have_is_not_there() -> None:
    rows = [a_row("1", scores={"em": 1.0}), a_row("2", scores={"em": None, "recall": None}, error="ValueError: x")]
    assert list(summarise(rows, 2, a_manifest()).total.scores) == ["em"]


def test_unparsable_counts_questions_and_costs_are_means_without_unknown_dollars() -> None:
    rows = [a_row("1", cost=Cost(2, usd=None, unparsable=3)), a_row("2", cost=Cost(1, usd=0.5))]
    figures = summarise(rows, 2, a_manifest()).total
    assert (figures.unparsable, figures.cost["lm_calls"]) == (1, 1.5)
    assert "usd" not in figures.cost


def test_no_rows_have_figures_too() -> None:
    summary = summarise([], 3, a_manifest(), "the limit of 1 LM calls is reached")
    assert (summary.total.n, summary.total.scores, summary.total.cost["lm_calls"]) == (0, {}, 0.0)
    assert summary.stopped == "the limit of 1 LM calls is reached"


def test_judges_cost_their_tests_and_their_rows() -> None:
    manifest = a_manifest(self_tests={"acc": Spent(8, usd=0.5)})
    rows = [a_row("1", judging={"acc": Spent(1, usd=0.25)}), a_row("2")]
    assert judges(rows, manifest) == {"acc": Spent(9, usd=0.75)}
    both = a_manifest(best_of=[manifest, a_manifest(self_tests={"other": Spent(1)})])
    assert judges(rows, both) == {"acc": Spent(9, usd=0.75), "other": Spent(1)}


def test_what_is_unknown_in_one_is_unknown_in_the_sum() -> None:
    assert total(Spent, [Spent(1, usd=None), Spent(2, usd=0.5)]) == Spent(3, usd=None)
    assert total(Cost, []) == Cost()
