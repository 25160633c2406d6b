from decimal import Decimal

import pytest

import programs
from eval.papers.measuring import load_metric
from eval.papers.setup import program_of, settings_of
from eval.papers.tables import PAPERS, Table, TableRow, all_tables, choose, find, paper, parse
from eval.tasks import choose as choose_task
from programs.steps.settings import check
from retrieval import Memory, UsageError

LISTED = [
    *(f"blendfilter:table{n}" for n in range(1, 6)),
    *(f"blendfilter:fig{n}" for n in range(2, 5)),
    *(f"qpaug:table{n}" for n in range(2, 8)),
    *(f"qpaug:fig{n}" for n in range(2, 4)),
    *(f"chain_of_rewrite:table{n}" for n in range(1, 5)),
    "chain_of_rewrite:fig6",
    *(f"migres:table{n}" for n in range(1, 11)),
]


def test_all_tables_and_figures_are_there() -> None:
    assert [table.name for table in all_tables()] == LISTED
    assert len(LISTED) == 31


@pytest.mark.parametrize("name", LISTED)
def test_every_row_can_be_run(name: str) -> None:
    table, known = find(name), paper(name.partition(":")[0])
    assert table.rows
    assert any(column.task for column in table.columns)
    assert len({row.name for row in table.rows}) == len(table.rows)
    assert len({column.name for column in table.columns}) == len(table.columns)
    for row in table.rows:
        assert {*row.settings, *row.needs} <= settings_of(row.program).keys(), row
        program = program_of(row.program)
        check(program.__init__, row.name, {**table.settings, **row.settings})
    assert {row.reader for row in table.rows} | {row.planner for row in table.rows} <= {None, *known.lms}
    assert {row.retriever for row in table.rows} <= {"none", "oracle", *known.retrievers}
    assert {len(row.figures) for row in table.rows} == {len(table.columns)}
    tasks = {column.name: column.task for column in table.columns}
    for column in table.columns:
        measures = (column.metric, column.ratio, column.total, column.count, column.reported)
        computed = [how for how in (column.gain, column.mean) if how is not None]
        there = len([measure for measure in measures if measure is not None]), len(computed)
        assert there == ((1, 0) if column.task else (0, 1)), column
        assert {*column.rests_on()} <= tasks.keys()
        assert column.gain is None or column.gain.of in {row.name for row in table.rows}
        assert column.mean is None or len({tasks[name] for name in column.mean}) == len(column.mean)
        if column.task:
            task, variant = choose_task(column.task)
            assert variant in task.variants
        if column.metric and not column.metric.startswith("acc_judge"):
            assert load_metric(column.metric)


@pytest.mark.parametrize("name", PAPERS)
def test_no_role_of_a_paper_is_left_over(name: str) -> None:
    rows = [row for table in paper(name).tables for row in table.rows]
    assert {*paper(name).lms} == {role for row in rows for role in (row.reader, row.planner)} - {None}
    assert {*paper(name).retrievers} == {row.retriever for row in rows} - {"none", "oracle"}


def row_of(table: str, name: str) -> TableRow:
    (row,) = (row for row in find(table).rows if row.name == name)
    return row


@pytest.mark.parametrize(
    ("table", "row", "column", "figure"),
    [
        ("blendfilter:table1", "BlendFilter", 0, "0.508"),
        ("blendfilter:table1", "CoT", 4, "0.396"),
        ("blendfilter:table1", "Direct", 3, "0.318"),
        ("blendfilter:table2", "ITER-RETEGEN", 4, "0.3551"),
        ("blendfilter:table3", "CoT, without retrieval", 7, "-0.3"),
        ("qpaug:table7", "Contriever + Pgen", 0, "29.7"),
        ("qpaug:table5", "ANCE", 2, "43.6"),
        ("chain_of_rewrite:table3", "Chain-of-Rewrite", 0, "59.80"),
        ("migres:table1", "Extraction", 8, "74.2"),
        ("migres:table5", "w SUMM", 5, "1898"),
        ("migres:table10", "First search", 11, "-3"),
    ],
)
def test_figures_are_the_papers_with_all_their_digits(table: str, row: str, column: int, figure: str) -> None:
    assert str(row_of(table, row).figures[column]) == figure


