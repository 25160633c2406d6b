from decimal import Decimal

import pytest

from eval.papers.measuring import Measured
from eval.papers.printing import beside, listing, show
from eval.papers.running import Cell, TableRun
from eval.papers.tables import Table, all_tables, find


def test_the_listing_has_every_table_with_its_rows() -> None:
    lines = [line.split(maxsplit=2) for line in listing().splitlines()]
    for table in all_tables():
        assert [table.name, str(len(table.rows)), table.title] in lines


@pytest.mark.parametrize("table", all_tables(), ids=lambda table: table.name)
def test_a_table_is_shown_with_its_title_and_all_rows(table: Table) -> None:
    shown = show(table).splitlines()
    assert shown[0].startswith(f"{table.name}: {table.title} (")
    scored = any(column.metric for column in table.columns)
    assert len(shown) == 5 + len(table.rows) + bool(table.note) + scored


def test_figures_are_shown_as_the_paper_has_them() -> None:
    shown = [line.split() for line in show(find("blendfilter:table1")).splitlines()]
    assert ["BlendFilter", "0.508", "0.624", "-", "0.404", "0.470", "-", "0.744", "-"] in shown
    assert ["ReAct", "0.360", "0.475", "41.1%", "0.374", "0.450", "8.0%", "0.658", "13.1%"] in shown
    wins = show(find("migres:table10")).splitlines()[-1].split()
    assert (wins[5], wins[9], wins[-1]) == ("9/500", "26/500", "-3/200")
    assert show(find("blendfilter:fig4")).splitlines()[-1].split()[-2:] == ["-", "-"]


def test_the_heading_names_each_columns_metric() -> None:
    assert "Metrics: f1 (NQ); hotpot_f1 (2wiki, Hotpot)" in show(find("qpaug:table5")).splitlines()
    assert "Metrics: em (Exact Match); hotpot_f1 (F1)" in show(find("blendfilter:table4")).splitlines()


def test_the_papers_figures_beside_ours() -> None:
    table = find("migres:table5")
    row, (score, _, count, *_) = table.rows[0], table.columns
    cells = (
        Cell(row, score, Decimal("33.6"), Measured(40.06, 9, 31.25, 48.99), ""),
        Cell(row, count, Decimal("733"), Measured(712.346, 9), ""),
        Cell(row, count, None, None, "needs a judge"),
        Cell(row, score, None, None, "needs a judge"),
        Cell(table.rows[1], score, None, None, "needs a judge"),
    )
    printed = beside(TableRun(table, cells, ("LM: another",))).splitlines()
    lines = [line.split()[-5:] for line in printed if line.startswith("MIGRES  ")]
    assert lines[0] == ["33.6", "40.1", "[31.2,", "49.0]", "9"]
    assert lines[1][-3:] == ["733", "712.35", "9"]
    assert lines[2][-2:] == ["-", "-"]
    missing = f"  MIGRES; {table.rows[1].name}: needs a judge"
    assert printed[-5:] == ["Not run:", missing, "", "What differs from the paper:", "  LM: another"]


def test_scores_from_0_to_1_have_three_digits() -> None:
    table = find("blendfilter:table4")
    cell = Cell(table.rows[0], table.columns[0], Decimal("0.304"), Measured(0.5, 2, 0.0, 1.0), "")
    printed = beside(TableRun(table, (cell,), ()))
    assert printed.splitlines()[-1].split()[-4:] == ["0.500", "[0.000,", "1.000]", "2"]
    assert "Not run" not in printed
    assert "differs" not in printed


def test_a_gain_is_in_per_cent_whatever_the_scale() -> None:
    table = find("blendfilter:table1")
    (imp, *_) = (column for column in table.columns if column.gain)
    cells = [Cell(table.rows[0], imp, None, found, "") for found in (Measured(25, 9), Measured(25, 99, -3.14, 60))]
    lines = beside(TableRun(table, tuple(cells), ())).splitlines()[-2:]
    assert [line.split()[-2:] for line in lines] == [["25.0", "9"], ["60.0]", "99"]]
