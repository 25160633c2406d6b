import json

from support.lighthouse import CONTEXT

from lms.extractive.passages import passages


def test_passages_are_read_as_they_are_numbered() -> None:
    assert [(p.number, p.title) for p in passages(CONTEXT)] == [
        (1, "Orm (river)"), (2, "The Lighthouse Keeper"), (3, "Salka"), (4, "Ada Quill"), (5, "Berta Holm"),
    ]  # fmt: skip
    assert passages("") == []
    assert passages(json.dumps(["One | a", "b"])) == [(1, "One", "a"), (2, "", "b")]
    assert passages("a first line\n\na second one") == [(1, "", "a first line"), (2, "", "a second one")]
    assert passages("[7] One | a ¶ Two | b ¶ c") == [(7, "One", "a"), (7, "Two", "b"), (7, "", "c")]
    assert passages("Observation 1:\n[1] One | a\nThought 2: b") == [(1, "One", "a")]


def test_a_name_is_the_title_without_brackets() -> None:
    assert passages(CONTEXT)[0].name == "Orm"
