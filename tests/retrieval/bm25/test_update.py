"""Changing BM25 indexes: what a fresh build gives, whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval import Passage, UsageError
from retrieval.bm25 import BM25

PASSAGES = [Passage(f"p{n}", f"river {'castle ' * (n % 3)}number{n}", ["", "Title"][n % 2]) for n in range(20)]
SETTINGS = {"k1": 1.2, "b": 0.75, "stemmer": None, "stop_words": ["of"]}


@pytest.fixture
def index(tmp_path: Path) -> BM25:
    return BM25.build(PASSAGES[:15], tmp_path / "index", **SETTINGS)


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_a_changed_index_is_to_the_byte_what_a_fresh_build_gives(index: BM25, tmp_path: Path) -> None:
    updated = index.update(add=iter(PASSAGES[15:]), delete=["p3", "p0", "p14"])
    left = [p for n, p in enumerate(PASSAGES) if n not in (0, 3, 14)]
    fresh = BM25.build(left, tmp_path / "fresh", **SETTINGS)
    assert files(index.path) == files(fresh.path)
    assert updated("castle river", 20) == fresh("castle river", 20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "index"]


def test_a_passage_can_be_replaced(index: BM25) -> None:
    updated = index.update(add=[Passage("p3", "another text")], delete=["p3"])
    assert [p.id for p in updated("another", 5)] == ["p3"]


def test_whoever_has_the_old_index_open_goes_on(index: BM25) -> None:
    reader = BM25(index.path)
    before = reader("castle", 5)
    index.update(delete=["p1", "p2"])
    assert [(p.id, p.text, p.score) for p in reader("castle", 5)] == [(p.id, p.text, p.score) for p in before]
    assert len(index) == 15
    with pytest.raises(UsageError, match="has been changed since it was opened: open it again"):
        reader.update(delete=["p5"])
    assert len(BM25(index.path)) == 13


def test_an_index_that_was_lost_between_two_renames_is_said_to_be_there(
    index: BM25, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.name == "index" and self.parent != tmp_path:  # the new one, from the directory where it was built
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            index.update(delete=["p1"])
    with pytest.raises(
        UsageError, match=r"killed when it replaced .*index: the index from before is .*index\.replaced"
    ):
        BM25(index.path)
    (tmp_path / "index.replaced").rename(tmp_path / "index")
    assert len(BM25(index.path).update(delete=["p1"])) == 14
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_an_update_that_fails_changes_nothing(index: BM25, tmp_path: Path) -> None:
    def broken() -> Iterator[Passage]:
        yield PASSAGES[15]
        raise KeyboardInterrupt

    before = files(index.path)
    with pytest.raises(KeyboardInterrupt):
        index.update(add=broken())
    for change, message in (
        ({"delete": ["none"]}, "no passage with the id 'none'"),
        ({"add": [PASSAGES[3]]}, "two passages have the id 'p3'"),
        ({"add": [Passage("new", " ")]}, "passage 'new' has no text"),
        ({"delete": [p.id for p in PASSAGES[:15]]}, "there is nothing to index"),
    ):
        with pytest.raises(UsageError, match=message):
            index.update(**change)
    assert files(index.path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
