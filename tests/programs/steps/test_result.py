import pytest

from programs.steps.result import result, say
from retrieval import Passage


@pytest.mark.parametrize(
    ("answer", "text"), [(True, "yes"), (False, "no"), (None, ""), ("  Paris \n", "Paris"), ("", "")]
)
def test_an_answer_as_text(answer: str | bool | None, text: str) -> None:
    assert say(answer) == text


def test_a_result_has_the_four_fields_and_the_methods_own() -> None:
    passage = Passage("1", "t")
    seen = result(answer="a", queries=["q"], passages=[passage], evidence=[], rounds=2)
    assert seen.toDict() == {"answer": "a", "queries": ["q"], "passages": [passage], "evidence": [], "rounds": 2}
    assert seen.copy().rounds == 2  # DSPy copies predictions
