"""Searching an embedded collection: the same passages and scores as this project's own indexes."""

import copy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from qdrant_client.local.local_collection import LocalCollection
from qdrant_client.local.qdrant_local import QdrantLocal
from support.colbert_sample import DOC_MAXLEN, PASSAGES, text
from support.word_passages import PASSAGES as FEW_WORDS

from retrieval import Passage, RetrievalError, UsageError, load
from retrieval.bm25 import BM25
from retrieval.colbert.encoder import Checkpoint
from retrieval.dense import Dense
from retrieval.qdrant import Qdrant
from retrieval.ranking.fuse import Fused

QUERIES = [
    "Which arch stands in St. Louis?",
    "a city on the river, a city in the north, and a city on the sea",
    "Finnish architects of the twentieth century",
    "xyzzy",
]


def shown(lists: list[list[Passage]]) -> list[list[tuple[str, str, str]]]:
    return [[(p.id, p.title, p.text) for p in passages] for passages in lists]


def scores(lists: list[list[Passage]]) -> list[float | None]:
    return [passage.score for passages in lists for passage in passages]


def test_bm25_finds_what_ours_finds_with_the_same_scores(full: Path, tmp_path: Path) -> None:
    ours = BM25.build(PASSAGES, tmp_path / "index").batch(QUERIES, 7)
    found = load(f"qdrant:{full}?search=bm25").batch(QUERIES, 7)
    assert shown(found) == shown(ours)
    assert scores(found) == pytest.approx(scores(ours), abs=2e-6)
    assert found[3] == []


def test_dense_finds_what_ours_finds_with_the_same_scores(full: Path, encoder: str, tmp_path: Path) -> None:
    ours = Dense.build(PASSAGES, tmp_path / "index", encoder=encoder, device="cpu").batch(QUERIES, 7)
    found = load(f"qdrant:{full}?search=dense").batch(QUERIES, 7)
    assert shown(found) == shown(ours)
    assert scores(found) == pytest.approx(scores(ours), rel=1e-5)


def test_hybrid_is_our_fusion_of_both(full: Path) -> None:
    parts = [Qdrant(full, search="bm25"), Qdrant(full, search="dense")]
    fused = Fused(parts).batch(QUERIES, 7)
    found = Qdrant(full, search="hybrid").batch(QUERIES, 7)
    assert (shown(found), scores(found)) == (shown(fused), scores(fused))


def test_a_toml_file_fuses_searches_of_one_directory(full: Path) -> None:
    specs = [f"qdrant:{full.name}?search={search}" for search in ("bm25", "dense")]
    (full.parent / "both.toml").write_text(f'type = "rrf"\nretrievers = {specs}\n')
    assert load(full.parent / "both.toml").batch(QUERIES, 7) == load(f"qdrant:{full}?search=hybrid").batch(QUERIES, 7)


def test_colbert_ranks_by_maxsim_what_the_others_found(full: Path, checkpoint: Path) -> None:
    encoder = Checkpoint(checkpoint, torch.device("cpu"), doc_maxlen=DOC_MAXLEN)
    vectors, lengths = encoder.encode_passages([text(passage) for passage in PASSAGES], 32)
    tables = vectors.float().split(lengths)
    found = load(f"qdrant:{full}").batch(QUERIES[:3], 36)  # the depth is all passages
    for query, passages in zip(encoder.encode_queries(QUERIES[:3]), found, strict=True):
        scores = [float((table @ torch.from_numpy(query).T).max(dim=0).values.sum()) for table in tables]
        best = sorted(range(36), key=lambda row: -scores[row])
        assert [p.score for p in passages] == pytest.approx([scores[row] for row in best], rel=1e-3)
        assert passages[0] == PASSAGES[best[0]]
    few = Qdrant(full, depth=2, search="colbert")("Finnish architects", 2)
    first = {p.id for kind in ("bm25", "dense") for p in Qdrant(full, search=kind)("Finnish architects", 2)}
    assert {passage.id for passage in few} <= first


def test_equal_scores_stand_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    passages = [Passage(f"{n * 7 % 10}", "cats chase mice") for n in range(10)]
    Qdrant.build(passages, tmp_path / "index")
    assert load(f"qdrant:{tmp_path / 'index'}")("cats", 10) == passages


