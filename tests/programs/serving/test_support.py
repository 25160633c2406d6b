"""Which passages say an answer, or a statement that names them."""

import pytest

from programs.instruments.trace import Statement
from programs.serving.support import supports

pytestmark = pytest.mark.needs("uvicorn")

ADWA = "Battle of Adwa. The Italian troops were led by General Oreste Baratieri; Ethiopia won on 1 March 1896."
MATTERHORN = "Matterhorn. A mountain of the Alps between Switzerland and Italy, first climbed in 1865."
WHO = "Which general led the Italian troops at Adwa?"


@pytest.mark.parametrize(
    ("passage", "question", "answer", "says"),
    [
        (ADWA, WHO, "Oreste Baratieri", True),
        (MATTERHORN, WHO, "Oreste Baratieri", False),
        (ADWA, WHO, "oreste  BARATIERI.", True),
        (ADWA, WHO, "The general was Oreste Baratieri.", True),
        (MATTERHORN, WHO, "The general was Oreste Baratieri.", False),
        (ADWA, WHO, "Oreste", True),
        (ADWA, WHO, "Orest", False),  # words, not letters
        (MATTERHORN, "In which country does the Tiber flow?", "Italy", False),  # it has the word, and is about others
        (MATTERHORN, "Between Switzerland and which country is the Matterhorn?", "Italy", True),
        (MATTERHORN, "Which is higher, the Matterhorn or Ben Nevis?", "the Matterhorn", True),
        (ADWA, "Which is higher, the Matterhorn or Ben Nevis?", "the Matterhorn", False),
        ("Zürich. A city of Switzerland.", "Which city of Switzerland?", "Zurich", True),
        ("阿杜瓦战役 巴拉蒂耶里率领意大利军队。", "谁率领意大利军队?", "巴拉蒂耶里", True),
        (ADWA, "Did Italy win at Adwa?", "no", False),
        (ADWA, WHO, "", False),
    ],
)
def test_an_answer(passage: str, question: str, answer: str, says: bool) -> None:
    assert supports(passage, "p", question=question, answer=answer) == says


def test_a_single_word_beside_no_word_of_the_question_is_a_coincidence() -> None:
    assert not supports(ADWA, "p", question="In which country does the Tiber flow?", answer="Ethiopia")


def test_a_statement_counts_for_the_passages_that_it_names_and_that_have_it() -> None:
    stated = [Statement(text="Ethiopia won the battle of Adwa.", passages=("adwa", "alps"))]

    def says(passage: str, id_: str) -> bool:
        return supports(passage, id_, question="Did Italy win at Adwa?", answer="no", statements=stated)

    assert says(ADWA, "adwa")
    assert not says(ADWA, "another")  # it is not named
    assert not says(MATTERHORN, "alps")  # it is named, and does not say it
