"""What only a server shows: keys, time-outs, errors, retries. The server is a stand-in of the HTTP API, no Qdrant."""

import gzip
import json
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support.colbert_sample import PASSAGES
from support.command_line import exit_code
from support.qdrant_stand_in import StandIn, drips, hangs, hangs_up, refuses

from eval.runs.fingerprints import fingerprints
from retrieval import RetrievalError, UsageError, load
from retrieval.__main__ import main
from retrieval.indexes import passage_line
from retrieval.qdrant import Qdrant
from retrieval.qdrant.connection import Connection

KEY = "key-of-the-server-0123456789"
insecure = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.servers.seconds_to_wait", lambda *_: 0.0)


def test_a_server_is_built_searched_and_changed_as_a_directory_is(
    server: StandIn, encoder: str, tmp_path: Path
) -> None:
    there = Qdrant.build(PASSAGES, server.url, collection="wiki", encoder=encoder, batch_size=10)
    here = Qdrant.build(PASSAGES, tmp_path / "index", encoder=encoder)
    for index in there, load(f"qdrant:{server.url}?collection=wiki"):
        found, expected = (some.batch(["a city", "Finnish architects"], 5) for some in (index, here))
        assert found == expected
    changed = there.update(delete=[PASSAGES[0].id])
    assert (len(changed), changed.passage(0)) == (35, PASSAGES[1])
    searches = [request for request in server.requests if request.endswith("/points/query/batch")]
    assert len(searches) == 3  # one of `load`, which tries the index, and one per batch


@insecure
def test_the_key_is_sent_and_shown_nowhere(
    server: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.key = KEY
    spec = f"qdrant:{server.url}?collection=wiki&search=bm25"
    with pytest.raises(UsageError, match="put the right API key into the environment variable QDRANT_API_KEY"):
        load(spec)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(b"".join(map(passage_line, PASSAGES)))
    out = f"{server.url}?collection=wiki"
    assert exit_code(main, ["index", "--backend", "qdrant", "--corpus", str(corpus), "--out", out]) == 0
    index = load(spec)
    assert set(server.keys[1:]) == {KEY}
    server.key = "another"
    with pytest.raises(UsageError) as refused:
        index("a city", 3)
    server.key, server.faults = KEY, [refuses(400, "bad request")]
    with pytest.raises(RetrievalError, match="answers 400 Bad Request: bad request") as failed:
        index("a city", 3)
    metadata = server.client.get_collection("wiki").config.metadata
    texts = [str(refused.value), str(failed.value), json.dumps(metadata), json.dumps(fingerprints(spec)), repr(index)]
    texts += [*capsys.readouterr(), caplog.text]
    assert not [text for text in texts if KEY in text]


@pytest.mark.parametrize(
    "fault",
    [refuses(500), refuses(429, Retry_After="0"), refuses(429, Retry_After="Fri, 01 Jan 2021 00:00:00 GMT"), hangs_up],
    ids=["500", "429", "429 with a date", "hang up"],
)
def test_what_may_help_is_tried_again(fault: Callable[..., None], server: StandIn) -> None:
    index = Qdrant.build(PASSAGES, server.url, collection="wiki")
    expected = index("a city", 3)
    server.faults = [fault, fault, fault]
    assert index("a city", 3) == expected
    server.faults = [fault, fault, fault, fault]
    with pytest.raises(RetrievalError, match=r"the server at http://127\.0\.0\.1:"):
        index("a city", 3)


def test_a_server_that_does_not_answer_in_time_or_at_all_is_said(server: StandIn) -> None:
    Qdrant.build(PASSAGES, server.url, collection="wiki")
    index = Qdrant(server.url, collection="wiki", timeout=1, retries=0)
    server.faults = [hangs]
    with pytest.raises(RetrievalError, match="did not answer within 1 s"):
        index("a city", 3)
    server.faults = [drips]
    with pytest.raises(RetrievalError, match="did not answer within 1 s"):
        index("a city", 3)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(RetrievalError, match=f"no Qdrant server answers at {url}"):
            Qdrant(url, collection="wiki", retries=0)


def test_a_huge_reply_is_not_read(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    Qdrant.build(PASSAGES[:3], server.url, collection="wiki")
    monkeypatch.setattr("retrieval.servers._LARGEST_REPLY", 10_000)
    index = Qdrant(server.url, collection="wiki")
    server.faults = [lambda handler: handler.answer(200, gzip.compress(b" " * 20_000), Content_Encoding="gzip")]
    with pytest.raises(RetrievalError, match=f"the server at {server.url} sent more than 10,000 bytes"):
        index("a city", 3)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>welcome</html>",
        b"\xff",
        b"[" * 100_000,
        b'{"result": null}',
        b'{"result": [1]}',
        b'{"result": {"points": 3}}',
        b'{"result": [{"points": [{"id": 1, "version": 1, "score": 1, "payload": {"row": "first"}}]}]}',
        b'{"result": [{"points": [{"id": 1, "version": 1, "score": 1, "payload": {"row": 1, "id": 7}}]}]}',
        b'{"result": []}',
    ],
    ids=["html", "no unicode", "nested", "null", "a number", "an object", "no row", "no id", "no list"],
)
def test_nonsense_is_one_line(body: bytes, server: StandIn) -> None:
    index = Qdrant.build(PASSAGES[:3], server.url, collection="wiki")
    server.faults = [lambda handler: handler.answer(200, body)]
    with pytest.raises(RetrievalError, match=r"answers nonsense; is it Qdrant|has no good|gives 0 lists") as caught:
        index("a city", 3)
    assert "\n" not in str(caught.value)


def test_a_collection_that_is_not_there_is_one_clear_line(server: StandIn) -> None:
    with pytest.raises(UsageError, match=f"there is no collection 'none' in {server.url}: build it with"):
        load(f"qdrant:{server.url}?collection=none")


def test_a_server_without_metadata_is_too_old(server: StandIn) -> None:
    server.metadata = False
    with pytest.raises(UsageError, match=r"keeps no metadata of collections: it must be of version 1\.16 or newer"):
        Qdrant.build(PASSAGES, server.url, collection="wiki")
    assert not server.client.collection_exists("wiki")


def test_what_colbert_needs_of_a_server_is_asked_for(server: StandIn, checkpoint: Path) -> None:
    Qdrant.build(PASSAGES[:3], server.url, collection="wiki", checkpoint=checkpoint, datatype="turbo4", device="cpu")
    vectors = server.client.get_collection("wiki").config.params.vectors
    assert vectors["colbert"].datatype == "turbo4"
    assert vectors["colbert"].multivector_config.comparator == "max_sim"
    assert vectors["colbert"].hnsw_config.m == 0


def test_settings_out_of_range_are_refused() -> None:
    for settings in {"timeout": 0}, {"retries": -1}, {"backoff": -1.0}:
        with pytest.raises(UsageError, match="timeout must be above 0"):
            Connection("http://127.0.0.1:1", "wiki", **settings)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is no URL that begins with http") as caught:
        Connection("http://me:secret@", "wiki")
    assert "secret" not in str(caught.value)
