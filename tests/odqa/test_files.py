"""Files written whole or not at all, JSON lines and locks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from odqa import files
from odqa.errors import RetrievalError, UsageError
from odqa.files import (
    json_line,
    json_page,
    locked,
    read_json,
    read_whole,
    replace_directory,
    replaced,
    resolved,
    undamaged,
    write_whole,
)


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
        "import sys; from pathlib import Path; from odqa.files import locked\n"
        "with locked(Path(sys.argv[1]), 'in use'): print('got it')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with locked(tmp_path / "lock", "in use"):
        other = subprocess.run(command, capture_output=True, text=True)
        assert "UsageError: in use" in other.stderr
    assert subprocess.run(command, capture_output=True, text=True).stdout == "got it\n"


def test_a_lock_that_was_removed_meanwhile_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    monkeypatch.setattr("fcntl.flock", lambda file, how: path.unlink())  # as whoever had it does when it ends
    with pytest.raises(UsageError, match="in use"), locked(path, "in use"):
        raise AssertionError("not reached")


def test_a_directory_is_replaced_whole(tmp_path: Path) -> None:
    out, building = tmp_path / "index", tmp_path / "index.building"
    for content in "old", "new":
        building.mkdir()
        (building / content).write_text(content)
        replace_directory(out, building)
        assert [file.name for file in out.iterdir()] == [content]
        assert [file.name for file in tmp_path.iterdir()] == ["index"]


class TestWhatHoldsAnything:
    def test_a_pipe_and_a_device_are_refused_at_once(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for path in (pipe, Path(os.devnull)):
            with pytest.raises(OSError, match="it is no regular file"):
                read_whole(path)

    def test_a_file_that_no_memory_holds_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "_LARGEST", 3)
        (tmp_path / "file").write_bytes(b"abc")
        assert read_whole(tmp_path / "file") == b"abc"
        (tmp_path / "file").write_bytes(b"abcd")
        with pytest.raises(OSError, match="it is larger than 3 bytes"):
            read_whole(tmp_path / "file")

    def test_links_that_lead_back_to_themselves_are_a_path(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        assert resolved(tmp_path / "loop") == tmp_path.resolve() / "loop"


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"[1]", b'"text"', b'{"a": ', b"\xff"])
    def test_what_is_no_json_object_is_damaged_in_one_line(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(RetrievalError, match=r"file is damaged: fetch it again \(.+\)$") as caught:
            read_json(tmp_path / "file", "fetch it again")
        assert "\n" not in str(caught.value)

    def test_a_json_object_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b'{"a": [1]}')
        assert read_json(tmp_path / "file") == {"a": [1]}

    def test_an_error_of_ours_stays_what_it_is(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="say more"), undamaged(tmp_path):
            raise UsageError("say more")
