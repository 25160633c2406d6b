"""Fetching corpora from servers on this machine that break off, lie and change their minds."""

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.corpus_archives import ARCHIVES, BIG, BIG_RECORDS, READ
from support.patience import PATIENCE, eventually
from support.scripted_server import Behaviour, Handler, ScriptedServer, serving

from retrieval import RetrievalError, UsageError
from retrieval.corpora import download, read
from retrieval.corpora.catalogue import SOURCES, HubFile, Source
from retrieval.corpora.download import Fetched, fetch

SHA256 = hashlib.sha256(BIG).hexdigest()
SOURCE = replace(SOURCES["wiki17"], size=len(BIG), sha256=SHA256, records=BIG_RECORDS)
UNKNOWN = replace(SOURCE, size=None, sha256=None, records=None)
ARCHIVE = "downloads/wiki.abstracts.2017.tar.gz"
PART = f"{ARCHIVE}.part"
NOTE = f"{PART}.version"
WHOLE = ["corpus.json", "corpus.jsonl.gz", ARCHIVE]


def sends(
    content: bytes,
    *,
    stop: int | None = None,
    ranges: bool = True,
    etag: str | None = '"one"',
    length: int | None = None,
    honest: bool = True,
) -> Behaviour:
    """A file server; each answer breaks off after `stop` bytes. One that is not `honest` ignores If-Range."""

    def behave(handler: Handler) -> None:
        status, start, asked = 200, 0, handler.headers.get("range")
        headers = {"ETag": etag} if etag else {}
        if ranges and asked and (not honest or handler.headers.get("if-range") == etag):
            status, start = 206, int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return handler.answer(416)
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if length != 0:
            headers["Content-Length"] = str(length or len(content) - start)
        return handler.answer(status, content[start:][:stop], **headers)

    return behave


def refuses(status: int, **headers: str) -> Behaviour:
    return lambda handler: handler.answer(status, **headers)


def get(source: str | Source, out: Path, server: ScriptedServer) -> Fetched:
    return fetch(source, out, url=f"{server.url}/some/archive")


def ranges(server: ScriptedServer) -> list[str | None]:
    return [headers.get("range") for headers in server.headers]


