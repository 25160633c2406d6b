"""Five passages, the triples of each, and an LM that knows them."""

import pytest
from support.graph_passages import PASSAGES, Knowing
from support.word_encoder import WordEncoder

from retrieval.dense import encoder
from retrieval.hipporag import search


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, encoder):  # which load it to build, and to open
        monkeypatch.setattr(module, "LoadedEncoder", WordEncoder)


@pytest.fixture
def knowing() -> Knowing:
    return Knowing(PASSAGES)
