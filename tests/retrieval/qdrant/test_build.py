"""Building collections: whole or going on where it stopped, refused or replaced, and what files may hold."""

import json
import pickle
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from support.colbert_sample import PASSAGES
from support.command_line import exit_code
from support.hostile_pickle import Hostile

from retrieval import Passage, RetrievalError, UsageError
from retrieval.__main__ import main
from retrieval.dense.encoder import LoadedEncoder
from retrieval.indexes import passage_line
from retrieval.qdrant import Qdrant
from retrieval.qdrant.checksums import remove_checksums


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the passages that are encoded."""
    ids: list[str] = []
    encode = LoadedEncoder.encode_passages

    def encode_passages(self: LoadedEncoder, part: Sequence[Passage], batch_size: int) -> object:
        ids.extend(passage.id for passage in part if passage.id)  # the probe has no id
        return encode(self, part, batch_size)

    monkeypatch.setattr(LoadedEncoder, "encode_passages", encode_passages)
    return ids


def breaking_off(batches: range, desc: str) -> Iterator[int]:
    yield from list(batches)[:2]
    raise KeyboardInterrupt


def test_an_interrupted_build_goes_on_where_it_was(tmp_path: Path, encoder: str, encoded: list[str]) -> None:
    out = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt):
        Qdrant.build(PASSAGES, out, encoder=encoder, batch_size=8, progress=breaking_off)
    with pytest.raises(UsageError, match="is not finished: start the same build again to go on with it"):
        Qdrant(out)
    with pytest.raises(
        UsageError, match=r"has an unfinished build of other passages or with other settings, with BM25"
    ):
        Qdrant.build(PASSAGES[1:], out, encoder=encoder)
    assert encoded == [p.id for p in PASSAGES[:16]]
    index = Qdrant.build(PASSAGES, out, encoder=encoder, batch_size=10)
    assert encoded == [p.id for p in PASSAGES]
    whole = Qdrant.build(PASSAGES, tmp_path / "whole", encoder=encoder)
    query = "a city on the river"
    assert [(p.id, p.score) for p in index(query, 20)] == [(p.id, pytest.approx(p.score)) for p in whole(query, 20)]


def test_without_resuming_an_unfinished_build_is_begun_anew(tmp_path: Path, encoder: str, encoded: list[str]) -> None:
    out = tmp_path / "index"
    with pytest.raises(KeyboardInterrupt):
        Qdrant.build(PASSAGES, out, encoder=encoder, batch_size=8, progress=breaking_off)
    del encoded[:]
    assert len(Qdrant.build(PASSAGES[:20], out, encoder=encoder, resume=False)) == 20
    assert encoded == [p.id for p in PASSAGES[:20]]


def test_a_collection_is_replaced_only_where_that_is_said(tmp_path: Path) -> None:
    out = tmp_path / "index"
    Qdrant.build(PASSAGES, out)
    with pytest.raises(UsageError, match="exists: choose another name, or say --overwrite"):
        Qdrant.build(PASSAGES[:3], out)
    with pytest.raises(UsageError, match="two passages have the id"):
        Qdrant.build([PASSAGES[0]] * 2, out, overwrite=True)
    assert len(Qdrant(out)) == 36
    Qdrant.build(PASSAGES[:5], out, collection="five")
    assert len(Qdrant.build(PASSAGES[:3], out, overwrite=True)) == 3
    assert len(Qdrant(out, collection="five")) == 5


def test_a_collection_of_somebody_else_is_neither_opened_nor_replaced(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path / "theirs"))
    client.create_collection("passages", vectors_config={}, metadata={"theirs": 1})
    client.close()
    with pytest.raises(UsageError, match="is no index of this project"):
        Qdrant(tmp_path / "theirs")
    with pytest.raises(UsageError, match="was built by something else"):
        Qdrant.build(PASSAGES, tmp_path / "theirs", overwrite=True)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "diary").write_text("dear")
    with pytest.raises(UsageError, match="is no directory of Qdrant"):
        Qdrant.build(PASSAGES, tmp_path / "text")


@pytest.mark.parametrize(
    ("passages", "settings", "message"),
    [
        ([], {}, "there is nothing to index"),
        ([Passage("a", "the of")], {}, "there is nothing to index"),
        ([Passage("a", "one"), Passage("a", "two")], {}, "two passages have the id 'a'"),
        (PASSAGES, {"k1": -1}, "k1 must be"),
        (PASSAGES, {"batch_size": 0}, "batches have at least 1 passage"),
        (PASSAGES, {"datatype": "turbo5"}, "float16 or turbo8 or turbo4, not 32 and 'turbo5'"),
        (PASSAGES, {"stemmer": "klingon"}, "unknown stemmer"),
    ],
)
def test_what_cannot_be_built_is_said(
    passages: list[Passage], settings: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        Qdrant.build(passages, tmp_path / "index", **settings)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        Qdrant(tmp_path / "index")


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES[:2], tmp_path / "index")
    (file,) = (tmp_path / "index").glob("collection/*/storage.sqlite")
    with sqlite3.connect(file) as rows:
        rows.execute("UPDATE points SET point = ?", (pickle.dumps(Hostile(tmp_path / "executed")),))
    rows.close()
    with pytest.raises(RetrievalError, match=r"is damaged, or may not be written to: its rows name pathlib\."):
        Qdrant(tmp_path / "index")
    meta = tmp_path / "index" / "meta.json"
    (tmp_path / "index" / "collection" / "passages").rename(tmp_path / "index" / "elsewhere")
    meta.write_text(meta.read_text().replace('"passages": {', '"../elsewhere": {', 1))
    with pytest.raises(RetrievalError, match=r"no collection can have the name '\.\./elsewhere'"):
        Qdrant(tmp_path / "index")
    assert not (tmp_path / "executed").exists()


DESCRIPTION = ("collections", "passages", "metadata", "dspy-odqa")


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("collections",), [], "is damaged, or may not be written to"),
        (("collections", "passages"), None, "is damaged, or may not be written to"),
        (DESCRIPTION, "nothing", "the description of collection 'passages' in .* is damaged: build it again"),
        ((*DESCRIPTION, "bm25", "tokens"), 0, "is damaged in bm25.tokens"),
        ((*DESCRIPTION, "finished"), "yes", "is damaged in finished"),
        ((*DESCRIPTION, "bm25", "analyser", "pattern"), "(", "the analyser of .* is not the one it was built with"),
    ],
)
def test_a_damaged_description_is_said_in_one_line(
    keys: tuple[str, ...], value: object, message: str, tmp_path: Path
) -> None:
    Qdrant.build(PASSAGES[:2], tmp_path / "index")
    meta = tmp_path / "index" / "meta.json"
    part = page = json.loads(meta.read_text())
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    meta.write_text(json.dumps(page))
    remove_checksums(tmp_path / "index", "passages")  # as in a collection from before there were any
    with pytest.raises(RetrievalError, match=message) as caught:
        Qdrant(tmp_path / "index")
    assert "\n" not in str(caught.value)


def test_a_damaged_collection_can_be_built_again(tmp_path: Path) -> None:
    index = Qdrant.build(PASSAGES[:2], tmp_path / "index")
    index._connection.call("update_collection", metadata={"dspy-odqa": 1})
    with pytest.raises(RetrievalError, match="build it again, with --overwrite --no-resume"):
        Qdrant.build(PASSAGES[:2], tmp_path / "index")
    assert len(Qdrant.build(PASSAGES[:2], tmp_path / "index", overwrite=True, resume=False)) == 2


def test_the_command_builds_adds_deletes_and_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, more, out = tmp_path / "corpus.jsonl", tmp_path / "more.jsonl", f"qdrant:{tmp_path / 'index'}"
    corpus.write_bytes(b"".join(map(passage_line, PASSAGES[:10])))
    more.write_bytes(passage_line(Passage("doc.md#1", "zebras graze")) + passage_line(Passage("doc.md#2", "a zebra")))
    calls = [
        ["index", "--backend", "qdrant", "--corpus", corpus, "--out", tmp_path / "index", "--stop-words", "none"],
        ["add", out, "--corpus", more],
        ["add", out, "--corpus", more],  # as after an interrupt
        ["search", f"{out}?search=bm25", "zebras"],
        ["delete", out, "--document", "doc.md", "--ids", PASSAGES[0].id],
        ["search", out, "zebras"],
    ]
    printed = []
    for call in calls:
        assert exit_code(main, [str(argument) for argument in call]) == 0
        printed.append(capsys.readouterr().out)
    assert '"passages": 10, ' in printed[0]
    assert '"passages": 12, "added": 2, "bytes": ' in printed[1]
    assert '"passages": 12, "added": 0, ' in printed[2]
    assert '"doc.md#' in printed[3]
    assert '"passages": 9, "deleted": 3, ' in printed[4]
    assert printed[5] == ""
    assert exit_code(main, ["add", str(tmp_path / "index"), "--corpus", str(more)]) == 0
    assert '"added": 2' in capsys.readouterr().out
    for id in "none", "\udcff":  # the second as from bytes that are no UTF-8
        assert exit_code(main, ["delete", out, "--ids", id]) == 2
        assert f"the index has no passage with the id {id!r}: nothing was deleted" in capsys.readouterr().err
