"""An encoder and an index over it."""

from collections.abc import Callable

import pytest
from support.word_passages import PASSAGES

from retrieval import Passage
from retrieval.dense import Dense
from retrieval.dense.encoder import LoadedEncoder


@pytest.fixture(scope="session")
def encoder(tiny: Callable[..., str]) -> str:
    return tiny("bert")


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the passages that are encoded."""
    ids: list[str] = []
    encode = LoadedEncoder.encode_passages

    def encode_passages(self: LoadedEncoder, part: list[Passage], batch_size: int) -> object:
        ids.extend(passage.id for passage in part if passage.id)  # the probe has no id
        return encode(self, part, batch_size)

    monkeypatch.setattr(LoadedEncoder, "encode_passages", encode_passages)
    return ids


@pytest.fixture(scope="session")
def index(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    return Dense.build(PASSAGES, tmp_path_factory.mktemp("dense") / "new" / "index", encoder=encoder, device="cpu")
