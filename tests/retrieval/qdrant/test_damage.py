"""A wrong bit or a missing end in a directory of Qdrant: a clear error, or an answer."""

import shutil
from pathlib import Path

import pytest
from support.damaged_indexes import attacked, mixed, verify_all
from support.word_passages import PASSAGES

from retrieval import RetrievalError, UsageError
from retrieval.qdrant import Qdrant


def test_a_damaged_collection_is_said_or_answers(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES, tmp_path / "whole")
    assert attacked(tmp_path / "whole", tmp_path / "index", Qdrant) > 190  # opening reads all


def test_files_of_two_builds_do_not_fit_together(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES, tmp_path / "one")
    Qdrant.build(PASSAGES[:-1], tmp_path / "other")
    assert mixed(tmp_path / "one", tmp_path / "other", tmp_path / "index", Qdrant) == 3


def test_checksums_are_of_the_last_whole_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Qdrant.build(PASSAGES, tmp_path / "index").update(delete=[PASSAGES[0].id])
    verify_all(tmp_path / "index")
    assert len(Qdrant(tmp_path / "index")) == len(PASSAGES) - 1
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.qdrant.build._read_statistics", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.update(add=[PASSAGES[0]])
    with pytest.raises(UsageError, match=r"there is no index in .* whose files could be checked"):
        verify_all(tmp_path / "index")
    Qdrant(tmp_path / "index").update(add=[PASSAGES[0]])
    verify_all(tmp_path / "index")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["meta.json", "collection/passages/storage.sqlite"])
def test_a_file_that_is_something_else_is_said(name: str, tmp_path: Path) -> None:
    Qdrant.build(PASSAGES[:3], tmp_path / "whole")
    contents = [b"", b"[]", b"3", b'{"a": {}}', b"[" * 99_999, "a directory", "gone"]
    for number, content in enumerate(contents):
        index = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", index)
        file = index / name
        file.unlink()
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content == "a directory":
            file.mkdir()
        with pytest.raises((RetrievalError, UsageError)) as error:
            Qdrant(index)
        assert "\n" not in str(error.value)
