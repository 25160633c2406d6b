import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.steps.text import (
    as_text,
    blend,
    clean_list,
    line_or_nothing,
    one_line,
    passage_or_nothing,
    simplify,
    unless_declined,
)


@pytest.mark.parametrize(
    ("answer", "text"), [(True, "yes"), (False, "no"), (None, ""), ("  Paris \n", "Paris"), ("", "")]
)
def test_the_value_of_a_field_as_text(answer: str | bool | None, text: str) -> None:
    assert as_text(answer) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        ("", ""),
        (" \n\t ", ""),
        ("1. Find it.\n2.  Check it.\n", "1. Find it. 2. Check it."),
        ("[1] Zorx | a planet", "[1] Zorx | a planet"),
        ("so\n[[ ## answer ## ]]\nParis", "so [ [ # # answer # # ]] Paris"),
        ("a\ud800b", "a?b"),
        ("é — 東京", "é — 東京"),
        ("x" * 100_000, "x" * 4000),
    ],
)
def test_a_line(text: str | None, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(st.characters()))
def test_a_line_is_one_line_that_no_adapter_takes_for_a_marker_and_that_can_be_sent(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert "[[ ##" not in shown
    shown.encode("utf-8")
    assert one_line(shown) == shown


@pytest.mark.parametrize(
    ("written", "item"),
    [
        (" films\n of   2010 ", "films of 2010"),
        ("1984 was a year", "1984 was a year"),
        ("[[ ## question ## ]]", "[ [ # # question # # ]]"),
    ],
)
def test_an_item_is_one_line(written: str, item: str) -> None:
    assert clean_list([written]) == [item]


def test_blanks_and_repetitions_go_and_the_order_stays() -> None:
    assert clean_list(["b", "", " B", " \n", "a", "b "]) == ["b", "a"]


def test_no_more_than_wanted() -> None:
    assert clean_list(["", "a", "b", "A", "c"], 2) == ["a", "b"]
    assert clean_list(["a"], 2) == ["a"]


def test_a_reply_that_could_not_be_parsed_has_no_items() -> None:
    assert clean_list(None) == []


@given(st.lists(st.text(st.characters())))
def test_whatever_is_written_items_are_different_lines_with_something_in_them(written: list[str]) -> None:
    found = clean_list(written)
    assert all(item and item == " ".join(item.split()) for item in found)
    assert len({item.casefold() for item in found}) == len(found)
    "".join(found).encode("utf-8")


@pytest.mark.parametrize("text", [None, "", " \n", "None", "none.", "N/A", '"None"', "[]", "**None**", "nothing"])
def test_a_line_that_says_nothing_is_empty(text: str | None) -> None:
    assert line_or_nothing(text) == ""


@pytest.mark.parametrize("text", ["Where was Ada born?", "none of his films", "Nothing but the Truth"])
def test_a_line_that_says_something_stays(text: str) -> None:
    assert line_or_nothing(f" {text}\n") == text


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("It is UNANSWERABLE here.", ""),
        ("The passages do not mention him.", ""),
        ("", ""),
        ("No.", "No."),
        ("The passages do not mention him, but he was born in Lund.",) * 2,
    ],
)
def test_an_lm_that_declines_says_nothing(answer: str, meant: str) -> None:
    assert unless_declined(answer) == meant


@pytest.mark.parametrize(
    ("parts", "query"), [(("a", "b"), "a b"), ((" a\n", "", "b"), "a b"), (("", " "), ""), ((), "")]
)
def test_blending_joins_what_is_not_blank(parts: tuple[str, ...], query: str) -> None:
    assert blend(*parts) == query


@pytest.mark.parametrize("text", ["Lund", " lund.\n", "“Lund”", "'LUND'.", "`Lund`"])
def test_case_quotes_and_full_stops_make_no_difference(text: str) -> None:
    assert simplify(text) == "lund"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " \n",
        "[NONE]",
        "[None]",
        " [none] ",
        "[NONE]\n[DONE]",
        "[DONE]",
        "[DONE] [NONE]",
        "NONE",
        "None.",
        '"[NONE]"',
        "**[NONE]**",
        "Passage: [NONE]",
        "[NONE] The film is not known to me.",
        "Leonviola directed it, or so I think. [none]",
        "None. I do not have that information.",
        "NONE - I cannot write a factual passage.",
        "I'm sorry, but I cannot say where he died, for I do not have access to current records.",
        "I do not have enough information to write a factual passage. [DONE]",
    ],
)
def test_a_passage_that_was_declined_is_none(text: str | None) -> None:
    assert passage_or_nothing(text) == ""


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("Leonviola died in Rome. [DONE]", "Leonviola died in Rome."),
        ("Leonviola died in Rome.\n[Done]\n\nQuestion: and then?", "Leonviola died in Rome."),
        ("None of his films were shown abroad.", "None of his films were shown abroad."),
        ("I Don't Know How She Does It is a film of 2011.", "I Don't Know How She Does It is a film of 2011."),
        ("I'm Sorry is a song by Brenda Lee.", "I'm Sorry is a song by Brenda Lee."),
        ("Unfortunately for the crew, the ship sank in 1912.", "Unfortunately for the crew, the ship sank in 1912."),
        ("As an architect, he built the town hall.", "As an architect, he built the town hall."),
        ("Two lines\nof one passage.", "Two lines of one passage."),
        ("I do not know her.\n1. Who is it?\n2. Where?", "I do not know her. 1. Who is it? 2. Where?"),
        ("I don't know his films. He was born in Lund.", "I don't know his films. He was born in Lund."),
    ],
)
def test_a_passage_that_was_written_is_kept_as_one_line(text: str, passage: str) -> None:
    assert passage_or_nothing(text) == passage


@given(st.text(st.characters()))
def test_any_text_is_a_passage_or_nothing(text: str) -> None:
    assert passage_or_nothing(text) in ("", *(one_line(text)[:n].strip() for n in range(len(one_line(text)) + 1)))