def files(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path.name != ".lock")


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that would have been waited between attempts."""
    waits: list[float] = []
    monkeypatch.setattr(download, "time", SimpleNamespace(sleep=waits.append, monotonic=time.monotonic))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return waits


class TestWhole:
    @pytest.mark.parametrize("name", SOURCES)
    def test_a_corpus_is_fetched_checked_and_unpacked_once(self, tmp_path: Path, name: str) -> None:
        sha256 = hashlib.sha256(ARCHIVES[name]).hexdigest()
        source = replace(SOURCES[name], size=len(ARCHIVES[name]), sha256=sha256, records=None)
        with serving(sends(ARCHIVES[name])) as server:
            fetched = get(source, tmp_path / "a" / "b", server)
            assert get(source, tmp_path / "a" / "b", server) == fetched
            assert len(server.requests) == 1
        assert [(p.id, p.title, p.text) for p in read(fetched.corpus)] == READ[name]
        assert (fetched.passages, fetched.unchecked, fetched.licence) == (2, ("records",), source.licence)
        about = json.loads((tmp_path / "a" / "b" / "corpus.json").read_text(encoding="utf-8"))
        assert (about["archive_sha256"], about["name"], about["url"]) == (sha256, name, source.url)

    def test_progress_reaches_the_sizes(self, tmp_path: Path) -> None:
        told: dict[str, tuple[int, int | None]] = {}
        with serving(sends(BIG)) as server:
            fetch(SOURCE, tmp_path, url=server.url, progress=lambda doing, *step: told.update({doing: step}))
        assert told == dict.fromkeys(["downloading", "checking", "unpacking"], (len(BIG), len(BIG)))
        assert files(tmp_path) == WHOLE

    def test_what_is_unknown_is_not_checked_and_that_is_said(self, tmp_path: Path) -> None:
        with serving(sends(BIG, length=0)) as server:
            assert get(UNKNOWN, tmp_path, server).unchecked == ("size", "sha256", "records")


class TestFromUrl:
    def test_goes_on_where_a_download_broke_off(self, tmp_path: Path) -> None:
        with serving(sends(BIG, stop=100_000)) as server:
            assert get(SOURCE, tmp_path, server).passages == BIG_RECORDS
        assert ranges(server)[:3] == [None, "bytes=100000-", "bytes=200000-"]
        assert server.headers[1]["if-range"] == '"one"'
        assert files(tmp_path) == WHOLE

    def test_goes_on_in_a_later_call(self, tmp_path: Path) -> None:
        with serving(sends(BIG, stop=100_000), refuses(404)) as server:
            with pytest.raises(RetrievalError, match="the server answers 404 Not Found"):
                get(SOURCE, tmp_path, server)
            assert files(tmp_path) == [PART, NOTE]
            server.behaviours[:] = [sends(BIG)]
            get(SOURCE, tmp_path, server)
        assert ranges(server)[-1] == "bytes=100000-"

    def test_starts_again_where_the_server_ignores_ranges_but_not_for_ever(self, tmp_path: Path) -> None:
        with (
            serving(sends(BIG, stop=100_000, ranges=False)) as server,
            pytest.raises(RetrievalError, match="peer closed connection"),
        ):
            get(SOURCE, tmp_path, server)
        assert len(server.requests) == 5

    @pytest.mark.parametrize(
        ("etags", "honest"),
        [(('"one"', '"two"'), True), (('"one"', '"two"'), False), (('W/"weak"', 'W/"weak"'), False)],
    )
    def test_starts_again_where_the_file_may_have_changed(
        self, tmp_path: Path, etags: tuple[str | None, str | None], honest: bool
    ) -> None:
        old = bytes(len(BIG) + 1000)
        with serving(sends(old, stop=100_000, etag=etags[0]), sends(BIG, etag=etags[1], honest=honest)) as server:
            assert get(UNKNOWN, tmp_path, server).passages == BIG_RECORDS

    @pytest.mark.parametrize("where", ["bytes 5-9/10", ""])
    def test_starts_again_where_the_server_goes_on_elsewhere(self, tmp_path: Path, where: str) -> None:
        elsewhere: Behaviour = lambda handler: handler.answer(206, b"wrong", Content_Range=where, ETag='"one"')  # noqa: E731
        with serving(sends(BIG, stop=100_000), elsewhere, sends(BIG)) as server:
            get(SOURCE, tmp_path, server)
        assert ranges(server) == [None, "bytes=100000-", None]

    def test_a_part_of_which_nobody_knows_whose_it_is_is_not_kept(self, tmp_path: Path) -> None:
        (tmp_path / "downloads").mkdir()
        (tmp_path / PART).write_bytes(b"whatever")
        with serving(sends(BIG)) as server:
            get(SOURCE, tmp_path, server)
        assert ranges(server) == [None]

    def test_waits_before_it_tries_again_as_long_as_the_server_asks(self, tmp_path: Path, waits: list[float]) -> None:
        busy = [refuses(429, Retry_After="7"), refuses(503, Retry_After="9999"), refuses(500), sends(BIG)]
        with serving(*busy) as server:
            get(SOURCE, tmp_path, server)
        assert waits[:2] == [7.0, 60.0]
        assert 2 <= waits[2] <= 4

    @pytest.mark.parametrize("status", [404, 204])
    def test_does_not_try_again_what_cannot_help(self, tmp_path: Path, status: int) -> None:
        with serving(refuses(status)) as server, pytest.raises(RetrievalError, match=f"the server answers {status} "):
            get(SOURCE, tmp_path, server)
        assert len(server.requests) == 1

    def test_follows_redirects_and_keeps_the_password_to_itself(self, tmp_path: Path) -> None:
        with serving(sends(BIG)) as target, serving(refuses(302, Location=target.url)) as server:
            fetch(SOURCE, tmp_path, url=server.url.replace("//", "//user:secret@"))
            server.behaviours[:] = [refuses(302, Location="/round")]
            with pytest.raises(RetrievalError, match="redirects"):
                get(SOURCE, tmp_path / "other", server)
        assert server.headers[0]["authorization"].startswith("Basic ")
        assert "authorization" not in target.headers[0]

    def test_a_silent_server_is_not_waited_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(download, "_TIMEOUT", 0.2)
        done = threading.Event()
        with serving(lambda handler: done.wait(PATIENCE), sends(BIG)) as server:
            try:
                get(SOURCE, tmp_path, server)
            finally:
                done.set()

    def test_a_file_of_another_size_is_refused_at_once(self, tmp_path: Path) -> None:
        with (
            serving(sends(BIG, length=len(BIG) + 1)) as server,
            pytest.raises(RetrievalError, match=rf"has {len(BIG) + 1:,} bytes instead of {len(BIG):,}"),
        ):
            get(SOURCE, tmp_path, server)
        assert len(server.requests) == 1
        assert files(tmp_path) == []

    def test_a_server_that_never_stops_is_stopped(self, tmp_path: Path) -> None:
        with (
            serving(sends(BIG + bytes(5_000_000), length=0)) as server,
            pytest.raises(RetrievalError, match=f"sends more than {len(BIG):,} bytes"),
        ):
            get(SOURCE, tmp_path, server)

    def test_what_nobody_says_the_size_of_has_a_bound(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(download, "_LARGEST", 100_000)
        for length in None, 0:  # told by the server, and not
            with (
                serving(sends(BIG, length=length)) as server,
                pytest.raises(RetrievalError, match="sends more than 100,000 bytes"),
            ):
                get(UNKNOWN, tmp_path, server)

    @pytest.mark.parametrize("what", ["the head", "a redirect"])
    def test_before_the_file_comes_there_is_a_total_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        monkeypatch.setattr(download, "_HEAD", 0.2)

        def drips(handler: Handler) -> None:
            head = b"Location: /\r\nContent-Length: 1000\r\n\r\n" if what == "a redirect" else b"x: "
            handler.wfile.write(b"HTTP/1.1 302 Found\r\n" + head)
            for _ in range(100):
                handler.wfile.write(b" ")
                threading.Event().wait(0.02)

        with serving(drips) as server, pytest.raises(RetrievalError, match="ReadTimeout"):
            get(SOURCE, tmp_path, server)

    def test_a_redirect_may_not_be_long(self, tmp_path: Path) -> None:
        long: Behaviour = lambda handler: handler.answer(302, bytes(2_000_000), Location="/")  # noqa: E731
        with serving(long) as server, pytest.raises(RetrievalError, match="sent more than 1,048,576 bytes"):
            get(SOURCE, tmp_path, server)

    def test_a_file_cut_short_is_never_unpacked(self, tmp_path: Path) -> None:
        with serving(sends(BIG, stop=len(BIG) - 5000, length=0, ranges=False)) as server:
            with pytest.raises(RetrievalError, match=f"broke off after {len(BIG) - 5000:,} of {len(BIG):,} bytes"):
                get(SOURCE, tmp_path, server)
            with pytest.raises(RetrievalError, match=r"is damaged after record .*delete it and fetch it again"):
                get(UNKNOWN, tmp_path / "unknown", server)
        assert files(tmp_path) == [PART, NOTE, f"unknown/{ARCHIVE}"]

    def test_another_file_of_the_same_size_is_refused_and_removed(self, tmp_path: Path) -> None:
        with serving(sends(bytes(len(BIG))), sends(BIG)) as server:
            with pytest.raises(RetrievalError, match="is not the published file") as caught:
                get(SOURCE, tmp_path, server)
            assert server.url in str(caught.value)
            assert files(tmp_path) == []
            get(SOURCE, tmp_path, server)
        assert files(tmp_path) == WHOLE


class TestFromHub:
    """The hub's library against a server that speaks as much of its protocol as a download needs."""

    SOURCE = replace(SOURCE, location=HubFile("dspy/cache", "e" * 40, "wiki.abstracts.2017.tar.gz"))

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 50_000)  # what arrived of one is lost

    @staticmethod
    def point_to(server: ScriptedServer, patch: pytest.MonkeyPatch) -> None:
        import huggingface_hub

        library = huggingface_hub.hf_hub_download
        patch.setattr(
            "huggingface_hub.hf_hub_download", lambda *args, **options: library(*args, **options, endpoint=server.url)
        )

    @staticmethod
    def hub(content: bytes, *, stop: int | None = None) -> Behaviour:
        def behave(handler: Handler) -> None:
            start = int(handler.headers.get("range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            status = 206 if start else 200
            headers = {"Content-Length": str(len(content) - start), "ETag": '"abc"', "X-Repo-Commit": "e" * 40}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            handler.answer(status, content[start:][:stop], **headers)

        return behave

    def test_a_file_is_downloaded_from_its_repository(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with serving(self.hub(BIG)) as server:
            self.point_to(server, monkeypatch)
            assert fetch(self.SOURCE, tmp_path).passages == BIG_RECORDS
        path = f"/dspy/cache/resolve/{'e' * 40}/wiki.abstracts.2017.tar.gz"
        assert server.requests == [f"HEAD {path}", f"GET {path}"]
        assert files(tmp_path) == WHOLE
        assert capfd.readouterr() == ("", "")

    @pytest.mark.skipif(version("huggingface_hub") >= "1", reason="the library begins anew since its version 1")
    def test_it_goes_on_where_an_earlier_call_broke_off(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(self.hub(BIG), self.hub(BIG, stop=100_000), refuses(404)) as server:
            self.point_to(server, monkeypatch)
            with pytest.raises(RetrievalError, match=r"cannot download https://huggingface\.co/dspy/cache/resolve/"):
                fetch(self.SOURCE, tmp_path)
            assert ARCHIVE not in files(tmp_path)
            server.behaviours[:] = [self.hub(BIG)]
            assert fetch(self.SOURCE, tmp_path).passages == BIG_RECORDS
        assert ranges(server)[-1] == "bytes=100000-"

    def test_another_file_is_refused_and_removed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(self.hub(bytes(len(BIG)))) as server:
            self.point_to(server, monkeypatch)
            with pytest.raises(RetrievalError, match="is not the published file"):
                fetch(self.SOURCE, tmp_path)
            assert not [file for file in files(tmp_path) if file.endswith(".gz")]
            server.behaviours[:] = [self.hub(BIG)]
            assert fetch(self.SOURCE, tmp_path).passages == BIG_RECORDS

    def test_a_full_disk_is_no_trouble_of_the_hub(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("huggingface_hub.hf_hub_download", full)
        with pytest.raises(OSError, match="No space left"):
            fetch(self.SOURCE, tmp_path)

    def test_without_network_it_says_what_to_place_where(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(self.hub(BIG)) as server:
            self.point_to(server, monkeypatch)  # where nobody listens any more
        monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the tries of the hub's library
        with pytest.raises(RetrievalError, match=r"cannot download .*: try again, or place wiki\.abst") as caught:
            fetch(self.SOURCE, tmp_path)
        assert "\n" not in str(caught.value)


class TestByHand:
    def test_without_network_the_error_says_what_to_place_where_and_that_works(self, tmp_path: Path) -> None:
        with serving(sends(BIG)) as server:
            url = server.url.replace("//", "//user:secret@") + "/file?key=secret"
        with pytest.raises(RetrievalError) as caught:
            fetch(SOURCE, tmp_path, url=url)
        message = str(caught.value)
        assert "secret" not in message
        assert "\n" not in message
        for part in server.url, "wiki.abstracts.2017.tar.gz", str(tmp_path / "downloads"), "--file", "ConnectError":
            assert part in message
        (tmp_path / ARCHIVE).write_bytes(BIG)
        assert fetch(SOURCE, tmp_path, url=url).passages == BIG_RECORDS

    def test_a_file_from_elsewhere_is_left_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "elsewhere"
        file.write_bytes(BIG)
        assert fetch(SOURCE, tmp_path / "out", file=file).passages == BIG_RECORDS
        assert file.read_bytes() == BIG
        assert files(tmp_path / "out") == ["corpus.json", "corpus.jsonl.gz"]

    def test_a_file_placed_by_hand_is_checked_and_kept(self, tmp_path: Path) -> None:
        (tmp_path / "downloads").mkdir()
        (tmp_path / ARCHIVE).write_bytes(bytes(len(BIG)))
        with pytest.raises(RetrievalError, match=f"{ARCHIVE} is not the published file.*: replace it"):
            fetch(SOURCE, tmp_path)
        assert files(tmp_path) == [ARCHIVE]


class TestDirectory:
    def test_bad_requests(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no corpus 'wiki19': choose one of wiki17, wiki18, hotpotqa17"):
            fetch("wiki19", tmp_path)
        with pytest.raises(UsageError, match="there is no file nowhere"):
            fetch("wiki17", tmp_path, file="nowhere")
        with pytest.raises(UsageError, match="'ftp://host/file' is no URL"):
            fetch("wiki17", tmp_path, url="ftp://host/file")
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="cannot make the directory"):
            fetch("wiki17", tmp_path / "file")

    @pytest.mark.parametrize("about", [None, b"[]", b'{"name": "wiki18"}'])
    def test_other_files_are_not_overwritten(self, tmp_path: Path, about: bytes | None) -> None:
        (tmp_path / "corpus.jsonl.gz").write_bytes(b"mine")
        if about is not None:
            (tmp_path / "corpus.json").write_bytes(about)
        with pytest.raises(UsageError, match=r"corpus.jsonl.gz is not what fetching wiki17 makes: "):
            fetch("wiki17", tmp_path)
        assert (tmp_path / "corpus.jsonl.gz").read_bytes() == b"mine"

    def test_one_process_at_a_time(self, tmp_path: Path) -> None:
        with (tmp_path / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(UsageError, match="another process is fetching"):
                fetch(SOURCE, tmp_path)


PROCESS = """
import sys
from dataclasses import replace
from retrieval.corpora.catalogue import SOURCES
from retrieval.corpora.download import fetch
out, url, size, sha256 = sys.argv[1:]
fetch(replace(SOURCES["wiki17"], size=int(size), sha256=sha256, records=None), out, url=url)
"""


class TestKilled:
    def test_a_killed_download_goes_on(self, tmp_path: Path) -> None:
        released = threading.Event()

        def half(handler: Handler) -> None:
            handler.answer(200, BIG[:150_000], ETag='"one"', Content_Length=str(len(BIG)))
            handler.wfile.flush()
            released.wait(PATIENCE)

        with serving(half, sends(BIG)) as server:
            command = [sys.executable, "-c", PROCESS, tmp_path, server.url, str(len(BIG)), SHA256]
            try:
                with subprocess.Popen(command) as process:
                    part = tmp_path / PART
                    eventually(lambda: part.exists() and part.stat().st_size > 100_000)
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    arrived = part.stat().st_size
            finally:
                released.set()
            assert files(tmp_path) == [PART, NOTE]
            get(SOURCE, tmp_path, server)
        assert ranges(server) == [None, f"bytes={arrived}-"]
        assert files(tmp_path) == WHOLE

    def test_a_process_killed_after_the_last_byte_asks_for_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "downloads").mkdir()
        (tmp_path / PART).write_bytes(BIG)
        (tmp_path / NOTE).write_text('"one"')
        with serving(refuses(500)) as server:
            get(SOURCE, tmp_path, server)
        assert server.requests == []
        assert files(tmp_path) == WHOLE

    def test_an_interrupted_unpacking_leaves_the_download(self, tmp_path: Path) -> None:
        def interrupt(doing: str, done: int, total: int | None) -> None:
            if doing == "unpacking":
                raise KeyboardInterrupt

        with serving(sends(BIG)) as server:
            with pytest.raises(KeyboardInterrupt):
                fetch(SOURCE, tmp_path, url=server.url, progress=interrupt)
            assert files(tmp_path) == [ARCHIVE]
            get(SOURCE, tmp_path, server)
            assert len(server.requests) == 1
