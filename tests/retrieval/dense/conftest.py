"""An encoder and an index over it."""

from collections.abc import Callable

import pytest
from support.word_passages import PASSAGES

from retrieval.dense import Dense


@pytest.fixture(scope="session")
def encoder(tiny: Callable[..., str]) -> str:
    return tiny("bert")


@pytest.fixture(scope="session")
def index(encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    return Dense.build(PASSAGES, tmp_path_factory.mktemp("dense") / "new" / "index", encoder=encoder, device="cpu")
