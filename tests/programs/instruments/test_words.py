import retrieval
from programs.instruments.cost import Cost
from programs.instruments.words import QUESTIONS, no_answer


def test_nobody_is_advised_to_ask_the_same_again() -> None:
    sample, cost = retrieval.load("sample"), Cost(1, searches=1)
    assert "; it knows 494 abstracts, try: " in no_answer("Who directed Jaws?", sample, "sample", cost)
    for question in QUESTIONS:
        assert no_answer(question, sample, "sample", cost) == "no answer in what sample found"
