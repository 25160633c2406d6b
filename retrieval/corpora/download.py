"""Fetching corpora by name: downloaded, checked and unpacked into JSON lines.

OUT/corpus.json            what the corpus is; written last, so where it is, the corpus is complete
    corpus.jsonl.gz        the passages, for `retrieval.corpora.read`
    downloads/FILE         the archive as it is published; may be deleted when the corpus is there
    downloads/FILE.part    an unfinished or unchecked download, and in FILE.part.version what If-Range needs
    downloads/hub          the same for files on the Hugging Face hub, as its library keeps them
"""

import json
import re
import shutil
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from odqa.deadlines import until
from odqa.errors import RetrievalError, UsageError
from odqa.files import json_page, locked, read_whole, write_whole
from odqa.http import TRY_AGAIN, asked_wait, bounded, one_line, parse_url, seconds_to_wait, status_text
from retrieval.corpora.archives import ByteProgress, check_archive, unpack
from retrieval.corpora.catalogue import SOURCES, HubFile, Source

__all__ = ["Fetched", "fetch"]

_RETRIES = 4  # in a row without getting further; after progress the count starts again at 0
_BACKOFF = 1.0  # seconds before the first retry
_LONGEST_WAIT = 60.0  # seconds between two attempts, whatever the server asks for
_TIMEOUT = 30.0  # seconds that the server may take to connect, and may stay silent
_HEAD = 120.0  # seconds that all redirects and the head of the reply may take
_BLOCK = 2**20  # bytes of a redirect's body
_LARGEST = 2**36  # bytes of a file of which nobody says how large it is, fifteen times those of the largest known


@dataclass(frozen=True)
class Fetched:
    """A corpus that is complete.

    Attributes:
        corpus: The file to index, gzipped JSON lines.
        passages: How many it has.
        left_out: Records of the archive without any text, which no index could hold.
        unchecked: What could not be checked because it is unknown, of "size", "sha256" and "records".
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
    progress: ByteProgress = lambda doing, done, total: None,
) -> Fetched:
    """Fetch a corpus into a directory; a corpus that is there already is left as it is.

    A download that broke off, in this call or an earlier one, goes on where it stopped if the server allows that and
    its file is still the same. An archive that was placed in ``OUT/downloads`` by hand is used like a download. Nothing
    looks finished before it is: files get their names when they are complete and checked.

    Args:
        source: A name in `SOURCES`, or a source of your own.
        out: The directory; made if it is missing.
        url: A mirror to download from; its file must be the same one.
        file: The archive, if it is on this machine already; it is read and not changed.
        progress: See `ByteProgress`. A download that has to start again reports fewer bytes than before. While a file
            comes from the hub, the hub's library shows its own progress bar instead.

    Raises:
        UsageError: an unknown name, a malformed URL, a missing file, or a directory that holds something else or into
            which another process is fetching.
        RetrievalError: the archive cannot be downloaded (the message says where to place it by hand), is not the
            expected one, or is damaged.
        OSError: the disk is full, or something else is wrong with it.
    """
    if isinstance(source, str):
        if source not in SOURCES:
            raise UsageError(f"there is no corpus {source!r}: choose one of {', '.join(SOURCES)}")
        source = SOURCES[source]
    out = Path(out)
    if url is not None:
        parse_url(url, "https://example.org/FILE")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory {out}: {error.strerror}") from error
    with locked(out / ".lock", f"another process is fetching into {out}"):
        if (fetched := _finished(source, out)) is not None:
            return fetched
        archive = out / "downloads" / source.file if file is None else Path(file)
        if archive.is_file():
            try:
                sha256 = check_archive(archive, source.size, source.sha256, progress)
            except RetrievalError as error:
                raise RetrievalError(f"{error}: replace it") from error
        elif file is not None:
            raise UsageError(f"there is no file {archive}")
        else:
            sha256 = _download(source, url or source.location, archive, progress)
        return _unpacked(source, archive, sha256, out, progress)


def _unpacked(source: Source, archive: Path, sha256: str, out: Path, progress: ByteProgress) -> Fetched:
    """The corpus of an archive that was checked, written to the directory with what it is."""
    corpus = out / "corpus.jsonl.gz"
    passages, left_out = unpack(archive, source.read_archive, source.records, corpus, progress)
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
    write_whole(out / "corpus.json", json_page(about))
    return _fetched(about, corpus)


def _finished(source: Source, out: Path) -> Fetched | None:
    """The corpus in the directory, if there is one.

    Raises:
        UsageError: there is something else.
    """
    corpus = out / "corpus.jsonl.gz"
    if not corpus.exists():
        return None
    try:
        about = json.loads(read_whole(out / "corpus.json"))
        fetched = _fetched(about, corpus)
        if (about["name"], about["corpus_bytes"]) == (source.name, corpus.stat().st_size):
            return fetched
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        pass
    raise UsageError(f"{corpus} is not what fetching {source.name} makes: delete it, or choose another directory")


def _fetched(about: dict[str, Any], corpus: Path) -> Fetched:
    return Fetched(corpus, about["passages"], about["left_out"], tuple(about["unchecked"]), about["licence"])


class _Failed(Exception):
    """Why a file cannot be downloaded."""


class _Interrupted(Exception):
    """Why an attempt failed that may succeed later, and how many seconds the server asks to wait."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


