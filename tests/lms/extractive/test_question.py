import pytest

from lms.extractive.question import is_person, take_apart


@pytest.mark.parametrize(
    ("question", "kind", "sort", "key"),
    [
        ("Who directed Jaws?", "person", "", "directed"),
        ("Who was the mother of Ada?", "person", "", "mother"),
        ("Which general led the troops?", "person", "general", "led"),
        ("When did it open?", "date", "", None),
        ("In what year did Ada open it?", "date", "", "open"),
        ("How many players are there?", "number", "player", None),
        ("How tall is the tower?", "number", "", "tall"),
        ("What is the height of the tower?", "number", "", "height"),
        ("In which city was Ada born?", "place", "citi", "born"),
        ("Where was the director of Jaws born?", "place", "", "born"),
        ("chief town of Hiiumaa", "place", "", "town"),
        ("What did he do for a living?", "occupation", "", None),
        ("What genre is it?", "genre", "", None),
        ("Which river does Ada cross in May?", "thing", "river", "cross"),
        ("Which football club plays at Ibrox?", "thing", "club", "plays"),
        ("What is the name of the stadium where they play?", "thing", "stadium", None),
        ("What is the largest lake in Ethiopia?", "thing", "lake", None),
        ("What is the symbol of tin?", "thing", "", "symbol"),
        ("Is it a river?", "yesno", "", None),
        ("Are Orm and Salka in the same country?", "yesno", "", None),
    ],
)
def test_what_a_question_asks_for(question: str, kind: str, sort: str, key: str | None) -> None:
    asked = take_apart(question, [], choice=False)
    assert (asked.kind, asked.sort, asked.key and asked.key.text) == (kind, sort, key)


def test_names_are_told_by_capitals_or_else_by_titles() -> None:
    for question in ("Where was Ada Quill born?", "where was ada quill born"):
        asked = take_apart(question, ["Ada Quill"], choice=False)
        assert [word.text.lower() for word in asked.names] == ["ada", "quill"]
        assert [word.text for word in asked.said] == ["born"]


def test_words_for_people() -> None:
    assert all(map(is_person, ["poet", "director", "chemist", "actress", "king", "son", "archbishop", "woman"]))
    assert not any(map(is_person, ["river", "crater", "tower", "bridge", "illness"]))
