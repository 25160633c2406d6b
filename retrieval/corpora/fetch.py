"""Named corpora: downloaded, checked and unpacked into JSON lines.

OUT/corpus.json            what the corpus is; written last, so where it is, the corpus is complete
    corpus.jsonl.gz        the passages, for `retrieval.corpora.reader.read`
    downloads/FILE         the archive as it is published; may be deleted when the corpus is there
    downloads/FILE.part    an unfinished download, and in FILE.part.json what the server said about it
"""

import bz2
import csv
import fcntl
import gzip
import hashlib
import io
import json
import os
import random
import re
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import httpx

from retrieval.errors import RetrievalError, UsageError
from retrieval.files import to_line
from retrieval.passage import Passage

__all__ = ["SOURCES", "Fetched", "Progress", "Source", "fetch"]

Progress = Callable[[str, int, int | None], object]
"""Called with what is being done ("downloading", "checking", "unpacking"), the bytes done, and all bytes or None."""

_BLOCK = 2**20  # bytes
_LONGEST_WAIT = 60.0  # seconds between two attempts, whatever the server asks for
_TRY_AGAIN = {408, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from, and what is known about it.

    Attributes:
        name: What `fetch` calls it.
        url: Of the archive; its last part is the name of the file.
        size: Bytes of the archive; None where unknown, and then not checked.
        sha256: Of the archive, in hexadecimal; None where unknown, and then not checked.
        records: How many records the archive has; None where unknown, and then not checked.
        licence: One line: the terms of the texts, and whom to name.
        parse: Streams the records of the archive, as passages whose text may be empty.
    """

    name: str
    url: str
    size: int | None
    sha256: str | None
    records: int | None
    licence: str
    parse: Callable[[IO[bytes]], Iterator[Passage]]

    @property
    def file(self) -> str:
        """The name of the archive."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Fetched:
    """A corpus that is complete.

    Attributes:
        corpus: The file to index, gzipped JSON lines.
        passages: How many it has.
        left_out: Records of the archive without any text, which no index could hold.
        unchecked: What could not be checked because it is not known: of "size", "sha256" and "records".
        licence: As in `Source`.
    """

    corpus: Path
    passages: int
    left_out: int
    unchecked: tuple[str, ...]
    licence: str


def fetch(
    source: str | Source,
    out: str | Path,
    *,
    url: str | None = None,
    file: str | Path | None = None,
    progress: Progress = lambda doing, done, total: None,
    retries: int = 4,
    backoff: float = 1.0,
    timeout: float = 30.0,
) -> Fetched:
    """Fetch a corpus into a directory; a corpus that is there already is left as it is.

    A download that broke off, in this call or an earlier one, goes on where it stopped if the server can do that and
    its file is still the same. An archive that was placed in ``OUT/downloads`` by hand is used as if it had been
    downloaded. Nothing looks finished before it is: files get their names when they are complete and checked.

    Args:
        source: A name of `SOURCES`, or a source of your own.
        out: The directory, made where it is missing.
        url: A mirror to download from; its file must be the same one.
        file: The archive, where it is on this machine already; it is read and left alone.
        progress: See `Progress`. A download that has to begin anew reports fewer bytes than before.
        retries: How often in a row to try again; an attempt that got further begins the count anew.
        backoff: Seconds before the first retry, doubled for each further one, less a random part of up to a half. A
            longer Retry-After of the server counts instead. Never more than 60.
        timeout: Seconds that the server may take to connect, and may stay silent.

    Raises:
        UsageError: an unknown name, a malformed URL, a missing file, a directory that holds something else or in
            which another process is fetching.
        RetrievalError: the archive cannot be downloaded (the message says where to place it by hand), is not the one
            that is expected, or is damaged.
        OSError: the disk is full, or something else with it is wrong.
    """
    if isinstance(source, str):
        if source not in SOURCES:
            raise UsageError(f"there is no corpus {source!r}: choose one of {', '.join(SOURCES)}")
        source = SOURCES[source]
    if not (timeout > 0 and retries >= 0 and backoff >= 0):
        raise UsageError(f"timeout must be above 0, retries and backoff 0 or more, not {timeout}, {retries}, {backoff}")
    out, address = Path(out), _parse_url(url or source.url)
    with _locked(out):
        if (fetched := _finished(source, out)) is not None:
            return fetched
        if file is not None:
            archive = Path(file)
            if not archive.is_file():
                raise UsageError(f"there is no file {archive}")
        else:
            archive = out / "downloads" / source.file
        if archive.exists():
            try:
                sha256 = _check(source, archive, progress)
            except RetrievalError as error:
                raise RetrievalError(f"{archive} {error}: replace it") from error
        else:
            sha256 = _Download(source, address, archive, progress, retries, backoff, timeout).run()
        return _unpack(source, archive, sha256, out, progress)


# --- archives


class _BadRecord(Exception):
    """What is wrong with a record."""


def _wiki17(archive: IO[bytes]) -> Iterator[Passage]:
    """A gzipped tar with a file of JSON lines {"title": …, "text": [sentence, …]}; ids count the lines from 0."""
    with gzip.open(archive) as tar:
        for number, line in enumerate(chain.from_iterable(_members(tar, ".jsonl"))):
            fields = _fields(line)
            yield Passage(str(number), _joined(fields.get("text")), _string(fields.get("title")))


def _wiki18(archive: IO[bytes]) -> Iterator[Passage]:
    """Gzipped tab-separated values with a header: id, text and title, quoted as in CSV files where need be."""
    with gzip.open(archive) as packed:
        rows = csv.reader(io.TextIOWrapper(packed, "utf-8", newline=""), "excel-tab")
        if (header := next(rows, None)) != ["id", "text", "title"]:
            raise _BadRecord(f"the columns must be id, text and title, not {header}")
        for row in rows:
            if len(row) != 3:
                raise _BadRecord(f"{len(row)} columns instead of 3 in line {rows.line_num}")
            identifier, text, title = row
            yield Passage(identifier, text, title)


def _hotpotqa17(archive: IO[bytes]) -> Iterator[Passage]:
    """A bzipped tar of many bzipped files of JSON lines {"id": …, "title": …, "text": [sentence, …], …}.

    The sentences are plain text; the same ones with HTML links are in a field of their own, which is not read. Titles
    stay as they are (``&amp;``), for the questions name them so.
    """
    with bz2.open(archive) as tar:
        for file in _members(tar, ".bz2"):
            with bz2.open(file) as lines:
                for line in lines:
                    fields = _fields(line)
                    identifier = fields.get("id")
                    if type(identifier) is int:
                        identifier = str(identifier)
                    yield Passage(_string(identifier), _joined(fields.get("text")), _string(fields.get("title")))


def _members(tar: IO[bytes] | gzip.GzipFile, suffix: str) -> Iterator[IO[bytes]]:
    """The files of a tar whose names end like that, as streams: nothing is unpacked to a path."""
    found = False
    with tarfile.open(fileobj=tar, mode="r|") as members:
        for member in members:
            if member.name.endswith(suffix) and (file := members.extractfile(member)) is not None:
                found = True
                yield file
    if not found:
        raise _BadRecord(f"it holds no {suffix} file")
    while tar.read(_BLOCK):  # to where the compressed stream has its checksum
        pass


def _fields(line: bytes) -> dict[str, Any]:
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise _BadRecord(f"not a JSON object: {line[:40]!r}")
    return fields


def _joined(sentences: Any) -> str:
    """One text of sentences that may or may not begin with the space between them."""
    if not isinstance(sentences, list):
        raise _BadRecord("a text that is not a list of sentences")
    return " ".join(filter(None, (_string(sentence).strip() for sentence in sentences)))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _BadRecord(f"a string is missing, there is {str(value)[:40]}")
    return value


# Sizes, checksums and counts are what others published who downloaded the same files.
SOURCES = {
    source.name: source
    for source in (
        Source(
            name="wiki17",
            url="https://huggingface.co/dspy/cache/resolve/ef6a5e72a98b47cef31574a400fea8fe149559a3/"
            "wiki.abstracts.2017.tar.gz",
            size=608_448_121,
            sha256="744183e61af986bde9b25c880b59c1502618a8b673671e189cbc0ee684fceb42",
            records=5_233_330,
            licence="English Wikipedia of October 2017, by its contributors, CC BY-SA 3.0 "
            "(https://creativecommons.org/licenses/by-sa/3.0/); abstracts as distributed by DSPy",
            parse=_wiki17,
        ),
        Source(
            name="wiki18",
            url="https://dl.fbaipublicfiles.com/dpr/wikipedia_split/psgs_w100.tsv.gz",
            size=4_694_541_059,
            sha256="c39b020c855a2b5c25ffef3abe4a3b6f9b829ad7dbc14ec3d163d34d7c53ea8d",
            records=21_015_324,
            licence="English Wikipedia of December 2018, by its contributors, CC BY-SA 3.0 "
            "(https://creativecommons.org/licenses/by-sa/3.0/); passages of DPR (Karpukhin et al., 2020), CC BY-NC 4.0",
            parse=_wiki18,
        ),
        Source(
            name="hotpotqa17",
            url="https://nlp.stanford.edu/projects/hotpotqa/"
            "enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2",
            size=1_553_565_403,
            sha256="1acca1c5cc93c4890ea51091d2bad7c3ef6987aead127ab88728dc9e26555729",
            records=5_233_329,
            licence="English Wikipedia of October 2017, by its contributors, as processed for HotpotQA (Yang et al., "
            "2018), CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)",
            parse=_hotpotqa17,
        ),
    )
}
"""The corpora that can be fetched by name."""


# --- downloading


class _Again(Exception):
    """Why an attempt failed that may go better another time, and how many seconds the server asks to wait."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class _Download:
    """One archive on its way from a server to a path."""

    def __init__(
        self,
        source: Source,
        url: httpx.URL,
        path: Path,
        progress: Progress,
        retries: int,
        backoff: float,
        timeout: float,
    ) -> None:
        self._source, self._path, self._progress = source, path, progress
        self._retries, self._backoff, self._timeout = retries, backoff, timeout
        self._part = path.with_name(path.name + ".part")
        self._note = path.with_name(path.name + ".part.json")
        self._auth = (url.username, url.password) if url.userinfo else None
        self._url = url.copy_with(userinfo=b"")
        self._shown = str(self._url.copy_with(query=None, fragment=None))  # a query may hold a key

    def run(self) -> str:
        """Download and check; returns the SHA-256."""
        self._path.parent.mkdir(exist_ok=True)
        # Servers must not compress what is compressed: ranges count the bytes of the file as it is.
        headers = {"Accept-Encoding": "identity"}
        with httpx.Client(auth=self._auth, timeout=self._timeout, follow_redirects=True, headers=headers) as client:
            self._persist(client)
        try:
            sha256 = _check(self._source, self._part, self._progress)
        except RetrievalError as error:
            self._part.unlink()
            raise RetrievalError(f"{self._shown} {error}; {self._by_hand}") from error
        self._part.rename(self._path)
        self._note.unlink()
        return sha256

    def _persist(self, client: httpx.Client) -> None:
        furthest, failures = self._have(), 0
        while True:
            wait = 0.0
            try:
                return self._attempt(client)
            except _Again as error:
                problem, wait = str(error), error.wait
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
            except httpx.RequestError as error:
                raise self._failure(str(error)) from error
            if self._have() > furthest:
                furthest, failures = self._have(), 0
            failures += 1
            if failures > self._retries:
                raise self._failure(problem)
            wait = max(wait, self._backoff * 2 ** (failures - 1) * random.uniform(0.5, 1))
            time.sleep(min(wait, _LONGEST_WAIT))

    def _attempt(self, client: httpx.Client) -> None:
        """One request, for what is missing."""
        size, note = self._source.size, self._read_note()
        have = self._have() if note.get("url") == self._shown else 0  # bytes that are there and to be kept
        if have and have == (size or note["total"]):
            return  # stopped when everything had arrived
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and note["validator"]:
            headers["If-Range"] = note["validator"]
        with client.stream("GET", self._url, headers=headers) as response:
            said, validator = response.status_code, _validator(response.headers)
            if said == 206 and have:
                start, total = _content_range(response.headers)
                if start != have or _differ(total, note["total"]) or _differ(validator, note["validator"]):
                    self._note.unlink()
                    raise _Again("the server did not go on where it stopped")
                total, validator = total or note["total"], validator or note["validator"]
            elif said == 416 and have:
                self._note.unlink()
                raise _Again("the server has no more than what it sent before")
            elif said == 200:
                have, total = 0, _length(response.headers)
            elif said in _TRY_AGAIN:
                raise _Again(f"the server answers {_status(said)}", _length(response.headers, "retry-after") or 0.0)
            else:
                raise self._failure(f"the server answers {_status(said)}")
            if size is not None and total not in (None, size):
                raise self._failure(f"the server's file has {total:,} bytes instead of {size:,}")
            expected = size if size is not None else total
            with self._part.open("ab") as file:
                file.truncate(have)  # before the note: what is there is never taken for a part of another file
                self._write_note({"url": self._shown, "validator": validator, "total": total})
                for block in response.iter_raw():  # as they come: a block size would lose what is short of one
                    have += file.write(block)
                    if expected is not None and have > expected:
                        raise self._failure(f"the server sends more than {expected:,} bytes")
                    self._progress("downloading", have, expected)
        if expected is not None and have < expected:
            raise _Again(f"the server broke off after {have:,} of {expected:,} bytes")

    def _have(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _read_note(self) -> dict[str, Any]:
        try:
            note = json.loads(self._note.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # nobody knows what the part is a part of
        return note if isinstance(note, dict) and {"url", "validator", "total"} <= note.keys() else {}

    def _write_note(self, note: dict[str, Any]) -> None:
        self._note.write_text(json.dumps(note), encoding="utf-8")

    @property
    def _by_hand(self) -> str:
        return (
            f"try again, or place {self._source.file} in {self._path.parent} by hand (or name it with --file) "
            "and run this again"
        )

    def _failure(self, problem: str) -> RetrievalError:
        return RetrievalError(f"cannot download {self._shown} ({problem}): {self._by_hand}")


def _parse_url(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 2**16:
        raise UsageError("the URL must begin with http:// or https:// and name a host")  # it may hold a password
    return parsed


def _validator(headers: httpx.Headers) -> str | None:
    """What If-Range takes: a strong ETag, or else the date."""
    etag: str = headers.get("etag", "")
    return etag if etag.startswith('"') else headers.get("last-modified")


def _content_range(headers: httpx.Headers) -> tuple[int, int | None] | tuple[None, None]:
    """The first byte sent and the bytes of the whole file."""
    match = re.fullmatch(r"bytes (\d{1,18})-\d{1,18}/(?:(\d{1,18})|\*)", headers.get("content-range", ""), re.ASCII)
    return (int(match[1]), int(match[2]) if match[2] else None) if match else (None, None)


def _length(headers: httpx.Headers, name: str = "content-length") -> int | None:
    value = headers.get(name, "")
    return int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else None


def _differ(one: object, other: object) -> bool:
    return None not in (one, other) and one != other


def _status(code: int) -> str:
    return f"{code} {httpx.codes.get_reason_phrase(code)}".strip()


# --- checking and unpacking


def _check(source: Source, archive: Path, progress: Progress) -> str:
    """The SHA-256 of an archive that is as it should be; errors are to follow its name."""
    size = archive.stat().st_size
    if source.size not in (None, size):
        raise RetrievalError(f"has {size:,} bytes instead of {source.size:,}")
    digest, done = hashlib.sha256(), 0
    with archive.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            progress("checking", done, size)
    if source.sha256 not in (None, digest.hexdigest()):
        raise RetrievalError(f"is not the published {source.file}: its SHA-256 is {digest.hexdigest()}")
    return digest.hexdigest()


def _unpack(source: Source, archive: Path, sha256: str, out: Path, progress: Progress) -> Fetched:
    corpus, part = out / "corpus.jsonl.gz", out / "corpus.jsonl.gz.part"
    try:
        with part.open("wb") as file:
            passages, left_out = _convert(source, archive, file, progress)
            file.flush()
            os.fsync(file.fileno())
        if source.records not in (None, passages + left_out):
            raise RetrievalError(f"{archive} has {passages + left_out:,} records instead of {source.records:,}")
        part.rename(corpus)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    about = {
        "name": source.name,
        "url": source.url,
        "archive_bytes": archive.stat().st_size,
        "archive_sha256": sha256,
        "passages": passages,
        "left_out": left_out,
        "corpus_bytes": corpus.stat().st_size,
        "unchecked": [key for key in ("size", "sha256", "records") if getattr(source, key) is None],
        "licence": source.licence,
    }
    part = out / "corpus.json.part"
    part.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.rename(out / "corpus.json")
    return _fetched(about, corpus)


def _convert(source: Source, archive: Path, file: IO[bytes], progress: Progress) -> tuple[int, int]:
    """Write the passages of an archive; returns how many, and how many records had no text."""
    total, passages, left_out, done = archive.stat().st_size, 0, 0, 0
    # The lowest level: four times as fast as level 6, for a sixth more bytes.
    with archive.open("rb") as packed, gzip.GzipFile("", "wb", 1, file, mtime=0) as lines:
        try:
            for passage in source.parse(packed):
                if passage.text.strip():
                    lines.write(to_line(passage))
                    passages += 1
                else:
                    left_out += 1
                if (position := packed.tell()) > done:
                    progress("unpacking", position, total)
                    done = position
        except (_BadRecord, EOFError, zlib.error, tarfile.TarError, csv.Error, ValueError, RecursionError) as error:
            raise _damaged(archive, passages + left_out, error) from error
        except OSError as error:
            if error.errno is not None:  # the disk, not the archive
                raise
            raise _damaged(archive, passages + left_out, error) from error
    return passages, left_out


def _damaged(archive: Path, records: int, error: Exception) -> RetrievalError:
    return RetrievalError(f"{archive} is damaged after record {records:,} ({error}): delete it and fetch it again")


def _finished(source: Source, out: Path) -> Fetched | None:
    """What is in the directory already.

    Raises:
        UsageError: it is something else.
    """
    corpus = out / "corpus.jsonl.gz"
    if not corpus.exists():
        return None
    try:
        about = json.loads((out / "corpus.json").read_bytes())
        fetched = _fetched(about, corpus)
        if (about["name"], about["corpus_bytes"]) == (source.name, corpus.stat().st_size):
            return fetched
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        pass
    raise UsageError(f"{corpus} is not what fetching {source.name} makes: delete it, or choose another directory")


def _fetched(about: dict[str, Any], corpus: Path) -> Fetched:
    return Fetched(corpus, about["passages"], about["left_out"], tuple(about["unchecked"]), about["licence"])


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keeps other processes from fetching into the same directory, which is made."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {out}: {error.strerror}") from error
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another process is fetching into {out}") from error
        yield
