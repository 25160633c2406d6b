"""A wrong bit or a missing end in a directory of Qdrant: a clear error, or an answer."""

import shutil
from pathlib import Path

import pytest
from support.damaged_indexes import attacked
from support.word_passages import PASSAGES

from retrieval import RetrievalError, UsageError
from retrieval.qdrant import Qdrant


def test_a_damaged_collection_is_said_or_answers(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES, tmp_path / "whole")
    assert attacked(tmp_path / "whole", tmp_path / "index", Qdrant, verified=False) > 60


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
