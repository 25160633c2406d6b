"""The graph: the numbers by hand, and PageRank against a linear solve."""

import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from support.graph_passages import TRIPLES

from retrieval import UsageError
from retrieval.hipporag.graph import Graph, Synonyms, collect, link, normalised

pytestmark = pytest.mark.needs("scipy")


NONE = Synonyms(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def synonyms(*pairs: tuple[int, int, float]) -> Synonyms:
    first, second, cosine = (np.array(part) for part in zip(*pairs, strict=True))
    return Synonyms(first, second, cosine)


def solved(weights: NDArray[np.float64], reset: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    """PageRank by its definition: (I - d P) p = (1 - d) v, where P leads from a node without edges back to v."""
    begin = reset / reset.sum()
    columns = [column / column.sum() if column.sum() else begin for column in weights.T]
    found: NDArray[np.float64] = np.linalg.solve(
        np.eye(len(weights)) - damping * np.array(columns).T, (1 - damping) * begin
    )
    return found


def test_facts_are_numbered_and_counted() -> None:
    facts = collect(TRIPLES.values())
    assert facts.phrases == ["ada quill", "lund", "zorx", "planet", "sweden", "bo reed", "oslo"]
    assert facts.triples[1:3] == [("ada quill", "found", "zorx"), ("zorx", "is", "planet")]
    assert facts.ends.tolist() == [[0, 1], [0, 2], [2, 3], [1, 4], [5, 6]]
    assert facts.stated.tolist() == [[0, 1], [0, 2], [0, 2], [2, 3], [1, 4], [5, 6]]
    assert facts.mentions.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 2], [1, 3], [2, 1], [2, 4], [3, 5], [3, 6]]


def test_the_weights_of_a_graph_of_twelve_nodes() -> None:
    weights = link(collect(TRIPLES.values()), 5, synonyms((0, 5, 0.9), (5, 0, 0.9), (0, 2, 0.8))).weights.toarray()
    assert weights.shape == (12, 12)
    assert (weights == weights.T).all()
    assert weights[0, 1] == 2  # stated once, to and fro
    assert weights[0, 2] == pytest.approx(2 + 0.8)  # stated twice; on the way to and not fro a synonym in its place
    assert weights[0, 5] == pytest.approx(1.8)
    assert weights[7:, :7].tolist() == [
        [1, 1, 1, 0, 0, 0, 0],
        [1, 0, 1, 1, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert not weights[7:, 7:].any()


@pytest.mark.parametrize("damping", [0.1, 0.5, 0.95])
def test_pagerank_is_what_a_linear_solve_gives(damping: float) -> None:
    graph = link(collect(TRIPLES.values()), 5, synonyms((0, 5, 0.9), (5, 0, 0.9)))
    reset = np.array([0.5, 0.2, 0, 0, 0, 0, 0, 0.05, 0.03, 0.01, 0, 0.02])
    found = graph.pagerank(reset, damping)
    assert found == pytest.approx(solved(graph.weights.toarray(), reset, damping), abs=1e-10)
    assert found.sum() == pytest.approx(1)


def test_a_walk_by_hand() -> None:
    """Two phrases and the passage that joins them; the walks begin at the first."""
    graph = link(collect([[["a", "is", "b"]]]), 1, NONE)
    assert graph.weights.toarray().tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    # p_a = 1/2 + p_b/3 + p_c/4, p_b = p_a/3 + p_c/4, p_c = p_a/6 + p_b/6
    assert graph.pagerank(np.array([1.0, 0, 0]), 0.5) == pytest.approx([69 / 112, 27 / 112, 16 / 112])


def test_without_any_fact_all_nodes_are_alone() -> None:
    graph = link(collect([[], []]), 2, NONE)
    assert graph.pagerank(np.array([3.0, 1.0]), 0.5) == pytest.approx([0.75, 0.25])


def test_a_phrase_of_a_relation_to_itself_gets_no_edge() -> None:
    graph = link(collect([[["A", "is", "a"]]]), 1, NONE)
    assert graph.weights.toarray().tolist() == [[0, 1], [1, 0]]


def test_the_arrays_of_a_graph_make_it_again() -> None:
    graph = link(collect(TRIPLES.values()), 5, NONE)
    again = Graph.of_arrays(graph.arrays())
    assert (again.weights != graph.weights).nnz == 0
    assert again.holders.tolist() == [2, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("S.O.B. (Film)", "s o b film"),
        ("Sebastián_Lelio", "sebastián lelio"),
        ("  東京 ", "東京"),
        ("हिन्दी", "हिन्दी"),
        ("[[ ## relevant ## ]] <b>", "relevant b"),
        ("…", ""),
    ],
)
def test_phrases_are_letters_and_digits_of_any_script(text: str, phrase: str) -> None:
    assert normalised(text) == phrase


def test_a_triple_that_loses_a_part_is_left_out() -> None:
    facts = collect([[["a", "…", "b"], ["c", "is", "d"], ["C", "is", "D."]]])
    assert facts.triples == [("c", "is", "d")]
    assert facts.stated.tolist() == [[0, 1]]
    assert facts.phrases == ["c", "d"]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[hipporag\]'"):
        link(collect([]), 1, NONE)
