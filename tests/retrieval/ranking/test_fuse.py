"""Fusion against sums done by hand, and fusion as a retriever."""

import copy
from collections.abc import Sequence
from functools import partial

import dspy
import pytest
from dspy.utils.callback import BaseCallback
from hypothesis import given
from hypothesis import strategies as st

from retrieval import Memory, Passage, Retriever, UsageError
from retrieval.ranking.fuse import Fused, interpolate, reciprocal_rank_fusion


def ranking(*scored: tuple[str, float | None], text: str = "text") -> list[Passage]:
    return [Passage(i, f"{text} {i}", "title", score) for i, score in scored]


def scores(passages: list[Passage]) -> dict[str, float | None]:
    return {passage.id: passage.score for passage in passages}


A = ranking(("x", 9.0), ("y", 5.0), ("z", 1.0), text="first")
B = ranking(("y", 0.7), ("w", 0.2), text="second")


def test_reciprocal_rank_fusion_adds_one_over_constant_and_rank() -> None:
    fused = reciprocal_rank_fusion([A, B])
    assert [passage.id for passage in fused] == ["y", "x", "w", "z"]
    expected = {"y": 1 / 62 + 1 / 61, "x": 1 / 61, "w": 1 / 62, "z": 1 / 63}
    assert scores(fused) == pytest.approx(expected, rel=1e-12)


def test_constant_and_weights_enter_the_sum() -> None:
    fused = reciprocal_rank_fusion([A, B], constant=0, weights=[1, 0.25])
    assert scores(fused) == pytest.approx({"x": 1.0, "y": 0.5 + 0.25, "z": 1 / 3, "w": 0.125})
    assert [passage.id for passage in fused] == ["x", "y", "z", "w"]


def test_the_first_list_that_has_a_passage_gives_its_text() -> None:
    assert {passage.id: passage.text for passage in reciprocal_rank_fusion([A, B])} == {
        "x": "first x",
        "y": "first y",
        "z": "first z",
        "w": "second w",
    }


def test_equal_sums_keep_the_order_of_appearance() -> None:
    lists = [ranking((a, None), (b, None), (c, None)) for a, b, c in ("abc", "bca", "cab")]
    assert [passage.id for passage in reciprocal_rank_fusion(lists)] == ["a", "b", "c"]


def test_minmax_brings_scores_to_the_unit_interval() -> None:
    # x, y, z: 1, 0.5, 0; y, w: 1, 0; absent: 0
    assert scores(interpolate([A, B])) == pytest.approx({"y": 1.5, "x": 1.0, "z": 0.0, "w": 0.0})
    assert scores(interpolate([A, B], [0.2, 0.6])) == pytest.approx({"y": 0.7, "x": 0.2, "z": 0.0, "w": 0.0})


def test_zscore_counts_absent_passages_as_the_lowest() -> None:
    root = 1.5**0.5  # (9 - 5) / standard deviation of 9, 5, 1, which is the root of 32 / 3
    expected = {"y": 0 + 1, "x": root - 1, "w": -root - 1, "z": -root - 1}
    assert scores(interpolate([A, B], normalize="zscore")) == pytest.approx(expected)


def test_scores_that_are_all_equal() -> None:
    lists = [ranking(("x", 3.0)), ranking(("y", 2.0), ("z", 2.0))]
    assert scores(interpolate(lists)) == {"x": 1.0, "y": 1.0, "z": 1.0}
    assert scores(interpolate(lists, normalize="zscore")) == {"x": 0.0, "y": 0.0, "z": 0.0}


def test_lists_may_be_empty_or_absent() -> None:
    assert reciprocal_rank_fusion([]) == interpolate([]) == reciprocal_rank_fusion([[], []]) == interpolate([[]]) == []
    assert scores(interpolate([[], B])) == {"y": 1.0, "w": 0.0}


def test_what_cannot_be_fused_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 0, not -1"):
        reciprocal_rank_fusion([A], constant=-1)
    with pytest.raises(UsageError, match="one weight of at least 0 for each of its 2 lists"):
        reciprocal_rank_fusion([A, B], weights=[1])
    with pytest.raises(UsageError, match="one weight"):
        interpolate([A, B], weights=[1, -1])
    with pytest.raises(UsageError, match="needs a score on every passage"):
        interpolate([A, ranking(("v", None))])


lists = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(-1e6, 1e6)), unique_by=lambda pair: pair[0]).map(
        lambda scored: ranking(*sorted(scored, key=lambda pair: -pair[1]))
    ),
    max_size=4,
)


@given(lists, st.sampled_from([reciprocal_rank_fusion, interpolate, partial(interpolate, normalize="zscore")]))
def test_every_passage_comes_once_and_best_first(lists: list[list[Passage]], fuse: partial[list[Passage]]) -> None:
    fused = fuse(lists)
    assert sorted(passage.id for passage in fused) == sorted({p.id for passages in lists for p in passages})
    values = [passage.score for passage in fused if passage.score is not None]
    assert values == sorted(values, reverse=True)
    assert len(values) == len(fused)


@given(lists, st.floats(0.1, 10), st.floats(-10, 10))
def test_interpolation_does_not_mind_scale_and_shift(lists: list[list[Passage]], scale: float, shift: float) -> None:
    rounded = [[Passage(p.id, p.text, p.title, round(p.score or 0)) for p in passages] for passages in lists]
    moved = [[Passage(p.id, p.text, p.title, (p.score or 0) * scale + shift) for p in part] for part in rounded]
    expected, found = scores(interpolate(rounded)), scores(interpolate(moved))
    assert found == pytest.approx(expected, abs=1e-6)


class Probe(Retriever):
    """Remembers what it was asked."""

    def __init__(self, found: list[Passage]) -> None:
        self.found = found
        self.asked: list[tuple[list[str], int]] = []

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        self.asked.append((list(queries), k))
        return [self.found[:k] for _ in queries]


def test_a_fused_retriever_fuses_deep_and_returns_few() -> None:
    one, two = Probe(A), Probe(B)
    fused = Fused([one, two])
    assert [passage.id for passage in fused("who?", 2)] == ["y", "x"]
    assert one.asked == two.asked == [(["who?"], 100)]
    assert [passage.id for passage in Fused([one, two], fuse=interpolate, depth=1)("who?", 1)] == ["x"]
    assert one.asked[-1] == (["who?"], 1)
    fused("who?", 300)
    assert two.asked[-1] == (["who?"], 300)


def test_a_batch_is_asked_for_as_a_batch() -> None:
    one = Probe(A)
    found = Fused([one, Memory(B)]).batch(["text w", " ", "text x"], 3)
    assert [[passage.id for passage in passages] for passages in found] == [["x", "w", "y"], [], ["x", "y", "z"]]
    assert one.asked == [(["text w", "text x"], 100)]


def test_callbacks_see_one_search() -> None:
    seen: list[object] = []

    class Counter(BaseCallback):
        def on_module_start(self, call_id: str, instance: object, inputs: dict[str, object]) -> None:
            seen.append(instance)

    fused = Fused([Memory(A), Memory(B)])
    with dspy.context(callbacks=[Counter()]):
        fused("text", 2)
    assert seen == [fused]


def test_it_is_shared_and_not_copied() -> None:
    fused = Fused([Memory(A)])
    assert copy.deepcopy(fused) is fused


def test_a_fusion_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a retriever"):
        Fused([])
    with pytest.raises(UsageError, match="a depth of 1, not 1 and 0"):
        Fused([Memory([])], depth=0)