def roles(row: TableRow) -> tuple[str | None, str | None, str]:
    return row.reader, row.planner, row.retriever


def test_rows_name_the_lms_and_the_retriever_that_the_paper_has_for_them() -> None:
    assert roles(row_of("blendfilter:table5", "w/o q, BM25")) == ("gpt-3.5-turbo-instruct", None, "bm25")
    assert roles(row_of("blendfilter:fig2", "BlendFilter, ColBERTv2")) == ("gpt-3.5-turbo-instruct", None, "colbertv2")
    assert roles(row_of("qpaug:table3", "LLaMA-2-7b-chat, ANCE + QPaug")) == ("llama-2-7b-chat", "gpt-4", "ance")
    assert roles(row_of("qpaug:table4", "SBERT + Qaug by LLaMA-2-70b-chat")) == (None, "llama-2-70b-chat", "sbert")
    assert roles(row_of("qpaug:fig3", "QPaug, 10 passages, GPT-3.5")) == ("gpt-3.5", None, "sbert")
    rewritten = row_of("chain_of_rewrite:table1", "Chain-of-Rewrite (Reader=GPT-3.5-Turbo)")
    assert roles(rewritten) == ("gpt-3.5-turbo", "vicuna-13b", "bm25")
    assert roles(row_of("migres:table3", "MIGRES*, oracle corpus")) == ("gpt-3.5-1106", None, "oracle")
    assert roles(row_of("migres:table9", "MIGRES, Mixture")) == ("gpt-3.5-1106", None, "mixture")


@pytest.mark.parametrize("name", ["qpaug", "chain_of_rewrite"])
def test_papers_that_are_zero_shot_show_no_demonstrations(name: str) -> None:
    assert {row.demonstrations for table in paper(name).tables for row in table.rows} == {"none"}


def test_what_the_question_alone_finds_is_ranked_to_the_same_depth_in_both_tables() -> None:
    alone = [row for row in find("chain_of_rewrite:table4").rows if row.program == "chain_of_rewrite"]
    without = row_of("chain_of_rewrite:table2", "w/o chain-of-rewrite question")
    table = find("chain_of_rewrite:table4")
    depths = {table.settings_for(row, "nq", {}).get("m") for row in alone} | {without.settings.get("m")}
    assert depths == {100}


def test_migres_counts_answers_of_each_data_set_as_its_authors_do() -> None:
    columns = [column for table in paper("migres").tables for column in table.columns]
    judged = {"nq": "acc_judge_cover", "triviaqa": "acc_judge_cover", "strategyqa": "migres_em"}
    for column in columns:
        task = (column.task or "").partition(":")[0]
        if column.metric in ("acc_judge", "acc_judge_cover") or column.name == "StrategyQA Acc":
            assert column.metric == judged.get(task, "acc_judge"), column.name


def test_what_a_row_needs_and_shows() -> None:
    assert row_of("chain_of_rewrite:table4", "BM25 + UPR").needs == ("upr",)
    assert row_of("migres:table8", "MIGRES*").demonstrations == "required"
    assert row_of("migres:table5", "w SUMM").demonstrations == "none"
    assert {row.demonstrations for table in paper("blendfilter").tables for row in table.rows} == {3}
    assert row_of("blendfilter:fig4", "CoT, three answers").top_p == (0.0, 0.5, 1.0)
    threshold = find("migres:table6").settings["threshold"]
    assert (threshold, type(threshold)) == (1.0, float)
    assert find("migres:table3").settings_by_task["strategyqa"] == {"style": "yesno", "preset": "commonsense"}


def test_refuses_a_table_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="lists them"):
        find("blendfilter:table9")


@pytest.mark.parametrize("name", PAPERS)
def test_a_planner_has_predictors_of_its_own(name: str) -> None:
    tables = paper(name).tables
    for program, predictors in tables[0].planners.items():
        there = {key.partition(".")[0] for key, _ in programs.load(program)(Memory([])).named_predictors()}
        assert {*predictors} < there
    planned = {row.program for table in tables for row in table.rows if row.planner} - {"direct"}
    assert planned == {*tables[0].planners}


