"""Five passages, the triples of each, and an LM that knows them."""

import pytest
from support.graph_passages import PASSAGES, Knowing
from support.word_encoder import WordEncoder

from retrieval.hipporag import search


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LoadedEncoder", WordEncoder)


@pytest.fixture
def knowing() -> Knowing:
    return Knowing(PASSAGES)
