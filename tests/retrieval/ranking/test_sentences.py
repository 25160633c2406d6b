"""Where sentences end, and where they only seem to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.ranking.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["It rained.", "We left!", "Did they?", "No."],
        ["Dr. Smith met Mrs. Jones and Prof. Lee in St. Petersburg.", "St. John's was closed."],
        ["J. R. R. Tolkien wrote it.", "He taught at Oxford.", "C. S. Lewis and Malcolm X.", "The end."],
        ["He served in the U.S. Army.", "She moved to the U.S.", "They met in Washington, D.C. again."],
        ["In 1926 the then-U.S. Congressman Hayden won.", "The line runs along I-69/U.S. Highway 59."],
        ["It costs $3.50 at 5.30 p.m. on Monday.", "Pi is about 3.14.", "Then 2.72 follows."],
        ["Symphony No. 5 is on pp. 12 and 13 of vol. 2.", "Fig. 3 shows it (c. 1810; d. 1827)."],
        ["He was born on Jan. 5, 1999.", "No.", "He was not."],
        ["Apple Inc. makes phones.", "He founded Acme Corp.", "The firm failed.", "Sammy Davis Jr. sang."],
        ["Her favourite vitamin is C.", "It helps.", "The ears have the shape of a V.", "Its tail is long."],
        ["Smith et al. (2001) disagree, e.g. Apple and i.e. Pears.", "Nobody else does."],
        ["He asked “Why?”", "She said “Because.”", "'Fine.'", "(They left.)", "[So did we.]"],
        ['"Why?" he asked.', '"I go!" she said.', "He went…", "Then... nothing.", "It was . . . odd."],
        ["1. Mix the flour.", "2. Add an egg.", "3. Bake."],
        ["She is not Gomez's.", "Morticia left.", "He saw the U.K.'s flag and example.com."],
        ["The case was Roe v. Wade.", "Elizabeth II.", "She reigned."],
        ["Élodie est là.", "Ça va.", "Øystein kom.", "東京です."],
        ["Version 2.0 is out.", "3 people came."],
    ],
)
def test_sentences_come_apart(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_a_blank_line_ends_a_sentence_and_a_line_break_does_not() -> None:
    text = "A title\n\nThe text goes\non here. And\there.\n \nMore"
    assert split_sentences(text) == ["A title", "The text goes\non here.", "And\there.", "More"]


@pytest.mark.parametrize("text", ["", "  \n\n "])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []


words = st.sampled_from(["Dr", "U.S", "J", "no", "No", "5", "3.5", "He", "the", "é", "(a", "b)", '"Hm', "", "…"])
marks = st.sampled_from([".", "!", "?", "...", "…", '."', ".)", ",", ";", "", "?!"])
gaps = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", "\u00a0", ""])
prose = st.lists(st.tuples(words, marks, gaps).map("".join)).map("".join)


@given(prose | st.text())
def test_nothing_but_white_space_is_lost_and_the_order_is_kept(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence and sentence == sentence.strip() and sentence in text for sentence in sentences)


@given(prose)
def test_a_sentence_is_not_split_again_when_it_stands_alone(text: str) -> None:
    assert all(split_sentences(sentence) == [sentence] for sentence in split_sentences(text))


@pytest.mark.parametrize("part", [".", "Dr. ", "A. ", '."', "\n", "word ", '"'])
def test_long_monotonous_text_is_no_trouble(part: str) -> None:
    assert len(split_sentences(part * 20_000 + "end")) <= 2
