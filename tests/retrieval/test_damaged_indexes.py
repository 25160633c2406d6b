"""Indexes with a wrong bit, or of which a part is missing: a clear error, or an answer, and never another exception."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.command_line import exit_code
from support.damaged_indexes import attacked, found
from support.hostile_pickle import Hostile
from support.word_passages import PASSAGES

from retrieval import Passage, RetrievalError, UsageError
from retrieval.__main__ import main
from retrieval.bm25 import BM25, search
from retrieval.descriptions import verify
from retrieval.indexes import read_array


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("indexes") / "bm25"
    BM25.build(PASSAGES, out)
    return out


@pytest.mark.needs("numba")
def test_compiled_code_stays_within_damaged_arrays(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_BY_NUMPY", "_FEW"):
        monkeypatch.setattr(search, name, 0)
    whole = tmp_path_factory.mktemp("many") / "bm25"
    BM25.build([Passage(f"{p.id}-{n}", p.text, p.title) for n in range(20) for p in PASSAGES], whole)
    assert attacked(whole, tmp_path / "bm25", BM25) > 60


def test_an_index_is_verified(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(whole, tmp_path / "index")
    assert exit_code(main, ["verify", str(tmp_path / "index")]) == 0
    size = sum(file.stat().st_size for file in whole.iterdir() if file.name != "bm25.json")
    assert json.loads(capsys.readouterr().out) == {"index": str(tmp_path / "index"), "bytes": size}
    corpus = tmp_path / "index" / "corpus.jsonl"
    corpus.write_bytes(corpus.read_bytes().replace(b"a", b"b", 1))
    BM25(tmp_path / "index")  # sizes are as they were
    assert exit_code(main, ["verify", str(tmp_path / "index")]) == 2
    assert "corpus.jsonl is damaged: build the index again" in capsys.readouterr().err


def test_each_shard_is_verified(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["shard", f"bm25:{whole}", "--out", str(tmp_path / "shards"), "--shards", "2"]) == 0
    capsys.readouterr()
    assert exit_code(main, ["verify", str(tmp_path / "shards")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    (tmp_path / "shards" / "1" / "bounds.npy").write_bytes(b"")
    assert exit_code(main, ["verify", str(tmp_path / "shards")]) == 2


def test_an_index_from_before_carries_no_checksums_and_says_so(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "index")
    description = json.loads((whole / "bm25.json").read_text())
    older = {name: value for name, value in description.items() if not name.startswith("sha256")}
    (tmp_path / "index" / "bm25.json").write_text(json.dumps(older))
    assert found(BM25(tmp_path / "index")) == found(BM25(whole))
    with pytest.raises(UsageError, match="carries no checksums"):
        verify(tmp_path / "index")
    with pytest.raises(UsageError, match="there is no index in"):
        verify(tmp_path)


def test_an_array_that_claims_to_be_huge_takes_no_memory(tmp_path: Path) -> None:
    described = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }".ljust(117)
    (tmp_path / "array.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + described + b"\n" + bytes(64))
    for mapped in True, False:
        with pytest.raises(RetrievalError, match=r"array.npy is damaged"):
            read_array(tmp_path / "array.npy", mapped=mapped)


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.array([Hostile(tmp_path / "harm")], object), allow_pickle=True)
    with pytest.raises(RetrievalError, match=r"array.npy is damaged"):
        read_array(tmp_path / "array.npy")
    assert not (tmp_path / "harm").exists()


def test_an_array_of_another_type_or_shape_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "array.npy"
    np.save(file, np.zeros((2, 3), np.float32))
    assert read_array(file, np.float32, (None, 3)).shape == (2, 3)
    with pytest.raises(RetrievalError, match=r"array.npy is damaged: .* \(its numbers are float32, not int64\)"):
        read_array(file, np.int64, (None, 3))
    for shape in ((None,), (2, 4), (2, 3, None)):
        with pytest.raises(RetrievalError, match=r"array.npy is damaged: .* \(its shape is \(2, 3\)\)"):
            read_array(file, np.float32, shape)
