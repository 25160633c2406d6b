"""The answer in a reply that is still being written."""

import pytest

from programs.instruments.live import AnswerSoFar


def pieces(reply: str, size: int) -> list[str]:
    answer = AnswerSoFar()
    return [added for at in range(0, len(reply), size) if (added := answer(reply[at : at + size]))]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (
            "[[ ## reasoning ## ]]\nSo it is [1].\n\n[[ ## answer ## ]]\nOreste Baratieri\n\n[[ ## completed ## ]]\n",
            "Oreste Baratieri",
        ),
        ("[[ ## answer ## ]]\nRome [1] and\nParis", "Rome [1] and\nParis"),
        (
            '{"reasoning": "the \\"answer\\"", "answer": "Zürich \\"am\\" \\u00e9 \\ud83d\\ude00 See", "more": "x"}',
            'Zürich "am" é 😀 See',
        ),
        ("<reasoning>x</reasoning>\n<answer>\nRome < Paris\n</answer>", "Rome < Paris"),
        ("no field", ""),
    ],
)
def test_pieces_are_the_answer_and_nothing_else(reply: str, answer: str, size: int) -> None:
    assert "".join(pieces(reply, size)).rstrip() == answer


def test_words_come_as_soon_as_they_are_sure() -> None:
    assert pieces("[[ ## answer ## ]]\nOreste Baratieri\n\n[[ ## completed ## ]]", 6) == ["Orest", "e Bara", "tieri"]
