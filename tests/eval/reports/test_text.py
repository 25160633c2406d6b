from support.records import a_manifest, a_row

from eval.figures.costs import costs
from eval.figures.summary import summarise
from eval.reports.text import align, cost_table, fitted, table
from eval.reports.trace import question_text
from programs.instruments.cost import Cost, Spent

ROWS = [
    a_row("1", scores={"em": 1.0, "f1": 1.0, "recall_passages": 0.5}, type="bridge", cost=Cost(7, seconds=1.5)),
    a_row("2", scores={"em": 0.0, "f1": 0.25, "recall_passages": 1.0}, type="bridge", cost=Cost(unparsable=2)),
    a_row("3", scores={"em": None, "f1": None}, error="LMTimeoutError: too late", type="comparison"),
    a_row("4", scores={"em": 1.0, "f1": 1.0, "own": 0.5}),
]


def test_the_table() -> None:
    manifest = a_manifest(program="blendfilter", task="sample", lm="extractive", settings={"k": 5})
    run, empty, *lines = table(summarise(ROWS, 4, manifest)).split("\n")
    assert (run, empty) == ("task sample, program blendfilter, lm extractive", "")
    assert lines[: lines.index("")] == [
        "            n  failed  unparsable    EM    F1  titles found       own  LM calls  searches  seconds",
        "all         4       1           1  50.0  56.2      75.0 (2)  50.0 (1)      1.75      0.00     0.38",
        "bridge      2       0           1  50.0  62.5          75.0         -      3.50      0.00     0.75",
        "comparison  1       1           0   0.0   0.0             -         -      0.00      0.00     0.00",
    ]
    # Wilson's intervals: 2 of 4 right, 1 of 2, 0 of 1.
    em = [line[:24] for line in lines if "[" in line and line[0] in "abc"]
    assert em == ["all         [15.0, 85.0]", "bridge       [9.5, 90.5]", "comparison   [0.0, 79.3]"]


def test_what_went_wrong_is_said() -> None:
    text = table(summarise(ROWS, 6, a_manifest()))
    assert "INCOMPLETE: 4 of 6 questions" in text
    assert text.endswith("1 failed, the first with LMTimeoutError: too late")


def test_an_undisturbed_run_has_nothing_to_add() -> None:
    text = table(summarise(ROWS[:2], 2, a_manifest()))
    assert "INCOMPLETE" not in text
    assert "failed, the first" not in text


def test_a_run_interrupted_at_once_has_a_table() -> None:
    assert "INCOMPLETE: 0 of 6 questions" in table(summarise([], 6, a_manifest()))


def test_a_part_of_a_cost_is_set_in() -> None:
    spent = Cost(3, 1, 300, 30, searches=2, predictors={"read": Spent(3, 1, 300, 30)})
    lines = cost_table(costs([a_row(cost=spent)], a_manifest())).split("\n")
    assert [line.split("  ")[0] for line in lines[1:3]] == ["per question of 1", ""]
    assert lines[2].startswith("  read ")
    assert lines[4].split() == ["paid", "in", "this", "run", "2", "0", "0", "0.000000"]


def test_columns_are_aligned() -> None:
    assert align([["", "n", "what"], ["all", "10", "x"]], left=(0, 2)) == "      n  what\nall  10  x"


def test_lines_that_are_too_wide_have_numbers_and_what_their_words_say_stands_above() -> None:
    lines = [["program", "EM", "F1", "state"], ["a" * 12, "50.0", "60.0", "complete"], ["b", "40.0", "50.0", "x " * 9]]
    assert fitted(lines, [0, 3], None) == fitted(lines, [0, 3], 60) == align(lines, [0, 3])
    assert fitted(lines, [0, 3], 20).splitlines() == [
        f"1: {'a' * 12},",
        "state complete",
        "2: b, state x x x x",
        "x x x x x",
        "",
        "     EM    F1",
        "1  50.0  60.0",
        "2  40.0  50.0",
    ]


def test_no_name_makes_lines_of_its_own() -> None:
    forged = "x\nINCOMPLETE: 1\u2028all 9"
    rows = [a_row(forged, scores={"em": 1.0}, type=forged, error=forged)]
    manifest = a_manifest(task=forged, program=forged, lm=forged, metrics=["em"])
    text = table(summarise(rows, 1, manifest)) + question_text(rows[0], {})
    assert not [line for line in text.splitlines() if line.startswith(("INCOMPLETE", "all 9"))]
