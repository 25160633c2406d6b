"""Corpora: JSON lines in, passages out, and every bad line named."""

import codecs
import gzip
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from retrieval import Passage, UsageError
from retrieval.corpora import SAMPLE, read
from retrieval.corpora.reader import naming_lines
from retrieval.indexes import checked_passages

LINES = [
    {"id": "a", "title": "One", "text": "First – Ünïcode."},
    {"id": 7, "title": "", "text": "Second.", "src": "somewhere"},
]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_reads_plain_and_gzipped_files(tmp_path: Path, name: str, mark: bytes) -> None:
    data = mark + "\n".join(json.dumps(line, ensure_ascii=False) for line in LINES).encode() + b"\r\n\n"
    passages = list(read(write(tmp_path / name, data)))
    assert [(p.id, p.title, p.text, p.score) for p in passages] == [
        ("a", "One", "First – Ünïcode.", None),
        ("7", "", "Second.", None),
    ]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    data = "".join(
        json.dumps({"id": n, "title": "", "text": sha256(str(n).encode()).hexdigest()}) + "\n" for n in range(20_000)
    ).encode()
    path = write(tmp_path / name, data)
    counts: list[int] = []
    assert len(list(read(path, counts.append))) == 20_000
    assert sum(counts) == path.stat().st_size
    assert len(counts) > 5


def test_reading_is_a_stream(tmp_path: Path) -> None:
    passages = read(write(tmp_path / "corpus.jsonl", json.dumps(LINES[0]).encode() + b"\nrubbish\n"))
    assert next(passages) == Passage("a", "")
    with pytest.raises(UsageError, match="line 2"):
        next(passages)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"rubbish", "not JSON: Expecting value"),
        (b'{"id": "b", "title": "", "text": "cut', "not JSON: Unterminated string"),
        (b"[" * 100_000, "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b'{"id": "b", "title": "\xff", "text": "c"}', "not UTF-8, from byte 23 on"),
        (b'{"title": "", "text": "c"}', "no id"),
        (b'{"id": "b"}', "no title and no text"),
        (b'{"id": "b", "title": "c", "text": " "}', "the passage 'b' has no text: leave it out"),
        (b'{"id": "", "title": "", "text": "c"}', "the id must be a string or an integer, not ''"),
        (b'{"id": true, "title": "", "text": "c"}', "the id must be a string or an integer, not True"),
        (b'{"id": 1.5, "title": "", "text": "c"}', "the id must be a string or an integer, not 1.5"),
        (b'{"id": "b", "title": null, "text": "c"}', "the title must be a string, not None"),
        (b'{"id": "b", "title": "", "text": ["c", "d"]}', "the text must be a string, not ['c', 'd']"),
        (b'{"id": "b", "title": "", "text": [' + b"1, " * 9999 + b"2]}", "the text must be a string, not [1, 1, 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = write(tmp_path / "corpus.jsonl.gz", json.dumps(LINES[0]).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(UsageError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}, line 3: {message}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    data = "".join(json.dumps({"id": n, "title": "", "text": f"text {n * n}"}) + "\n" for n in range(5000)).encode()
    whole = gzip.compress(data)
    checksum, method = bytearray(whole), bytearray(whole)
    checksum[-8] ^= 0xFF
    method[2] = 99
    for damaged in whole[: len(whole) // 2], whole[:2], checksum, method, whole + b"rubbish":
        path = tmp_path / "corpus.jsonl.gz"
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match=r"corpus\.jsonl\.gz is a damaged gzip file, from line \d+ on: ") as caught:
            list(read(path))
        assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nothing\.jsonl: No such file"):
        list(read(tmp_path / "nothing.jsonl"))
    with pytest.raises(UsageError, match=r"cannot read .*: Is a directory"):
        list(read(tmp_path))


def test_the_sample_corpus_is_in_order() -> None:
    passages = list(read(SAMPLE))
    assert len(passages) >= 300
    assert len({p.id for p in passages}) == len(passages)
    assert all(p.title.strip() and p.text.strip() for p in passages)


def test_the_lines_of_an_id_that_occurs_twice_are_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(f'{{"id": "{id_}", "title": "", "text": "x"}}\n\n' for id_ in ("a", "b", "a", "a")))
    with (
        pytest.raises(UsageError, match=r"corpus\.jsonl, lines 1, 5 and 7: the same id 'a'; ids must differ"),
        naming_lines(path),
    ):
        list(checked_passages(read(path)))
    with (
        pytest.raises(UsageError, match=r"corpus\.jsonl, line 3: the index has a passage with the id 'b' already"),
        naming_lines(path),
    ):
        list(checked_passages([Passage("b", "x"), *read(path)]))


def test_a_pipe_is_no_corpus(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"cannot read .*pipe: it is no regular file"):
        list(read(tmp_path / "pipe"))
