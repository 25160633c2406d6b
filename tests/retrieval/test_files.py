"""What indexes on disk have in common."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import Passage, RetrievalError, UsageError
from retrieval.files import (
    Lines,
    LineWriter,
    checked,
    from_line,
    json_line,
    json_page,
    locked,
    publish,
    read_about,
    replaced,
    to_line,
    write_about,
    write_whole,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.builds(Passage, id=texts, text=texts, title=texts), st.floats(allow_nan=False))
def test_a_passage_comes_back_from_its_line(passage: Passage, score: float) -> None:
    line = to_line(passage)
    back = from_line(line, score)
    assert (back.id, back.text, back.title, back.score) == (passage.id, passage.text, passage.title, score)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


def test_a_passage_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(UsageError, match="passage 'a' is not valid Unicode"):
        to_line(Passage("a", "\ud800"))


def test_lines_are_found_by_number(tmp_path: Path) -> None:
    written = [b"a\n", b"\n", "é…\n".encode(), b"no end"]
    with LineWriter(tmp_path / "lines") as writer:
        for line in written:
            writer.write(line)
    lines = Lines(tmp_path / "lines")
    assert len(lines) == 4
    assert [lines[n] for n in range(4)] == written
    assert (tmp_path / "lines").read_bytes() == b"".join(written)


def test_unfit_passages_are_refused_when_they_come() -> None:
    good = [Passage("a", "x"), Passage("b", "x")]
    assert list(checked(good)) == good
    with pytest.raises(UsageError, match="two passages have the id 'a': ids must differ"):
        list(checked([*good, Passage("a", "y")]))
    with pytest.raises(UsageError, match="passage 'c' has no text"):
        list(checked([*good, Passage("c", " \n", "title")]))


class TestWrittenWhole:
    def test_what_was_there_is_replaced_when_the_block_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        write_whole(path, b"old")
        with replaced(path) as file:
            file.write(b"new")
            assert path.read_bytes() == b"old"
        assert path.read_bytes() == b"new"
        assert [file.name for file in tmp_path.iterdir()] == ["file"]

    def test_an_error_leaves_what_was_there_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        write_whole(path, "é")
        with pytest.raises(TypeError), replaced(path) as file:
            file.writelines([b"half", None])  # type: ignore[list-item]
        assert path.read_text(encoding="utf-8") == "é"
        assert [file.name for file in tmp_path.iterdir()] == ["file"]

    def test_what_a_killed_writer_left_is_in_nobodys_way(self, tmp_path: Path) -> None:
        (tmp_path / "file.part").write_bytes(b"much more than what is written now")
        write_whole(tmp_path / "file", b"new")
        assert (tmp_path / "file").read_bytes() == b"new"
        assert not (tmp_path / "file.part").exists()

    def test_errors_of_the_disk_pass_through(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            write_whole(tmp_path / "none" / "file", b"")


@pytest.mark.parametrize("value", [{"a": ["é…", None, 1.5]}, "two\nlines\u2028", {"\ud800": "before \udfff after"}])
def test_json_comes_back_from_lines_and_pages_even_with_lone_surrogates(value: object) -> None:
    line = json_line(value)
    assert json.loads(line) == json.loads(json_page(value)) == value
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


def test_only_one_process_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from retrieval.files import locked\n"
        "with locked(Path(sys.argv[1]), 'in use'): print('got it')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with locked(tmp_path / "lock", "in use"):
        other = subprocess.run(command, capture_output=True, text=True)
        assert "UsageError: in use" in other.stderr
    assert subprocess.run(command, capture_output=True, text=True).stdout == "got it\n"


class TestAbout:
    def test_what_was_written_is_read_with_the_sizes_of_the_files(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_bytes(b"12345")
        write_about(tmp_path, "about.json", {"format": 3, "k": "é"})
        assert read_about(tmp_path, "about.json", "toy", 3) == {"format": 3, "k": "é", "files": {"data": 5}}

    @pytest.mark.parametrize("size", [None, 4, 6])
    def test_a_file_of_another_size_is_damage(self, tmp_path: Path, size: int | None) -> None:
        (tmp_path / "data").write_bytes(b"12345")
        write_about(tmp_path, "about.json", {"format": 3})
        (tmp_path / "data").unlink()
        if size:
            (tmp_path / "data").write_bytes(b"x" * size)
        with pytest.raises(
            RetrievalError, match=f"data is damaged, {size or 0} bytes instead of 5: build the index again"
        ):
            read_about(tmp_path, "about.json", "toy", 3)

    def test_what_is_no_index_is_told_apart(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="there is no toy index in"):
            read_about(tmp_path / "none", "about.json", "toy", 3)
        with pytest.raises(UsageError, match="is no toy index, or one whose build was not finished"):
            read_about(tmp_path, "about.json", "toy", 3)
        write_about(tmp_path, "about.json", {"format": 2})
        with pytest.raises(UsageError, match="has index format 2, this version reads 3"):
            read_about(tmp_path, "about.json", "toy", 3)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\xff"])
    def test_a_damaged_page_is_damage(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "about.json").write_text(text, encoding="latin-1")
        with pytest.raises(RetrievalError, match=r"about\.json is damaged: build the index again"):
            read_about(tmp_path, "about.json", "toy", 3)


def test_publishing_replaces_a_directory_whole(tmp_path: Path) -> None:
    out, building = tmp_path / "index", tmp_path / "index.building"
    for content in "old", "new":
        building.mkdir()
        (building / content).write_text(content)
        publish(building, out)
        assert [file.name for file in out.iterdir()] == [content]
        assert [file.name for file in tmp_path.iterdir()] == ["index"]
