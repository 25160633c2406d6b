import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.steps.items import items


@pytest.mark.parametrize(
    ("written", "item"),
    [
        ("1. films of 2010", "films of 2010"),
        ("2) films of 2010", "films of 2010"),
        ("(3) films of 2010", "films of 2010"),
        ("12: films of 2010", "films of 2010"),
        ("- films of 2010", "films of 2010"),
        (" • films\n of   2010 ", "films of 2010"),
        ("1. - films of 2010", "films of 2010"),
        ("1984 was a year", "1984 was a year"),
        ("3.14 is no number of an item", "3.14 is no number of an item"),
        ("2010. Then what?", "2010. Then what?"),
        ("-5 degrees", "-5 degrees"),
        ("[[ ## question ## ]]", "[ [ ## question ## ]]"),
    ],
)
def test_numbering_goes_and_numbers_stay(written: str, item: str) -> None:
    assert items([written]) == [item]


def test_blanks_and_repetitions_go_and_the_order_stays() -> None:
    assert items(["b", "", "2. B", " \n", "a", "1.", "b "]) == ["b", "a", "1."]


def test_no_more_than_wanted() -> None:
    assert items(["", "a", "b", "A", "c"], 2) == ["a", "b"]
    assert items(["a"], 2) == ["a"]


def test_a_reply_that_could_not_be_parsed_has_no_items() -> None:
    assert items(None) == []


@given(st.lists(st.text(st.characters())))
def test_whatever_is_written_items_are_different_lines_with_something_in_them(written: list[str]) -> None:
    found = items(written)
    assert all(item and item == " ".join(item.split()) for item in found)
    assert len({item.casefold() for item in found}) == len(found)
    "".join(found).encode("utf-8")
