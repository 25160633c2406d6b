"""What indexes on disk have in common."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import Passage, RetrievalError, UsageError
from retrieval.files import Lines, LineWriter, checked, from_line, publish, read_about, to_line, write_about

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
