import threading
from pathlib import Path

import pytest

from retrieval.bm25 import BM25
from retrieval.sample import load_sample

QUERY = "Which arch did Eero Saarinen design?"


def found() -> list[str]:
    return [passage.id for passage in load_sample()(QUERY, 3)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_index_is_made_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = found()
    assert len(first) == 3
    monkeypatch.setattr(BM25, "build", None)
    assert found() == first


def test_a_damaged_index_is_made_anew(home: Path) -> None:
    first = found()
    path = load_sample().path
    (path / "vocab.index.json").write_bytes(b"")
    assert found() == first
    assert load_sample().path == path
    assert (path / "vocab.index.json").stat().st_size


def test_a_home_that_cannot_be_written_is_left_alone(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = found()
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert found() == first


def test_many_at_once_find_the_same(home: Path) -> None:
    results: list[list[str]] = []
    together = threading.Barrier(4, timeout=30)

    def load() -> None:
        together.wait()
        results.append(found())

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert results == [results[0]] * 4
    (kept,) = (home / ".cache" / "dspy-odqa").iterdir()
    assert kept == load_sample().path
