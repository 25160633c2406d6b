"""Archives: the layouts of the real ones, and ones that are damaged."""

import bz2
import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.corpus_archives import ABSTRACTS, ARCHIVES, BIG, BIG_RECORDS, READ, lines, linked, tar

from retrieval import RetrievalError
from retrieval.corpora import read
from retrieval.corpora.archives import ByteProgress, check_archive, unpack
from retrieval.corpora.catalogue import SOURCES


def ignore(doing: str, done: int, total: int | None) -> None:
    """No progress is shown."""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def unpacked(name: str, archive: Path, records: int | None = None, progress: ByteProgress = ignore) -> tuple[int, int]:
    return unpack(archive, SOURCES[name].read_archive, records, archive.parent / "out", progress)


@pytest.mark.parametrize(("name", "left_out"), [("wiki17", 1), ("wiki18", 0), ("hotpotqa17", 1)])
def test_records_become_passages(archive: Path, name: str, left_out: int) -> None:
    archive.write_bytes(ARCHIVES[name])
    assert unpacked(name, archive, records=2 + left_out) == (2, left_out)
    first = (archive.parent / "out").read_bytes()
    assert [(p.id, p.title, p.text) for p in read(archive.parent / "out")] == READ[name]
    unpacked(name, archive)
    assert (archive.parent / "out").read_bytes() == first  # byte for byte


def test_progress_goes_up_to_the_size_of_the_archive(archive: Path) -> None:
    archive.write_bytes(BIG)
    told: list[tuple[str, int, int | None]] = []
    unpacked("wiki17", archive, progress=lambda *step: told.append(step))
    assert told == sorted(told)
    assert told[-1] == ("unpacking", len(BIG), len(BIG))
    told.clear()
    check_archive(archive, None, None, lambda *step: told.append(step))
    assert told[-1] == ("checking", len(BIG), len(BIG))


def test_a_check_compares_size_and_sha256(archive: Path) -> None:
    archive.write_bytes(b"12345")
    sha256 = hashlib.sha256(b"12345").hexdigest()
    assert check_archive(archive, 5, sha256, ignore) == check_archive(archive, None, None, ignore) == sha256
    with pytest.raises(RetrievalError, match=r"archive has 5 bytes instead of 1,000"):
        check_archive(archive, 1000, sha256, ignore)
    with pytest.raises(RetrievalError, match=f"is not the published file: its SHA-256 is {sha256}"):
        check_archive(archive, 5, "0" * 64, ignore)


def damaged() -> dict[str, tuple[str, bytes, str]]:
    flipped = bytearray(BIG)
    flipped[len(BIG) // 2] ^= 255
    footer = bytearray(ARCHIVES["wiki17"])
    footer[-8] ^= 255
    inner = bz2.compress(lines(linked("1", "One", "Text.")))
    link = io.BytesIO()
    with tarfile.open(fileobj=link, mode="w") as archive:
        member = tarfile.TarInfo("x.jsonl")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)

    two = tar({"a.jsonl": lines(*ABSTRACTS), "b.jsonl": lines(*ABSTRACTS)}, pack=bytes)
    second = two.index(b"b.jsonl")

    def wiki17(content: bytes) -> bytes:
        return tar({"a.jsonl": content}, pack=gzip.compress)

    return {
        "a bad byte": ("wiki17", bytes(flipped), "damaged after record"),
        "a bad checksum": ("wiki17", bytes(footer), "CRC check failed"),
        "no tar": ("wiki17", gzip.compress(b"hello" * 1000), "damaged"),
        "a cut tar": ("wiki17", gzip.compress(gzip.decompress(ARCHIVES["wiki17"])[:1200]), "damaged"),
        "a bad header": ("wiki17", gzip.compress(two[:second] + b"c" + two[second + 1 :]), "its tar is damaged"),
        "a cut between files": ("wiki17", gzip.compress(two[:second]), "the end of its tar is missing"),
        "no file": ("wiki17", tar({"readme.txt": b"hello"}, pack=gzip.compress), "holds no .jsonl file"),
        "a link": ("wiki17", gzip.compress(link.getvalue()), "damaged after record 0"),
        "no object": ("wiki17", wiki17(b"[1]\n"), "not a JSON object"),
        "no title": ("wiki17", wiki17(lines({"text": ["a"]})), "a string is missing, there is None"),
        "a lone surrogate": ("wiki17", wiki17(lines({"title": "\ud800", "text": ["a"]})), "not valid Unicode"),
        "deep": ("wiki17", wiki17(b"[" * 200_000 + b"\n"), "damaged after record 0"),
        "other columns": ("wiki18", gzip.compress(b"id\ttitle\ttext\n"), "the columns must be"),
        "an open quote": ("wiki18", gzip.compress(b'id\ttext\ttitle\n1\t"' + b"x\n" * 100_000), "field limit"),
        "cut bz2": ("hotpotqa17", ARCHIVES["hotpotqa17"][:-10], "end-of-stream"),
        "cut inside": ("hotpotqa17", tar({"a/b.bz2": inner[:-10]}, pack=bz2.compress), "end-of-stream"),
    }


@pytest.mark.parametrize("case", damaged())
def test_a_damaged_archive_leaves_nothing(archive: Path, case: str) -> None:
    name, content, message = damaged()[case]
    archive.write_bytes(content)
    with pytest.raises(RetrievalError, match=message) as caught:
        unpacked(name, archive)
    assert str(archive) in str(caught.value)
    assert list(archive.parent.iterdir()) == [archive]


@pytest.mark.parametrize("records", [BIG_RECORDS - 1, BIG_RECORDS + 1])
def test_the_records_are_counted(archive: Path, records: int) -> None:
    archive.write_bytes(BIG)
    with pytest.raises(RetrievalError, match=f"has {BIG_RECORDS} records instead of {records}"):
        unpacked("wiki17", archive, records)
    assert list(archive.parent.iterdir()) == [archive]


def test_nothing_is_unpacked_to_the_paths_that_an_archive_names(archive: Path) -> None:
    archive.write_bytes(tar({"../../evil.jsonl": lines(*ABSTRACTS), "/evil.jsonl": b""}, pack=gzip.compress))
    assert unpacked("wiki17", archive) == (2, 1)
    assert sorted(path.name for path in archive.parent.iterdir()) == ["archive", "out"]


def test_a_full_disk_is_not_a_damaged_archive(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(passage: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("retrieval.corpora.archives.passage_line", full)
    archive.write_bytes(BIG)
    with pytest.raises(OSError, match="No space left"):
        unpacked("wiki17", archive)
    assert list(archive.parent.iterdir()) == [archive]