def _download(source: Source, location: HubFile | str, archive: Path, progress: ByteProgress) -> str:
    """Download an archive and check it; returns its SHA-256."""
    folder = archive.parent
    folder.mkdir(exist_ok=True)
    by_hand = f"try again, or place {archive.name} in {folder} by hand (or name it with --file) and run this again"
    address = location.url if isinstance(location, HubFile) else location
    shown = str(parse_url(address, "")[0].copy_with(query=None))  # a query may hold a key
    try:
        if isinstance(location, HubFile):
            part = _download_from_hub(location, folder / "hub")
        else:
            part = folder / f"{archive.name}.part"
            _download_from_url(location, part, source.size, progress)
    except _Failed as error:
        raise RetrievalError(f"cannot download {shown} ({one_line(error)}): {by_hand}") from error
    try:
        sha256 = check_archive(part, source.size, source.sha256, progress)
    except RetrievalError as error:
        part.unlink()
        raise RetrievalError(f"{error}; it came from {shown}: {by_hand}") from error
    part.replace(archive)
    shutil.rmtree(folder / "hub", ignore_errors=True)
    return sha256


def _download_from_hub(file: HubFile, folder: Path) -> Path:
    """Download a file from the hub; the library resumes and retries. It names the file before its SHA-256 is checked,
    so the folder is not the one in which checked archives are."""
    import huggingface_hub

    try:
        return Path(
            huggingface_hub.hf_hub_download(file.repository, file.path, revision=file.revision, local_dir=folder)
        )
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:  # which ones depends on the version
        if getattr(error, "errno", None) is not None and not isinstance(error, ConnectionError):
            raise  # the disk
        raise _Failed(str(error) or type(error).__name__) from error


def _download_from_url(url: str, part: Path, size: int | None, progress: ByteProgress) -> None:
    """Download a file to `part`, going on with what is there already, until it is complete."""
    target, auth = parse_url(url, "")
    furthest, failures = _bytes_in(part), 0
    # Servers must not compress what is compressed: ranges count the bytes of the file as it is.
    headers = {"Accept-Encoding": "identity"}
    client = httpx.Client(auth=auth, timeout=_TIMEOUT, follow_redirects=True, headers=headers)
    with bounded(client, _BLOCK, of_redirects=True):
        while True:
            wait = 0.0
            try:
                return _attempt(client, target, part, size, progress)
            except _Interrupted as error:
                problem, wait = str(error), error.wait
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            except httpx.RequestError as error:
                raise _Failed(str(error)) from error
            if _bytes_in(part) > furthest:
                furthest, failures = _bytes_in(part), 0
            if failures == _RETRIES:
                raise _Failed(problem)
            time.sleep(seconds_to_wait(failures, _BACKOFF, wait, _LONGEST_WAIT))
            failures += 1


def _attempt(client: httpx.Client, url: httpx.URL, part: Path, size: int | None, progress: ByteProgress) -> None:
    """One request, for what is missing; what arrives is in `part` whatever happens."""
    note = part.with_name(f"{part.name}.version")  # by this the server knows the file of which `part` is a part
    version = note.read_text(encoding="utf-8") if note.is_file() else None
    if version is not None and size is not None and _bytes_in(part) == size:
        note.unlink()
        return
    have = _bytes_in(part) if version else 0  # bytes to keep
    headers = {"Range": f"bytes={have}-", "If-Range": version} if have and version else {}
    with until(time.monotonic() + _HEAD):
        response = client.send(client.build_request("GET", url, headers=headers), stream=True)
    with closing(response):
        status = response.status_code
        first, total = _extent(response)
        if status in TRY_AGAIN:
            raise _Interrupted(f"the server answers {status_text(status)}", asked_wait(response.headers))
        goes_on = status == 206 and first == have and _version(response) in (None, version)
        if have and status in (206, 416) and not goes_on:
            note.unlink()
            raise _Interrupted("the server does not go on where it stopped")
        if status != 200 and not (have and goes_on):
            raise _Failed(f"the server answers {status_text(status)}")
        if size is not None and total not in (None, size):
            raise _Failed(f"the server's file has {total:,} bytes instead of {size:,}")
        have, expected = first or 0, size if size is not None else total
        most = min(expected or _LARGEST, _LARGEST)
        with part.open("ab") as file:
            file.truncate(have)  # before the note changes: these bytes must not be taken for another file's
            if status == 200:
                note.write_text(_version(response) or "", encoding="utf-8")
            for block in response.iter_raw():  # no block size: it would lose the last, shorter block when cut off
                have += file.write(block)
                if have > most:
                    raise _Failed(f"the server sends more than {most:,} bytes")
                progress("downloading", have, expected)
    if expected is not None and have < expected:
        raise _Interrupted(f"the server broke off after {have:,} of {expected:,} bytes")
    note.unlink()


def _bytes_in(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _version(response: httpx.Response) -> str | None:
    """What If-Range takes: a strong ETag, or else the date."""
    etag: str = response.headers.get("etag", "")
    return etag if etag.startswith('"') else response.headers.get("last-modified")


def _extent(response: httpx.Response) -> tuple[int | None, int | None]:
    """The first byte that the response sends, and the bytes of the whole file, as far as it says so."""
    if response.status_code == 206:
        match = re.match(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})?", response.headers.get("content-range", ""), re.ASCII)
        return (int(match[1]), int(match[2]) if match[2] else None) if match else (None, None)
    length = response.headers.get("content-length", "")
    return 0, int(length) if re.fullmatch(r"\d{1,18}", length, re.ASCII) else None