def test_tokens_that_share_a_number_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retrieval.qdrant import search, terms

    few: Callable[[str], int] = lambda token: sum(token.encode()) % 32  # noqa: E731
    for module in terms, search:
        monkeypatch.setattr(module, "number_of", few)
    passages = [p for p in FEW_WORDS if p.text]
    words = sorted({word for p in passages for word in p.text.split()})
    ours = BM25.build(passages, tmp_path / "ours").batch(words, 3)
    found = Qdrant.build(passages, tmp_path / "index").batch(words, 3)
    assert len({few(word) for word in words}) < len(words)
    assert scores(found) == pytest.approx(scores(ours), abs=2e-6)


def test_threads_and_copies_share_a_retriever_and_two_retrievers_a_directory(full: Path) -> None:
    index = Qdrant(full, search="bm25")
    assert copy.deepcopy(index) is index
    expected = Qdrant(full, search="bm25")("a city on the river", 5)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(index, ["a city on the river"] * 8))


def test_passages_are_counted_and_given_by_row(full: Path) -> None:
    index = Qdrant(full, search="bm25")
    assert len(index) == len(PASSAGES)
    assert [index.passage(row) for row in (0, 35)] == [PASSAGES[0], PASSAGES[35]]


def test_one_process_at_a_time_has_a_directory_and_leaves_it_in_peace(full: Path, tmp_path: Path) -> None:
    index = Qdrant(full, search="bm25")
    Qdrant.build(PASSAGES[:2], tmp_path / "index")
    code = (
        "import retrieval\n"
        f"try: retrieval.load('qdrant:{full}?search=bm25')\n"
        "except retrieval.UsageError as error: print(error)\n"
        f"index = retrieval.load('qdrant:{tmp_path / 'index'}')\n"
        "print(len(index))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith(f"{full} is open in another process, and only one can have it")
    assert (done.stdout.splitlines()[1:], done.stderr) == (["2"], "")
    assert len(index) == 36


def test_many_embedded_passages_are_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    for where in LocalCollection, QdrantLocal:
        monkeypatch.setattr(where, "LARGE_DATA_THRESHOLD", 2)
    with pytest.warns(UserWarning, match="Local mode is not recommended for collections with more than 2 points"):
        Qdrant.build(PASSAGES[:3], tmp_path / "index")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{0}/none", "there is no Qdrant collection in .*none: build one with"),
        ("{0}/full?collection=other", "there is no collection 'other' in"),
        ("{0}/full?search=splade", "there is no search 'splade' of a Qdrant collection: use one of bm25, dense"),
        ("{0}/full?key=secret", "behind the question mark"),
        ("{0}/full?search=bm25&search=dense", "behind the question mark"),
        ("http://127.0.0.1:6333", "a Qdrant server has many collections: name one"),
        ("ftp://me:secret@127.0.0.1?collection=wiki", "'ftp://127.0.0.1' is no URL that begins with http"),
        ("{0}/full?collection=a/b", "no collection can have the name 'a/b'"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_line(spec: str, message: str, full: Path) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load("qdrant:" + spec.format(full.parent))
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_search_that_the_collection_was_not_built_for_is_refused(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES, tmp_path / "index", k1=1.2)
    for search, flag in ("dense", "--encoder"), ("hybrid", "--encoder"), ("colbert", "--checkpoint"):
        with pytest.raises(UsageError, match=rf"has no {search} search, it was built with BM25 \(k1 1.2.*{flag}"):
            load(f"qdrant:{tmp_path / 'index'}?search={search}")


def test_another_model_or_analyser_is_refused_by_what_it_was_built_with(
    full: Path, encoder: str, tiny: Callable[..., str], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=rf"the model '.*' is not the one .* the encoder {encoder}"):
        Qdrant(full, search="dense", model=tiny("bert", seed=1))
    from retrieval.qdrant import search

    probe = Checkpoint.probe
    monkeypatch.setattr(Checkpoint, "probe", lambda self: -probe(self))
    with pytest.raises(UsageError, match=rf"the checkpoint '.*' is not the one .* the ColBERT checkpoint {checkpoint}"):
        Qdrant(full)
    monkeypatch.setattr(search, "tokens_of_probe", lambda analyser: ["other", "words"])
    with pytest.raises(RetrievalError, match=r"the analyser of .* is not the one it was built with.*stemmer english"):
        Qdrant(full, search="bm25")
