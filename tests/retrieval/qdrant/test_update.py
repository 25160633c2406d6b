"""Adding passages to a collection and deleting them: only these points are touched."""

from pathlib import Path

import pytest
from support.colbert_sample import DOC_MAXLEN, PASSAGES

from retrieval import Passage, UsageError
from retrieval.indexes import DuplicateId
from retrieval.qdrant import Qdrant
from retrieval.qdrant.connection import Connection
from retrieval.qdrant.description import fingerprint


def test_dense_and_colbert_are_as_after_a_new_build(tmp_path: Path, encoder: str, checkpoint: Path) -> None:
    settings = {"encoder": encoder, "checkpoint": checkpoint, "doc_maxlen": DOC_MAXLEN, "device": "cpu"}
    fresh, changed = tmp_path / "fresh", tmp_path / "changed"
    Qdrant.build(PASSAGES[3:8], fresh, **settings)
    Qdrant.build(PASSAGES[:6], changed, **settings)
    Qdrant(changed).update(delete=[p.id for p in PASSAGES[:3]], add=PASSAGES[6:8], batch_size=1)
    for search in "dense", "colbert":
        found, expected = (Qdrant(out, search=search)("a city on the river", 20) for out in (changed, fresh))
        assert [(p.id, p.score) for p in found] == [(p.id, pytest.approx(p.score, rel=1e-3)) for p in expected]
        assert len(found) == 5


def test_bm25_keeps_the_statistics_of_the_build(tmp_path: Path) -> None:
    passages = [Passage("a", "cats chase mice"), Passage("b", "dogs chase cats"), Passage("c", "mice sleep")]
    index = Qdrant.build(passages, tmp_path / "index")
    before = {p.id: p.score for p in index("mice", 5)}
    updated = index.update(add=[Passage("d", "cats chase mice"), Passage("e", "zebras sleep")], delete=["b"])
    after = {p.id: p.score for p in updated("mice", 5)}
    assert after == before | {"d": before["a"]}
    assert [p.id for p in updated("zebras", 5)] == ["e"]
    assert (len(updated), sorted(updated.ids())) == (4, ["a", "c", "d", "e"])


def test_what_cannot_be_changed_is_said_and_nothing_is_changed(tmp_path: Path) -> None:
    index = Qdrant.build(PASSAGES[:3], tmp_path / "index")
    with pytest.raises(UsageError, match="no passage with the id 'none': nothing was deleted"):
        index.update(delete=[PASSAGES[0].id, "none"])
    with pytest.raises(UsageError, match="no passage would be left"):
        index.update(delete=[p.id for p in PASSAGES[:3]])
    with pytest.raises(DuplicateId):
        index.update(add=[Passage(PASSAGES[0].id, "another text")])
    assert [index.passage(row) for row in range(len(index))] == PASSAGES[:3]


def test_a_change_shows_in_the_fingerprint(tmp_path: Path) -> None:
    def seen() -> str:
        return fingerprint(Connection(tmp_path / "index", "passages"))

    index = Qdrant.build(PASSAGES[:3], tmp_path / "index")
    first = seen()
    assert seen() == first
    index.update(delete=[PASSAGES[0].id]).update(add=[PASSAGES[0]])
    assert seen() != first
