import tracemalloc

import pytest

from lms.extractive.words import NAME, alike, sentences, stems


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("directed", "directed", 1.0),
        ("Sæverud", "Saeverud", 0.0),
        ("Mambéty", "Mambety", 1.0),
        ("Italy", "Italian", 0.95),
        ("directed", "director", 0.95),
        ("wrote", "author", 0.9),
        ("Spain", "Spanish", 0.9),
    ],
)
def test_forms_and_synonyms_are_alike(one: str, other: str, least: float) -> None:
    assert alike(stems(one)[0], stems(other)[0]) >= least
    assert alike(stems(one)[0], stems(other)[0]) == alike(stems(other)[0], stems(one)[0])


@pytest.mark.parametrize(
    ("one", "other"), [("wrote", "directed"), ("1914", "19145"), ("river", "bridge"), ("Oder", "order")]
)
def test_other_words_are_not(one: str, other: str) -> None:
    assert alike(stems(one)[0], stems(other)[0]) == 0


def test_sentences_end_at_full_stops_but_not_after_initials() -> None:
    assert sentences("J. J. Thomson met Dr. No. He left.") == ["J. J. Thomson met Dr. No. He left."]
    assert sentences("It ended in 1914. Then he left.") == ["It ended in 1914.", "Then he left."]


def test_names_keep_their_small_words() -> None:
    assert NAME.findall("the Nobel Prize in Physics of the University of Lund") == [
        "Nobel Prize in Physics of the University of Lund"
    ]


def test_long_words_do_not_fill_the_memory() -> None:
    tracemalloc.start()
    for n in range(1_000):
        alike(stems(f"{n}{'é' * 10_000}")[0], stems(f"{n}{'e' * 10_000}")[0])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000_000  # of 30,000,000
