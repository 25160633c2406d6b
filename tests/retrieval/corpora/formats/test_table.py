"""CSV: which columns are used, and rows that are not as they should be."""

import csv
from pathlib import Path

import pytest

from retrieval.corpora.formats import Columns, Document, Unreadable
from retrieval.corpora.formats.table import table_sections

pytestmark = pytest.mark.needs("semantic_text_splitter")

USUAL = Columns()


def read(
    folder: Path, content: str, columns: Columns = USUAL, name: str = "t.csv"
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Title, text and id of each row; and the problems."""
    (folder / name).write_text(content, encoding="utf-8")
    document = Document(folder / name, name, columns)
    return [section[:3] for section in table_sections(document)], document.problems


def test_columns_are_found_by_their_usual_names(tmp_path: Path) -> None:
    assert read(tmp_path, 'ID,Title,other,Body\n1,One,x,"First,\n text."\n') == ([("One", "First, text.", "1")], [])


def test_columns_can_be_named(tmp_path: Path) -> None:
    table = "id,title,text,note\n1,One,First.,Better.\n"
    assert read(tmp_path, table, Columns("note", "text", "title")) == ([("First.", "Better.", "One")], [])
    assert read(tmp_path, table, Columns("", "", "")) == (
        [("t", "id: 1\ntitle: One\ntext: First.\nnote: Better.", "t.csv#2")],
        [],
    )
    with pytest.raises(Unreadable, match="has no column 'nope', left out: its columns are id, title, text, note"):
        read(tmp_path, table, Columns("nope"))


def test_without_a_text_column_all_others_are_the_text(tmp_path: Path) -> None:
    table = "name,price,colour\nChair,3,\nTable,5,red\n"
    assert read(tmp_path, table)[0] == [("Chair", "price: 3", "t.csv#2"), ("Table", "price: 5\ncolour: red", "t.csv#3")]


@pytest.mark.parametrize(("delimiter", "name"), [(";", "t.csv"), ("\t", "t.csv"), ("|", "t.csv"), ("\t", "t.tsv")])
def test_the_first_line_shows_what_parts_the_columns(tmp_path: Path, delimiter: str, name: str) -> None:
    table = f"id{delimiter}text\n1{delimiter}One, two.\n"
    assert read(tmp_path, table, name=name) == ([(Path(name).stem, "One, two.", "1")], [])


def test_rows_that_are_not_as_they_should_be_are_told(tmp_path: Path) -> None:
    found, problems = read(tmp_path, "id,text\n1,One.\n,Two.\n\n3,\n4\n5,Five.,more\n6,Six.,more\n")
    assert [id_ for _, _, id_ in found] == ["1", "t.csv#3", "5", "6"]
    assert problems == [
        "rows without an id, which get t.csv#LINE: 1, the first one in line 3",
        "rows without text, left out: 2, the first one in line 5",
        "rows with fewer cells than the first line, the others count as blank: 1, the first one in line 6",
        "rows with more cells than the first line, the last ones left out: 2, the first one in line 7",
    ]


def test_a_quote_that_does_not_end_swallows_nothing_in_silence(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="is damaged, left out from line 3 on: unexpected end of data"):
        read(tmp_path, 'id,text\n1,One.\n2,"Two.\n3,Three.\n')


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    found, problems = read(tmp_path, f"text\n{'word ' * 100_000}\n")
    assert (len(found[0][1]), problems) == (499_999, [])
    assert csv.field_size_limit() == before


def test_rows_that_are_much_shorter_than_the_first_line_take_no_longer_than_what_they_hold(tmp_path: Path) -> None:
    rows, problems = read(tmp_path, "," * 50_000 + "z\n" + "b\n" * 50_000)
    assert rows[:2] == [("t", ": b", "t.csv#2"), ("t", ": b", "t.csv#3")]
    assert (len(rows), len(problems)) == (50_000, 1)
