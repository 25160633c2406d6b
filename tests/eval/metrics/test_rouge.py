import dspy
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import rouge_l


@given(words=st.lists(st.sampled_from("bcd"), max_size=6), others=st.lists(st.sampled_from("bcd"), max_size=6))
def test_rouge_l_is_symmetric_and_depends_on_the_order(words: list[str], others: list[str]) -> None:
    def score(answer: list[str], gold: list[str]) -> float | None:
        return rouge_l(dspy.Example(answers=[" ".join(gold)]), dspy.Prediction(answer=" ".join(answer)))

    forth, back = score(words, others), score(others, words)
    assert forth == back
    assert (forth == 1) is (words == others != [])
