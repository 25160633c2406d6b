"""Evidence that LMs quote, in the forms in which they write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.steps.quotes import find_quoted

TITLE = "The Trip (2010 TV series)"
DINE = "Rob Brydon and Steve Coogan dine — in the north of England."
SITCOM = "It is a British “television” sitcom."
SEASONS = "There are four seasons, the last one in 2020."
TEXT = f"{DINE} {SITCOM} {SEASONS}"


@pytest.mark.parametrize(
    ("quotes", "found"),
    [
        pytest.param(SITCOM, [SITCOM], id="word for word"),
        pytest.param("it is a\n", [SITCOM], id="a part of it, in another case"),
        pytest.param('"It is a British "television" sitcom."', [SITCOM], id="other quotes"),
        pytest.param("Rob Brydon and Steve Coogan dine - in the north of England", [DINE], id="another dash"),
        pytest.param("- **It is a British television sitcom.**", [SITCOM], id="a bullet and bold"),
        pytest.param("<b>It is</b> a  British  television sitcom", [SITCOM], id="tags and white space"),
        pytest.param(f"[1] {TITLE} | {SITCOM}", [SITCOM], id="number and title"),
        pytest.param(f"{TITLE}: {SITCOM}", [SITCOM], id="title"),
        pytest.param(f"1. {SITCOM}\n2. {DINE}", [DINE, SITCOM], id="in the order of the text"),
        pytest.param("Rob Brydon … dine … England", [DINE], id="ellipses"),
        pytest.param(
            "It is a British ... There are four seasons", [SITCOM, SEASONS], id="an ellipsis between sentences"
        ),
        pytest.param("It is a British [...] sitcom.", [SITCOM], id="an ellipsis in brackets"),
        pytest.param('The document says "There are four seasons" of it.', [SEASONS], id="quoted in a sentence"),
        pytest.param(f"{SITCOM} It won a prize. {SEASONS}", [SITCOM, SEASONS], id="with one that is made up"),
        pytest.param(f"Evidence 1: {SITCOM}", [SITCOM], id="behind a label"),
        pytest.param(f"**Key sentence 2** - {SITCOM}", [SITCOM], id="behind a label with a dash"),
        pytest.param(f"Evidence: [1] {TITLE}: {SITCOM}", [SITCOM], id="behind a label, a number and the title"),
        pytest.param("Evidence 1: It is a British prize.", [], id="made up behind a label"),
        pytest.param(f"What it does not say at all: {SITCOM}", [], id="behind more than a label"),
        pytest.param("It is a British prize.", [], id="made up"),
        pytest.param("sitcom … and Steve Coogan", [], id="in another order"),
        pytest.param("four seasons", [SEASONS], id="two words"),
        pytest.param("2020", [], id="a single word"),
        pytest.param("", [], id="nothing"),
        pytest.param(None, [], id="unparsable"),
    ],
)
def test_quotes_are_found(quotes: str | None, found: list[str]) -> None:
    assert find_quoted(quotes, TEXT, TITLE) == found


def test_an_empty_document_has_none() -> None:
    assert find_quoted(SITCOM, "", "") == []


@given(st.text(), st.text())
def test_whatever_is_quoted_only_sentences_of_the_text_are_found(quotes: str, text: str) -> None:
    assert all(sentence in text for sentence in find_quoted(quotes, text, TITLE))
