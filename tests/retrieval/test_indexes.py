"""What indexes on disk have in common."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import Passage, RetrievalError, UsageError
from retrieval.descriptions import read_description, write_description
from retrieval.indexes import (
    CORPUS,
    Corpus,
    Lines,
    LineWriter,
    building,
    building_directory,
    check_target,
    checked_passages,
    kept_rows,
    passage_line,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.builds(Passage, id=texts, text=texts, title=texts), st.floats(allow_nan=False))
def test_a_passage_comes_back_from_a_corpus(passage: Passage, score: float) -> None:
    with TemporaryDirectory() as directory:
        with LineWriter(Path(directory) / CORPUS) as writer:
            writer.write(passage_line(passage))
            writer.write(passage_line(Passage("last", "")))
        corpus = Corpus(Path(directory))
        back = corpus.passage(0, score)
        assert (back.id, back.text, back.title, back.score) == (passage.id, passage.text, passage.title, score)
        assert (len(corpus), corpus.passage(1).id) == (2, "last")


def test_a_passage_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(UsageError, match="passage 'a' is not valid Unicode"):
        passage_line(Passage("a", "\ud800"))


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
    assert list(checked_passages(good)) == good
    with pytest.raises(UsageError, match="two passages have the id 'a': ids must differ"):
        list(checked_passages([*good, Passage("a", "y")]))
    with pytest.raises(UsageError, match="passage 'c' has no text"):
        list(checked_passages([*good, Passage("c", " \n", "title")]))


def test_rows_that_are_kept(tmp_path: Path) -> None:
    with LineWriter(tmp_path / CORPUS) as writer:
        for name in "abcd":
            writer.write(passage_line(Passage(name, "x")))
    corpus = Corpus(tmp_path)
    assert kept_rows(corpus, []).tolist() == [0, 1, 2, 3]
    assert kept_rows(corpus, iter(["c", "a", "c"])).tolist() == [1, 3]
    with pytest.raises(UsageError, match=r"no passage with the id 'x', 'y': nothing was deleted"):
        kept_rows(corpus, ["y", "a", "x"])


class TestDescription:
    def test_what_was_written_is_read_with_the_sizes_of_the_files(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_bytes(b"12345")
        write_description(tmp_path, "about.json", {"format": 3, "k": "é"})
        found = read_description(tmp_path, "about.json", "toy", 3)
        assert found.items() >= {"format": 3, "k": "é", "files": {"data": 5}}.items()

    @pytest.mark.parametrize("size", [None, 4, 6])
    def test_a_file_of_another_size_is_damage(self, tmp_path: Path, size: int | None) -> None:
        (tmp_path / "data").write_bytes(b"12345")
        write_description(tmp_path, "about.json", {"format": 3})
        (tmp_path / "data").unlink()
        if size:
            (tmp_path / "data").write_bytes(b"x" * size)
        said = rf"data is damaged: build the index again \({size or 0} bytes instead of 5\)"
        with pytest.raises(RetrievalError, match=said):
            read_description(tmp_path, "about.json", "toy", 3)

    def test_what_is_no_index_is_told_apart(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="there is no toy index in"):
            read_description(tmp_path / "none", "about.json", "toy", 3)
        with pytest.raises(UsageError, match="is no toy index, or its build was not finished"):
            read_description(tmp_path, "about.json", "toy", 3)
        write_description(tmp_path, "about.json", {"format": 2})
        with pytest.raises(UsageError, match="has index format 2, this version reads 3"):
            read_description(tmp_path, "about.json", "toy", 3)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\xff"])
    def test_a_damaged_page_is_damage(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "about.json").write_text(text, encoding="latin-1")
        with pytest.raises(RetrievalError, match=r"about\.json is damaged: build the index again"):
            read_description(tmp_path, "about.json", "toy", 3)


class TestBuilding:
    def test_the_work_of_a_failed_build_stays_and_that_of_a_good_one_goes(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError), building(tmp_path / "new" / "index") as work:
            shutil.copytree(work, work / "done").unlink()
        with building(tmp_path / "new" / "index") as work:
            assert work == building_directory(tmp_path / "new" / "index")
            assert (work / "done").exists()
        assert list((tmp_path / "new").iterdir()) == []

    def test_two_builds_do_not_mix(self, tmp_path: Path) -> None:
        with building(tmp_path / "index"), pytest.raises(UsageError, match="in use: another process is building"):
            building(tmp_path / "index").__enter__()

    def test_only_an_index_of_the_same_kind_is_overwritten_and_only_if_asked(self, tmp_path: Path) -> None:
        check_target(tmp_path / "none", "toy.json", "toy", False)
        with pytest.raises(UsageError, match="exists: choose another directory, or say --overwrite"):
            check_target(tmp_path, "toy.json", "toy", False)
        with pytest.raises(UsageError, match="exists and is no toy index, so it is not overwritten"):
            check_target(tmp_path, "toy.json", "toy", True)
        (tmp_path / "toy.json").touch()
        check_target(tmp_path, "toy.json", "toy", True)
