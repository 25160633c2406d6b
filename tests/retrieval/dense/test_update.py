"""Changing dense indexes: only what is added is encoded, and the result is what a fresh build gives."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.word_passages import PASSAGES, scores

from retrieval import Passage, UsageError
from retrieval.dense import Dense

pytestmark = pytest.mark.needs("sentence_transformers", "faiss")


@pytest.mark.parametrize("approximate", [False, True])
def test_a_changed_index_is_what_a_fresh_build_gives(
    approximate: bool, encoder: str, encoded: list[str], tmp_path: Path
) -> None:
    settings = {"encoder": encoder, "approximate": approximate, "device": "cpu"}
    index = Dense.build(PASSAGES[:40], tmp_path / "index", **settings)
    encoded.clear()
    updated = index.update(add=PASSAGES[40:], delete=["id7", "id0", "id39"])
    assert encoded == [p.id for p in PASSAGES[40:]]
    left = [p for n, p in enumerate(PASSAGES) if n not in (0, 7, 39)]
    fresh = Dense.build(left, tmp_path / "fresh", **settings)
    assert (tmp_path / "index" / "corpus.jsonl").read_bytes() == (tmp_path / "fresh" / "corpus.jsonl").read_bytes()
    for query in "cat", "eiffel tower", "who sat on the mat":
        assert scores(updated(query, 50)) == pytest.approx(scores(fresh(query, 50)), rel=1e-4)
    assert len(index("cat", 50)) == 40  # the old one goes on
    assert len(updated.update(delete=["id1"])) == 46
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "index"]


def test_vectors_that_stay_are_the_same_to_the_bit(encoder: str, tmp_path: Path) -> None:
    index = Dense.build(PASSAGES[:10], tmp_path / "index", encoder=encoder, device="cpu")
    before = np.load(tmp_path / "index" / "vectors.npy")
    index.update(delete=["id4"], add=[Passage("id4", "another text")])
    after = np.load(tmp_path / "index" / "vectors.npy")
    assert (after[:9] == np.delete(before, 4, axis=0)).all()
    assert len(after) == 10


def test_an_update_that_broke_off_changes_nothing_and_goes_on(
    encoder: str, encoded: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Iterator[Passage]:
        yield from PASSAGES[10:18]
        raise KeyboardInterrupt

    monkeypatch.setattr("retrieval.dense.build._SHARD", 4)
    index = Dense.build(PASSAGES[:10], tmp_path / "index", encoder=encoder, device="cpu")
    encoded.clear()
    with pytest.raises(KeyboardInterrupt):
        index.update(add=broken())
    with pytest.raises(UsageError, match="two passages have the id 'id3'"):
        index.update(add=[PASSAGES[3]])
    assert len(Dense(tmp_path / "index", device="cpu")) == 10
    index.update(add=PASSAGES[10:20])
    assert encoded == [p.id for p in PASSAGES[10:20]]  # each once
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
