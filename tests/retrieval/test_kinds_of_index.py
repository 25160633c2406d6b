"""What all kinds of index in a directory have in common; ColBERT, which needs weights, has tests of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dspy
import pytest
from support.damaged_indexes import attacked, mixed, with_other_files
from support.graph_passages import PASSAGES as OF_GRAPH
from support.graph_passages import Knowing
from support.word_encoder import WordEncoder
from support.word_passages import PASSAGES

from retrieval import Passage, RetrievalError, Retriever, UsageError
from retrieval.bm25 import BM25


class Kind(NamedTuple):
    """A kind of index.

    Attributes:
        name: What messages call it.
        file: What describes an index of this kind.
        passages: Some that can be indexed.
        build: Indexes passages into a directory.
        open: Opens one.
    """

    name: str
    file: str
    passages: list[Passage]
    build: Callable[..., Any]
    open: Callable[[Path], Retriever]


@pytest.fixture(
    params=[
        "bm25",
        *(pytest.param(name, marks=pytest.mark.needs("faiss", "scipy")) for name in ("dense", "graph", "hipporag")),
    ]
)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    if request.param == "bm25":
        yield Kind("BM25", "bm25.json", PASSAGES, BM25.build, BM25)
        return
    for module in ("dense.encoder", "dense.search", "hipporag.search"):
        monkeypatch.setattr(f"retrieval.{module}.LoadedEncoder", WordEncoder)
    if request.param == "hipporag":
        from retrieval.hipporag import HippoRAG

        with dspy.context(lm=Knowing(OF_GRAPH).lm):
            yield Kind("HippoRAG", "hipporag.json", OF_GRAPH, words(HippoRAG.build), HippoRAG)
    else:
        from retrieval.dense import Dense

        build = words(Dense.build, approximate=request.param == "graph")
        yield Kind("dense", "dense.json", PASSAGES, build, Dense)


def words(build: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    return lambda passages, out, **more: build(passages, out, encoder="words", **settings, **more)


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([], "there is nothing to index"),
        ([Passage("a", "one"), Passage("a", "two")], "two passages have the id 'a'"),
        ([Passage("a", " \n", "Title")], "passage 'a' has no text"),
        ([Passage("a", "half a \ud83d pair")], "passage 'a' is not valid Unicode"),
    ],
)
def test_unfit_passages_are_one_line_and_leave_no_index(
    kind: Kind, passages: list[Passage], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        kind.build(passages, tmp_path / "index")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "index").exists()


def test_an_index_is_replaced_only_if_so_asked_and_by_a_whole_one(kind: Kind, tmp_path: Path) -> None:
    out, some = tmp_path / "index", kind.passages
    kind.build(some[:4], out)
    with pytest.raises(UsageError, match="exists: choose another directory, or say --overwrite"):
        kind.build(some, out)
    with pytest.raises(UsageError, match="two passages have the id"):
        kind.build(some * 2, out, overwrite=True)
    opened: Any = kind.open(out)
    assert [opened.passage(row) for row in range(len(opened))] == some[:4]
    assert len(kind.build(some, out, overwrite=True)) == len(some)
    (tmp_path / "photos").mkdir()
    with pytest.raises(UsageError, match=f"is no {kind.name} index, so it is not overwritten"):
        kind.build(some, tmp_path / "photos", overwrite=True)


def test_what_is_no_index_or_of_another_format_is_told_apart(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no {kind.name} index in .*nothing: build one"):
        kind.open(tmp_path / "nothing")
    with pytest.raises(UsageError, match=f"is no {kind.name} index, or its build was not finished"):
        kind.open(tmp_path)
    kind.build(kind.passages, tmp_path / "index")
    file = tmp_path / "index" / kind.file
    about = json.loads(file.read_text())
    for other in about["format"] - 1, 99:
        file.write_text(json.dumps(about | {"format": other}))
        with pytest.raises(UsageError, match=f"has index format {other}, this version reads {about['format']}: build"):
            kind.open(tmp_path / "index")


def test_a_file_that_is_cut_off_or_gone_is_named(kind: Kind, tmp_path: Path) -> None:
    kind.build(kind.passages, tmp_path / "index")
    for file in sorted((tmp_path / "index").iterdir()):
        content = file.read_bytes()
        for damage in lambda: file.write_bytes(content[: len(content) // 2]), file.unlink:  # noqa: B023  # called at once
            damage()
            gone = file.name == kind.file and not file.exists()
            error, message = (UsageError, "not finished") if gone else (RetrievalError, f"{file.name} is damaged")
            with pytest.raises(error, match=message):
                kind.open(tmp_path / "index")
        file.write_bytes(content)


@pytest.mark.slow
def test_damage_is_said_or_seen_by_verify(kind: Kind, tmp_path: Path) -> None:
    whole, other, work = tmp_path / "whole", tmp_path / "other", tmp_path / "index"
    kind.build(kind.passages, whole)
    kind.build(kind.passages[1:], other)
    assert attacked(whole, work, kind.open) > 60
    assert mixed(whole, other, work, kind.open) > 3
    assert with_other_files(whole, work, kind.file, kind.open) > 50
