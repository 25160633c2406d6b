"""Fetching corpora from servers on this machine that break off, lie and change their minds."""

import bz2
import fcntl
import gzip
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.loopback import running

from retrieval import RetrievalError, UsageError
from retrieval.corpora.fetch import SOURCES, Fetched, Source, fetch
from retrieval.corpora.reader import read

# --- archives in the layouts of the real ones


def tar(files: dict[str, bytes], *, pack: Callable[[bytes], bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return pack(buffer.getvalue())


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


ABSTRACTS = [
    {"title": "Anarchism", "text": ["Anarchism is a philosophy.", "It is – old. "]},
    {"title": "No text", "text": []},
    {"title": "Zürich", "text": ["A city.", " ", " On a lake."]},
]
WIKI17 = tar({"wiki.abstracts.2017.jsonl": lines(*ABSTRACTS)}, pack=gzip.compress)
WIKI18 = gzip.compress(
    'id\ttext\ttitle\n1\t"Aaron ( or ; ""Ahärôn"") is a prophet."\tAaron\n2\tGod at Sinai\t"""Heroes"""\n'.encode()
)


def linked(identifier: Any, title: str, *text: str) -> dict[str, Any]:
    return {
        "id": identifier,
        "url": f"https://en.wikipedia.org/wiki?curid={identifier}",
        "title": title,
        "text": text,
        "text_with_links": [f'<a href="x">{sentence}</a>' for sentence in text],
        "charoffset": [[[0, 1]]],
        "charoffset_with_links": [[[0, 1]]],
    }


HOTPOTQA17 = tar(
    {
        "enwiki/AA/wiki_00.bz2": bz2.compress(lines(linked("12", "AT&amp;T", "One.", " Two < three."))),
        "enwiki/AA/wiki_01.bz2": bz2.compress(lines(linked("39", "Albedo", "Four."), linked(40, "Blank", " "))),
    },
    pack=bz2.compress,
)
READ = {
    "wiki17": [("0", "Anarchism", "Anarchism is a philosophy. It is – old."), ("2", "Zürich", "A city. On a lake.")],
    "wiki18": [("1", "Aaron", 'Aaron ( or ; "Ahärôn") is a prophet.'), ("2", '"Heroes"', "God at Sinai")],
    "hotpotqa17": [("12", "AT&amp;T", "One. Two < three."), ("39", "Albedo", "Four.")],
}
ARCHIVES = {"wiki17": WIKI17, "wiki18": WIKI18, "hotpotqa17": HOTPOTQA17}


def source(name: str, archive: bytes, records: int | None = None) -> Source:
    return replace(SOURCES[name], size=len(archive), sha256=hashlib.sha256(archive).hexdigest(), records=records)


def big(size: int = 300_000) -> bytes:
    """An archive of wiki17 that does not compress."""
    noise = random.Random(0).randbytes(size).hex()
    texts = [{"title": str(n), "text": [noise[n : n + 2000]]} for n in range(0, len(noise), 2000)]
    return tar({"wiki.abstracts.2017.jsonl": lines(*texts)}, pack=gzip.compress)


BIG = big()
BIG_SOURCE = source("wiki17", BIG, 300)
UNKNOWN = replace(BIG_SOURCE, size=None, sha256=None, records=None)

# --- servers

Behaviour = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Takes one behaviour per request; the last one goes on for ever."""

    def __init__(self, *behaviours: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        self.requests: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/some/archive"

    @property
    def ranges(self) -> list[str | None]:
        return [headers.get("range") for headers in self.requests]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append({key.lower(): value for key, value in self.headers.items()})
        behaviours = self.server.behaviours
        (behaviours.pop(0) if len(behaviours) > 1 else behaviours[0])(self)

    def answer(self, status: int, body: bytes = b"", **headers: Any) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def serving(*behaviours: Behaviour) -> AbstractContextManager[Server]:
    return running(Server(*behaviours))


def sends(
    content: bytes,
    *,
    stop: int | None = None,
    ranges: bool = True,
    etag: str | None = '"one"',
    length: bool = True,
    honest: bool = True,
    **headers: str,
) -> Behaviour:
    """A file server; each answer breaks off after `stop` bytes. One that is not `honest` ignores If-Range."""

    def behave(handler: Handler) -> None:
        status, start, asked = 200, 0, handler.headers.get("range")
        sent: dict[str, Any] = headers | ({"ETag": etag} if etag else {})
        if ranges and asked and (not honest or handler.headers.get("if-range") in (None, etag)):
            status, start = 206, int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return handler.answer(416, Content_Range=f"bytes */{len(content)}")
            sent["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if length:
            sent["Content-Length"] = str(len(content) - start)
        return handler.answer(status, content[start:][:stop], **sent)

    return behave


def refuses(status: int, **headers: Any) -> Behaviour:
    return lambda handler: handler.answer(status, **headers)


def get(source: str | Source, out: Path, server: Server, **options: Any) -> Fetched:
    return fetch(source, out, url=server.url, **{"backoff": 0.0, **options})


def content(fetched: Fetched) -> list[tuple[str, str, str]]:
    return [(p.id, p.title, p.text) for p in read(fetched.corpus)]


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name != ".lock")


WIKI17_FILES = ["corpus.json", "corpus.jsonl.gz", "downloads/wiki.abstracts.2017.tar.gz"]
PART = "downloads/wiki.abstracts.2017.tar.gz.part"

# --- whole corpora


@pytest.mark.parametrize("name", SOURCES)
def test_fetches_checks_and_unpacks(tmp_path: Path, name: str) -> None:
    archive, read_back = ARCHIVES[name], READ[name]
    records = {"wiki17": 3, "wiki18": 2, "hotpotqa17": 3}[name]
    with serving(sends(archive)) as server:
        fetched = get(source(name, archive, records), tmp_path / "a" / "b", server)
        assert content(fetched) == read_back
        assert (fetched.passages, fetched.left_out) == (len(read_back), records - len(read_back))
        assert fetched.unchecked == ()
        assert "CC BY-SA" in fetched.licence
        about = json.loads((fetched.corpus.parent / "corpus.json").read_text(encoding="utf-8"))
        assert about["archive_sha256"] == hashlib.sha256(archive).hexdigest()
        assert (about["name"], about["licence"], about["passages"]) == (name, fetched.licence, fetched.passages)
        before = fetched.corpus.read_bytes()
        assert get(source(name, archive, records), tmp_path / "a" / "b", server) == fetched  # nothing to do
        assert len(server.requests) == 1
        again = get(source(name, archive, records), tmp_path / "c", server)
        assert again.corpus.read_bytes() == before


def test_the_registry_knows_what_can_be_checked() -> None:
    for name, known in SOURCES.items():
        assert name == known.name
        assert known.size
        assert known.records
        assert known.sha256
        assert len(bytes.fromhex(known.sha256)) == 32
        assert known.url.startswith("https://")
        assert "\n" not in known.licence
    assert SOURCES["wiki17"].file == "wiki.abstracts.2017.tar.gz"


def test_progress_reaches_the_sizes(tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, int | None]]] = {}
    with serving(sends(BIG)) as server:
        get(
            BIG_SOURCE,
            tmp_path,
            server,
            progress=lambda doing, done, total: told.setdefault(doing, []).append((done, total)),
        )
    assert list(told) == ["downloading", "checking", "unpacking"]
    for steps in told.values():
        assert steps == sorted(steps)
        assert steps[-1] == (len(BIG), len(BIG))


def test_says_what_it_could_not_check(tmp_path: Path) -> None:
    with serving(sends(BIG, length=False)) as server:
        assert get(UNKNOWN, tmp_path, server).unchecked == ("size", "sha256", "records")


# --- downloads that do not go well


@pytest.mark.parametrize("etag", ['"one"', 'W/"weak"', None])
@pytest.mark.parametrize("length", [True, False])
def test_goes_on_where_a_download_broke_off(tmp_path: Path, etag: str | None, length: bool) -> None:
    with serving(sends(BIG, stop=100_000, etag=etag, length=length)) as server:
        assert get(BIG_SOURCE, tmp_path, server, retries=1).passages == 300
    assert server.ranges[:3] == [None, "bytes=100000-", "bytes=200000-"]
    assert server.requests[1].get("if-range") == (etag if etag == '"one"' else None)
    assert files(tmp_path) == WIKI17_FILES


def test_goes_on_in_a_later_call(tmp_path: Path) -> None:
    with serving(sends(BIG, stop=100_000)) as server:
        with pytest.raises(RetrievalError, match="received 100000 bytes"):
            get(BIG_SOURCE, tmp_path, server, retries=0)
        assert files(tmp_path) == [PART, PART + ".json"]
        server.behaviours[:] = [sends(BIG)]
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert server.ranges[-1] == "bytes=100000-"


def test_begins_anew_where_the_server_ignores_ranges(tmp_path: Path) -> None:
    with serving(sends(BIG, stop=100_000, ranges=False), sends(BIG, ranges=False)) as server:
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert server.ranges == [None, "bytes=100000-"]


def test_gives_up_on_a_server_that_ignores_ranges_and_never_gets_further(tmp_path: Path) -> None:
    with (
        serving(sends(BIG, stop=100_000, ranges=False)) as server,
        pytest.raises(RetrievalError, match="peer closed connection"),
    ):
        get(BIG_SOURCE, tmp_path, server, retries=3)
    assert len(server.requests) == 4


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("etags", [('"one"', '"two"'), (None, '"two"'), (None, None)])
def test_begins_anew_where_the_file_changed(tmp_path: Path, etags: tuple[str | None, str | None], honest: bool) -> None:
    old = bytes(len(BIG) + 1000)
    with serving(sends(old, stop=100_000, etag=etags[0]), sends(BIG, etag=etags[1], honest=honest)) as server:
        assert get(UNKNOWN, tmp_path, server).passages == 300


@pytest.mark.parametrize("where", ["bytes 5-9/10", "bytes */10", "lines 1-2/3", ""])
def test_begins_anew_where_the_server_goes_on_elsewhere(tmp_path: Path, where: str) -> None:
    def elsewhere(handler: Handler) -> None:
        handler.answer(206, b"wrong", Content_Range=where, Content_Length="5", ETag='"one"')

    with serving(sends(BIG, stop=100_000), elsewhere, sends(BIG)) as server:
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert server.ranges == [None, "bytes=100000-", None]


def test_does_not_go_on_with_another_servers_file(tmp_path: Path) -> None:
    with serving(sends(bytes(len(BIG)), stop=100_000), refuses(404)) as one, pytest.raises(RetrievalError):
        get(BIG_SOURCE, tmp_path, one)
    with serving(sends(BIG)) as other:
        assert get(BIG_SOURCE, tmp_path, other).passages == 300
    assert other.ranges == [None]


def test_a_part_without_its_note_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / PART).write_bytes(b"whatever")
    with serving(sends(BIG)) as server:
        assert get(BIG_SOURCE, tmp_path, server).passages == 300


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_tries_again(tmp_path: Path, status: int) -> None:
    with serving(refuses(status, Retry_After="0"), refuses(status, Retry_After="Thu, 1 Jan"), sends(BIG)) as server:
        assert get(BIG_SOURCE, tmp_path, server, retries=2).passages == 300


def test_waits_as_long_as_the_server_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("retrieval.corpora.fetch.time.sleep", waits.append)
    with serving(refuses(429, Retry_After="7"), refuses(503, Retry_After="9999"), refuses(503), sends(BIG)) as server:
        get(BIG_SOURCE, tmp_path, server, backoff=1.0)
    assert waits[:2] == [7.0, 60.0]
    assert 2 <= waits[2] <= 4


@pytest.mark.parametrize("status", [401, 403, 404, 410, 204, 304])
def test_does_not_try_again_what_cannot_help(tmp_path: Path, status: int) -> None:
    with serving(refuses(status)) as server, pytest.raises(RetrievalError, match=f"the server answers {status} "):
        get(BIG_SOURCE, tmp_path, server)
    assert len(server.requests) == 1


def test_sends_user_and_password_but_not_to_others(tmp_path: Path) -> None:
    with serving(sends(BIG)) as target, serving(refuses(302, Location=target.url)) as server:
        url = server.url.replace("//", "//user:secret@")
        assert fetch(BIG_SOURCE, tmp_path, url=url).passages == 300
    assert server.requests[0]["authorization"].startswith("Basic ")
    assert "authorization" not in target.requests[0]


def test_follows_redirects(tmp_path: Path) -> None:
    with serving(sends(BIG, stop=200_000)) as target, serving(refuses(302, Location=target.url)) as server:
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert target.ranges == [None, "bytes=200000-"]


def test_gives_up_on_endless_redirects(tmp_path: Path) -> None:
    with serving(refuses(302, Location="/round")) as server, pytest.raises(RetrievalError, match="redirects"):
        get(BIG_SOURCE, tmp_path, server)


def test_a_silent_server_times_out(tmp_path: Path) -> None:
    done = threading.Event()
    with serving(lambda handler: (done.wait(10), None)[1], sends(BIG)) as server:
        try:
            assert get(BIG_SOURCE, tmp_path, server, timeout=0.2).passages == 300
        finally:
            done.set()


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_file_of_another_size_is_refused_at_once(tmp_path: Path, offset: int) -> None:
    with (
        serving(sends(BIG, Content_Length=str(len(BIG) + offset), length=False)) as server,
        pytest.raises(RetrievalError, match=rf"has {len(BIG) + offset:,} bytes instead of {len(BIG):,}"),
    ):
        get(BIG_SOURCE, tmp_path, server)
    assert len(server.requests) == 1
    assert files(tmp_path) == []


def test_a_length_too_small_is_found_out_though_no_size_is_known(tmp_path: Path) -> None:
    with (
        serving(sends(BIG, Content_Length=str(len(BIG) - 5000), length=False)) as server,
        pytest.raises(RetrievalError, match=r"is damaged after record \d+ .*delete it and fetch it again"),
    ):
        get(UNKNOWN, tmp_path, server)
    assert files(tmp_path) == ["downloads/wiki.abstracts.2017.tar.gz"]


def test_a_length_too_big_is_found_out_though_no_size_is_known(tmp_path: Path) -> None:
    with (
        serving(sends(BIG, Content_Length=str(len(BIG) + 5000), length=False)) as server,
        pytest.raises(RetrievalError, match="cannot download"),
    ):
        get(UNKNOWN, tmp_path, server, retries=2)
    assert "corpus.jsonl.gz" not in files(tmp_path)


def test_a_server_that_never_stops_is_stopped(tmp_path: Path) -> None:
    with (
        serving(sends(BIG + bytes(5_000_000), length=False)) as server,
        pytest.raises(RetrievalError, match=f"sends more than {len(BIG):,} bytes"),
    ):
        get(BIG_SOURCE, tmp_path, server)


def test_another_file_of_the_same_size_is_refused_and_removed(tmp_path: Path) -> None:
    wrong = bytes(len(BIG))
    with serving(sends(wrong)) as server:
        with pytest.raises(RetrievalError, match=f"SHA-256 is {hashlib.sha256(wrong).hexdigest()}"):
            get(BIG_SOURCE, tmp_path, server)
        server.behaviours[:] = [sends(BIG)]
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert server.ranges == [None, None]
    assert files(tmp_path) == WIKI17_FILES


# --- without a network


def test_without_network_names_what_to_place_where(tmp_path: Path) -> None:
    with serving(sends(BIG)) as server:
        url = server.url.replace("//", "//user:secret@") + "?key=secret"
    with pytest.raises(RetrievalError) as caught:
        fetch(BIG_SOURCE, tmp_path, url=url, retries=1, backoff=0.0)
    message = str(caught.value)
    assert "secret" not in message
    assert "\n" not in message
    for part in server.url, "wiki.abstracts.2017.tar.gz", str(tmp_path / "downloads"), "--file", "ConnectError":
        assert part in message
    (tmp_path / "downloads" / "wiki.abstracts.2017.tar.gz").write_bytes(BIG)
    assert fetch(BIG_SOURCE, tmp_path, url=url).passages == 300


def test_takes_a_file_from_elsewhere_and_leaves_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere"
    file.write_bytes(BIG)
    assert fetch(BIG_SOURCE, tmp_path / "out", file=file).passages == 300
    assert file.read_bytes() == BIG
    assert files(tmp_path / "out") == ["corpus.json", "corpus.jsonl.gz"]


def test_a_file_placed_by_hand_is_checked_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "downloads" / "wiki.abstracts.2017.tar.gz"
    file.parent.mkdir()
    for content, message in (BIG[:-1], "bytes instead of"), (bytes(len(BIG)), "is not the published"):
        file.write_bytes(content)
        with pytest.raises(RetrievalError, match=message) as caught:
            fetch(BIG_SOURCE, tmp_path)
        assert str(file) in str(caught.value)
        assert files(tmp_path) == ["downloads/wiki.abstracts.2017.tar.gz"]


# --- damaged archives


def damaged() -> dict[str, tuple[str, bytes, str]]:
    flipped = bytearray(BIG)
    flipped[len(BIG) // 2] ^= 255
    footer = bytearray(WIKI17)
    footer[-8] ^= 255
    inner = bz2.compress(lines(linked("1", "One", "Text.")))
    link = io.BytesIO()
    with tarfile.open(fileobj=link, mode="w") as archive:
        member = tarfile.TarInfo("x.jsonl")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)

    def wiki17(content: bytes) -> bytes:
        return tar({"a.jsonl": content}, pack=gzip.compress)

    return {
        "no archive": ("wiki17", b"<html>", "Not a gzipped file"),
        "empty": ("wiki17", b"", "damaged"),
        "cut": ("wiki17", BIG[:-5000], "end-of-stream"),
        "cut in the checksum": ("wiki17", BIG[:-3], "end-of-stream"),
        "a bad byte": ("wiki17", bytes(flipped), "damaged after record"),
        "a bad checksum": ("wiki17", bytes(footer), "CRC check failed"),
        "no tar": ("wiki17", gzip.compress(b"hello" * 1000), "damaged"),
        "a cut tar": ("wiki17", gzip.compress(gzip.decompress(WIKI17)[:1200]), "damaged"),
        "no file": ("wiki17", tar({"readme.txt": b"hello"}, pack=gzip.compress), "holds no .jsonl file"),
        "a link": ("wiki17", gzip.compress(link.getvalue()), "damaged after record 0"),
        "no JSON": ("wiki17", wiki17(lines(ABSTRACTS[0]) + b"rubbish\n"), r"damaged after record 1 \(Expecting value"),
        "no object": ("wiki17", wiki17(b"[1]\n"), "not a JSON object"),
        "no title": ("wiki17", wiki17(lines({"text": ["a"]})), "a string is missing, there is None"),
        "no text": ("wiki17", wiki17(lines({"title": "a"})), "not a list of sentences"),
        "numbers": ("wiki17", wiki17(lines({"title": "a", "text": [1]})), "a string is missing, there is 1"),
        "not UTF-8": ("wiki17", wiki17(b'{"title": "\xff", "text": []}\n'), "utf-8"),
        "a lone surrogate": ("wiki17", wiki17(lines({"title": "\ud800", "text": ["a"]})), "not valid Unicode"),
        "deep": ("wiki17", wiki17(b"[" * 200_000 + b"\n"), "damaged after record 0"),
        "other columns": ("wiki18", gzip.compress(b"id\ttitle\ttext\n"), "the columns must be"),
        "no columns": ("wiki18", gzip.compress(b""), "the columns must be"),
        "two columns": ("wiki18", gzip.compress(b"id\ttext\ttitle\n1\tx\n"), "2 columns instead of 3 in line 2"),
        "an open quote": ("wiki18", gzip.compress(b'id\ttext\ttitle\n1\t"' + b"x\n" * 100_000), "field limit"),
        "latin-1": ("wiki18", gzip.compress(b"id\ttext\ttitle\n1\t\xff\tx\n"), "utf-8"),
        "cut tsv": ("wiki18", WIKI18[:-10], "end-of-stream"),
        "cut bz2": ("hotpotqa17", HOTPOTQA17[:-10], "end-of-stream"),
        "no bz2": ("hotpotqa17", WIKI17, "Invalid data stream"),
        "cut inside": ("hotpotqa17", tar({"a/b.bz2": inner[:-10]}, pack=bz2.compress), "end-of-stream"),
        "other inside": ("hotpotqa17", tar({"a/b.bz2": b"x" * 99}, pack=bz2.compress), "Invalid data stream"),
        "a number for a title": (
            "hotpotqa17",
            tar({"a/b.bz2": bz2.compress(lines({"id": 1, "title": 2, "text": []}))}, pack=bz2.compress),
            "a string is missing, there is 2",
        ),
    }


@pytest.mark.parametrize("case", damaged())
def test_a_damaged_archive_leaves_nothing_that_looks_finished(tmp_path: Path, case: str) -> None:
    name, archive, message = damaged()[case]
    file = tmp_path / "archive"
    file.write_bytes(archive)
    out = tmp_path / "out"
    with pytest.raises(RetrievalError, match=message) as caught:
        fetch(replace(SOURCES[name], size=None, sha256=None, records=None), out, file=file)
    assert str(file) in str(caught.value)
    assert files(out) == []


@pytest.mark.parametrize("records", [299, 301])
def test_the_records_are_counted(tmp_path: Path, records: int) -> None:
    file = tmp_path / "archive"
    file.write_bytes(BIG)
    with pytest.raises(RetrievalError, match=f"has 300 records instead of {records}"):
        fetch(replace(BIG_SOURCE, records=records), tmp_path / "out", file=file)
    assert files(tmp_path / "out") == []


def test_nothing_is_unpacked_to_the_paths_that_an_archive_names(tmp_path: Path) -> None:
    file = tmp_path / "archive"
    file.write_bytes(tar({"../../evil.jsonl": lines(*ABSTRACTS), "/evil.jsonl": b""}, pack=gzip.compress))
    assert fetch(replace(UNKNOWN, name="evil"), tmp_path / "x" / "out", file=file).passages == 2
    assert files(tmp_path) == ["archive", "x/out/corpus.json", "x/out/corpus.jsonl.gz"]


def test_a_full_disk_is_not_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(passage: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("retrieval.corpora.fetch.to_line", full)
    file = tmp_path / "archive"
    file.write_bytes(BIG)
    with pytest.raises(OSError, match="No space left"):
        fetch(BIG_SOURCE, tmp_path / "out", file=file)
    assert files(tmp_path / "out") == []


# --- callers


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus 'wiki19': choose one of wiki17, wiki18, hotpotqa17"):
        fetch("wiki19", tmp_path)
    with pytest.raises(UsageError, match="there is no file nowhere"):
        fetch("wiki17", tmp_path, file="nowhere")
    for url in "ftp://host/file", "file", "http://", "http://host:99999/file", "http://a\0b":
        with pytest.raises(UsageError, match="http://"):
            fetch("wiki17", tmp_path, url=url)
    for options in {"timeout": 0.0}, {"retries": -1}, {"backoff": -1.0}:
        with pytest.raises(UsageError, match="timeout must be above 0"):
            fetch("wiki17", tmp_path, **options)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot make the directory"):
        fetch("wiki17", tmp_path / "file")


@pytest.mark.parametrize("about", [None, b"rubbish", b"{}", b"[]", b'{"name": "wiki18"}'])
def test_other_files_are_not_overwritten(tmp_path: Path, about: bytes | None) -> None:
    (tmp_path / "corpus.jsonl.gz").write_bytes(b"mine")
    if about is not None:
        (tmp_path / "corpus.json").write_bytes(about)
    with pytest.raises(UsageError, match=r"corpus.jsonl.gz is not what fetching wiki17 makes"):
        fetch("wiki17", tmp_path)
    assert (tmp_path / "corpus.jsonl.gz").read_bytes() == b"mine"


def test_another_corpus_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "archive"
    file.write_bytes(BIG)
    fetch(BIG_SOURCE, tmp_path / "out", file=file)
    with pytest.raises(UsageError, match="choose another directory"):
        fetch("wiki18", tmp_path / "out")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is fetching"):
            fetch(BIG_SOURCE, tmp_path)


PROCESS = """
import sys
from retrieval.corpora.fetch import SOURCES, fetch
from dataclasses import replace
out, url, size, sha256 = sys.argv[1:]
source = replace(SOURCES["wiki17"], size=int(size), sha256=sha256, records=300)
fetch(source, out, url=url, progress=lambda doing, done, total: print(doing, flush=True))
"""


def start(out: Path, url: str) -> subprocess.Popen[str]:
    arguments: Sequence[str] = [str(out), url, str(len(BIG)), hashlib.sha256(BIG).hexdigest()]
    return subprocess.Popen([sys.executable, "-c", PROCESS, *arguments], stdout=subprocess.PIPE, text=True)


def test_a_killed_process_is_gone_on_with(tmp_path: Path) -> None:
    released = threading.Event()

    def half(handler: Handler) -> None:
        handler.answer(200, BIG[:150_000], ETag='"one"', Content_Length=str(len(BIG)))
        released.wait(60)

    with serving(half, sends(BIG)) as server:
        try:
            with start(tmp_path, server.url) as process:
                part = tmp_path / PART
                while process.poll() is None and not (part.exists() and part.stat().st_size > 100_000):
                    time.sleep(0.01)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                arrived = part.stat().st_size
        finally:
            released.set()
        assert files(tmp_path) == [PART, PART + ".json"]
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
    assert server.ranges == [None, f"bytes={arrived}-"]
    assert files(tmp_path) == WIKI17_FILES


def test_a_process_killed_after_the_last_byte_asks_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / PART).write_bytes(BIG)
    with serving(refuses(500)) as server:
        note = {"url": server.url, "validator": None, "total": len(BIG)}
        (tmp_path / (PART + ".json")).write_text(json.dumps(note))
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
        assert server.requests == []
    assert files(tmp_path) == WIKI17_FILES


def test_an_interrupted_unpacking_leaves_the_download(tmp_path: Path) -> None:
    def interrupt(doing: str, done: int, total: int | None) -> None:
        if doing == "unpacking":
            raise KeyboardInterrupt

    with serving(sends(BIG)) as server:
        with pytest.raises(KeyboardInterrupt):
            get(BIG_SOURCE, tmp_path, server, progress=interrupt)
        assert files(tmp_path) == ["downloads/wiki.abstracts.2017.tar.gz"]
        assert get(BIG_SOURCE, tmp_path, server).passages == 300
        assert len(server.requests) == 1
