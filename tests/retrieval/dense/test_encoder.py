"""Encoders: what their settings do to vectors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentence_transformers as library

from retrieval import Passage
from retrieval.dense import PRESETS, Encoder
from retrieval.dense.encoder import LoadedEncoder, same_probe

pytestmark = pytest.mark.needs("sentence_transformers")

PASSAGE = Passage("a", "The tower was built in Paris.", "Eiffel")
TEXT = "Eiffel The tower was built in Paris."


def plain(model: str, *texts: str) -> np.ndarray:
    return library.SentenceTransformer(model, device="cpu").encode(list(texts), show_progress_bar=False)


def close(found: object, expected: object) -> bool:
    return np.allclose(found, expected, rtol=1e-4, atol=1e-5)  # type: ignore[arg-type]


def test_vectors_are_those_of_the_library_for_title_and_text(encoder: str) -> None:
    loaded = LoadedEncoder(Encoder(encoder), "cpu")
    assert close(loaded.encode_passages([PASSAGE], 1), plain(encoder, TEXT))
    assert close(loaded.encode_queries(["Who built it?", "cat"]), plain(encoder, "Who built it?", "cat"))
    assert close(loaded.encode_queries(["cat \ud800"]), plain(encoder, "cat ?"))


def test_normalized_vectors_have_length_1(encoder: str) -> None:
    loaded = LoadedEncoder(Encoder(encoder, normalize=True), "cpu")
    (vector,) = plain(encoder, TEXT)
    assert close(loaded.encode_passages([PASSAGE], 1), [vector / np.linalg.norm(vector)])
    assert close(np.linalg.norm(loaded.encode_queries(["cat", "dog"]), axis=1), [1, 1])


def test_prefixes_stand_in_front(encoder: str) -> None:
    loaded = LoadedEncoder(Encoder(encoder, query_prefix="query: ", passage_prefix="passage: "), "cpu")
    assert close(loaded.encode_queries(["cat"]), plain(encoder, "query: cat"))
    assert close(loaded.encode_passages([PASSAGE], 1), plain(encoder, f"passage: {TEXT}"))


def test_pooling_can_be_chosen(encoder: str) -> None:
    mean, first = (LoadedEncoder(Encoder(encoder, pooling=pooling), "cpu") for pooling in ("mean", "cls"))
    assert close(mean.encode_queries(["cat"]), plain(encoder, "cat"))
    assert not close(first.encode_queries(["cat"]), plain(encoder, "cat"))


def test_a_probe_tells_models_apart(tiny: Callable[..., str], encoder: str, tmp_path: Path) -> None:
    probe = LoadedEncoder(Encoder(encoder), "cpu").probe()
    assert not same_probe(tmp_path / "probe.npy", probe)
    np.save(tmp_path / "probe.npy", probe)
    assert same_probe(tmp_path / "probe.npy", probe + np.float32(1e-4))
    others = Encoder(tiny("bert", seed=1)), Encoder(tiny("bert", hidden_size=32)), Encoder(encoder, query_prefix="q")
    for other in others:
        assert not same_probe(tmp_path / "probe.npy", LoadedEncoder(other, "cpu").probe())


def test_the_presets_are_qpaugs() -> None:
    assert {name: preset.model.split("/")[-1] for name, preset in PRESETS.items()} == {
        "sbert": "msmarco-distilbert-base-tas-b",
        "ance": "msmarco-roberta-base-ance-firstp",
        "contriever": "contriever",
    }
    assert not any(preset.normalize for preset in PRESETS.values())
    assert Encoder.named("contriever") == Encoder("facebook/contriever", pooling="mean")
    assert Encoder.named("some/model") == Encoder("some/model")
