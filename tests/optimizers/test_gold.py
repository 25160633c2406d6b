from types import SimpleNamespace

import dspy
import pytest

from optimizers.gold import field_of, follows, is_right, numbered, searched_with, titles_of
from retrieval import Passage, number


@pytest.mark.parametrize(
    ("text", "right"), [("The Lund.", True), ("born in Lund", False), ("Lundy", False), ("", False)]
)
def test_a_right_answer_is_nothing_but_the_gold_one(text: str, right: bool) -> None:
    assert is_right(text, ["Lund"]) is right


def test_passages_are_read_from_prompts_by_number_and_from_results_by_title() -> None:
    passages = [Passage("1", "a planet", "Zorx"), Passage("lm:1", "I think so")]
    assert numbered({"question": "?", "context": number(passages[:1])}) == {1: "Zorx | a planet"}
    assert titles_of(passages) == {"Zorx"}
    assert titles_of([]) == set()
    assert titles_of(passages[1:]) is titles_of(["Zorx"]) is titles_of(None) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [("Ada Quill", True), (["no", "Where was she born"], True), ("Quill", False), ("a", False), (7, False)],
)
def test_a_query_that_begins_or_ends_with_a_text_was_made_of_it(written: object, expected: bool) -> None:
    run = dspy.Prediction(queries=["Zorx", "Ada Quill. Where was she born?"])
    assert searched_with(dspy.Prediction(text=written), run) is expected


def test_a_statement_follows_from_the_texts_together() -> None:
    assert follows("Ada Quill was born in Lund", ["Ada Quill was born", "in Lund"], "")
    assert not follows("Ada Quill was born in Lund", ["Ada Quill was born"], "")


def test_a_statement_may_take_words_over_from_the_question_that_it_answers() -> None:
    cited = ["Ada Quill (26 August 1890 - 6 July 1958)"]
    assert follows("Ada Quill died on 6 July 1958", cited, "When did Ada Quill die?")
    assert not follows("Ada Quill died on 6 July 1958", cited, "Who was Ada Quill?")


def test_fields_of_objects_and_of_dictionaries() -> None:
    assert field_of({"statement": "s"}, "statement") == field_of(SimpleNamespace(statement="s"), "statement") == "s"
