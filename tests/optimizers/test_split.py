import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.gold import normalise
from optimizers.split import split
from retrieval import UsageError


def examples(*questions: str) -> list[dspy.Example]:
    return [dspy.Example(id=str(n), question=q, answer="a").with_inputs("question") for n, q in enumerate(questions)]


@given(
    questions=st.lists(st.text(alphabet="abc A?!", min_size=1), min_size=1, max_size=30),
    train=st.integers(1, 10),
    held_out=st.integers(1, 10),
    seed=st.integers(0, 5),
)
def test_the_parts_share_no_question_and_repeat_none(
    questions: list[str], train: int, held_out: int, seed: int
) -> None:
    different = {normalise(question) for question in questions}
    if len(different) <= train:
        with pytest.raises(UsageError, match="too few"):
            split(examples(*questions), train=train, held_out=held_out, seed=seed)
        return
    one, two = split(examples(*questions), train=train, held_out=held_out, seed=seed)
    texts = [normalise(example.question) for example in one + two]
    assert len(set(texts)) == len(texts)
    assert (len(one), len(two)) == (train, min(held_out, len(different) - train))


def test_the_seed_decides() -> None:
    pool = examples(*(f"question {n}" for n in range(50)))

    def drawn(seed: int) -> list[str]:
        return [example.id for part in split(pool, train=10, held_out=10, seed=seed) for example in part]

    assert drawn(1) == drawn(1) != drawn(2)


def test_no_part_is_empty() -> None:
    with pytest.raises(UsageError, match="at least one question each"):
        split(examples("a", "b"), train=0, held_out=1, seed=0)
