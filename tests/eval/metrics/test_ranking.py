import dspy

from eval.metrics import load
from retrieval import Passage

FOUND = [Passage("1", "in Rome", "A"), Passage("2", "t", "A"), Passage("3", "t", "B")]


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q", **fields).with_inputs("question")


def test_the_first_k_and_the_rest() -> None:
    gold = example(answers=["Rome"], gold_titles=["B"], gold_passages=["1"])
    prediction = dspy.Prediction(answer="", passages=FOUND[::-1], evidence=FOUND)
    assert [load(f"recall@{k}")(gold, prediction) for k in (1, 2)] == [1, 1]
    assert [load(f"recall_by_id@{k}")(gold, prediction) for k in (2, 3, 99)] == [0, 1, 1]
    assert [load(f"precision@{k}")(gold, prediction) for k in (1, 2)] == [1, 1 / 2]
    assert [load(f"s_precision@{k}")(gold, prediction) for k in (1, 2)] == [1, 0]
    for name in "answer_recall", "top_k_accuracy":
        assert [load(f"{name}@{k}")(gold, prediction) for k in (2, 3)] == [0, 1]


def test_a_ranking_that_is_reported_comes_before_the_order_of_retrieval() -> None:
    gold = example(answers=["Rome"], gold_titles=["B"])

    def scores(**rankings: object) -> list[float | None]:
        prediction = dspy.Prediction(answer="", passages=FOUND, **rankings)
        return [load(f"{name}@1")(gold, prediction) for name in ("recall", "answer_recall", "top_k_accuracy")]

    assert scores() == [0, 1, 1]
    assert scores(retrieved=["3", "1"]) == [1, 0, 0]
    assert scores(ranked=["2"]) == [0, 1, 0]
    assert scores(retrieved=["3"], ranked=["1"]) == [1, 0, 1]
    assert scores(retrieved=FOUND[::-1]) == [1, 0, 0]
    assert scores(retrieved=["4"], ranked=[["3"]]) == [None, None, None]  # no ids of passages


def test_every_passage_has_a_no() -> None:
    prediction = dspy.Prediction(answer="", passages=[Passage("1", "yes and no")])
    assert load("answer_recall@1")(example(answers=["no"]), prediction) is None
