from programs.steps.result import result
from retrieval import Passage


def test_a_result_has_the_four_fields_and_the_methods_own() -> None:
    passage = Passage("1", "t")
    seen = result(answer="a", queries=["q"], passages=[passage], evidence=[], rounds=2)
    assert seen.toDict() == {"answer": "a", "queries": ["q"], "passages": [passage], "evidence": [], "rounds": 2}
    assert seen.copy().rounds == 2  # DSPy copies predictions


def test_an_answer_becomes_text() -> None:
    assert [result(answer=answer, queries=[], passages=[], evidence=[]).answer for answer in (True, None, " a ")] == [
        "yes",
        "",
        "a",
    ]
