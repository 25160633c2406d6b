import pytest

from lms.extractive.question import Asked, is_person, take_apart


def asked(question: str, *titles: str) -> Asked:
    return take_apart(question, titles, choice=False)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who directed Jaws?", "person"),
        ("Which general led the troops?", "person"),
        ("When did it open?", "date"),
        ("In what year did it open?", "date"),
        ("How many players are there?", "number"),
        ("How tall is the tower?", "number"),
        ("What is the height of the tower?", "measure"),
        ("In which city was she born?", "place"),
        ("What did he do for a living?", "occupation"),
        ("What genre is it?", "genre"),
        ("Which river does it cross?", "thing"),
        ("Is it a river?", "yesno"),
        ("Are Orm and Salka in the same country?", "yesno"),
    ],
)
def test_the_question_word_and_its_noun_tell_the_kind(question: str, kind: str) -> None:
    assert asked(question).kind == kind


@pytest.mark.parametrize(
    ("question", "sort"),
    [
        ("Which football club plays at Ibrox?", "club"),
        ("Which river does it cross?", "river"),
        ("What is the name of the stadium where they play?", "stadium"),
        ("What is the largest lake in Ethiopia?", "lake"),
        ("What is the symbol of tin?", ""),
        ("How many bridges does it have?", "bridg"),
    ],
)
def test_the_noun_that_the_answer_is_one_of(question: str, sort: str) -> None:
    assert asked(question).sort == sort


@pytest.mark.parametrize(
    ("question", "key"),
    [("Who directed Jaws?", "directed"), ("Who was the mother of Ada?", "mother"), ("Where was Ada born?", None)],
)
def test_the_word_that_a_question_is_about(question: str, key: str | None) -> None:
    word = asked(question).key
    assert (word and word.text) == key


def test_names_are_told_by_capitals_or_else_by_titles() -> None:
    assert [word.text for word in asked("Where was Ada Quill born?").names] == ["Ada", "Quill"]
    small = asked("where was ada quill born", "Ada Quill")
    assert [word.text for word in small.names] == ["ada", "quill"]
    assert [word.text for word in small.said] == ["born"]
    assert asked("How heavy is it?").measure == "weight"


def test_words_for_people() -> None:
    assert all(map(is_person, ["poet", "director", "chemist", "actress", "king"]))
    assert not any(map(is_person, ["river", "crater", "tower", "bridge", "illness"]))