def names(tables: list[Table]) -> list[tuple[str, list[str], list[str]]]:
    return [(t.name, [row.name for row in t.rows], [column.name for column in t.columns]) for t in tables]


def test_rows_and_columns_are_chosen_by_name_or_part_of_a_name() -> None:
    tables = [find("migres:table3"), find("migres:table4")]
    assert choose(tables, [], []) == tables
    assert names(choose(tables, ["MIGRES", "ask"], ["nq em"])) == [("migres:table3", ["MIGRES", "Self-Ask"], ["NQ EM"])]
    (gains,) = choose([find("blendfilter:table1")], ["ReAct"], ["StrategyQA IMP"])
    assert names([gains]) == [("blendfilter:table1", ["ReAct"], ["StrategyQA Accuracy", "StrategyQA IMP"])]
    assert gains.rows[0].figures == (Decimal("0.658"), Decimal("13.1"))
    (costs,) = choose(tables, ["iter_"], ["NQ", "WikiHop # API"])
    assert names([costs]) == [
        ("migres:table4", ["ITER_RETGEN"], ["WikiHop # API", "NQ # API", "NQ # Iter", "NQ # Passages"])
    ]
    assert costs.rows[0].figures == (Decimal("2.0"), None, None, None)
    assert names(choose(tables, ["Self"], ["Acc", "# Iter"]))[1][1:] == (
        ["Self-Ask"],
        ["WikiHop # Iter", "Hotpot # Iter", "Musique # Iter", "NQ # Iter", "TriviaQ # Iter", "StrategyQA # Iter"],
    )


@pytest.mark.parametrize(
    ("rows", "columns", "complaint"),
    [
        (["Selfask"], [], "there is no row 'Selfask'; there are: .*Self-Ask; "),
        ([], ["NQ", "XY"], "there is no column 'XY'; there are: .*NQ # Iter; "),
        (["SUMM"], ["# API"], "no table has both such a row and such a column"),
    ],
)
def test_an_unknown_row_or_column_is_refused(rows: list[str], columns: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        choose([find("migres:table3"), find("migres:table4")], rows, columns)


SHORT = """
source = "Somebody, Something, 2024"
lms = ["small", "large"]
retrievers = ["bm25"]

[columns]
"two figures" = [
  { name = "EM", task = "nq:qpaug", metric = "em" },
  { name = "IMP", unit = "%", gain = { of = "Two", column = "EM" } },
]

[tables.table1]
title = "A table"
lm = "a small one"
corpus = "BM25"
scale = 100
reader = "small"
retriever = "bm25"
columns = ["two figures", { name = "# API", task = "nq:qpaug", count = "lm_calls" }]
rows = [
  { name = "One", figures = [1.50, "-", 3], program = "direct" },
  { name = "Two",                           program = "direct", reader = "large", settings = { k = 3 } },
]
"""


def short(old: str = "", new: str = "") -> Table:
    assert old in SHORT
    (table,) = parse("short", SHORT.replace(old, new)).tables
    return table


def test_columns_by_name_and_what_holds_for_all_rows_of_a_table() -> None:
    table = short()
    assert (table.name, table.source) == ("short:table1", "Somebody, Something, 2024")
    assert [column.name for column in table.columns] == ["EM", "IMP", "# API"]
    assert [str(figure) for figure in table.rows[0].figures] == ["1.50", "None", "3"]
    assert table.rows[1].figures == (None, None, None)
    assert [roles(row) for row in table.rows] == [("small", None, "bm25"), ("large", None, "bm25")]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"lm_calls"', '"calls"', "lm_calls"),
        ('["two figures",', '["few figures",', "no columns named 'few figures'"),
        ("settings = {", "setting = {", "Extra inputs are not permitted"),
        ("scale = 100", "scale = 10", "scale"),
        ('"-"', '"?"', "figures"),
    ],
)
def test_mistakes_in_a_file_are_refused(old: str, new: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        short(old, new)
