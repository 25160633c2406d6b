"""Filtering passages and sentences."""

from support.score_table import ScoreTable

from retrieval import Passage
from retrieval.ranking.filter import filter_sentences
from retrieval.ranking.scorers import Lexical


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


class TestFilter:
    def test_passages_below_the_threshold_go_and_the_best_comes_first(self) -> None:
        passages = [Passage("a", "One."), Passage("b", "Two."), Passage("c", "Three.")]
        scorer = ScoreTable({"One.": 3.0, "Two.": 2.9, "Three.": 4.0})
        assert ids(filter_sentences("q", passages, scorer, 3.0)) == ["c", "a"]
        assert filter_sentences("q", passages, scorer, 5.0) == []
        assert filter_sentences("q", [], scorer, 0.0) == []

    def test_a_passage_above_each_of_its_sentences_stays_whole(self) -> None:
        scorer = ScoreTable({"T One.  Two.": 3.5, "T One.": 3.4, "T Two.": -2.0})
        (kept,) = filter_sentences("q", [Passage("a", "One.  Two.", "T")], scorer, 3.0)
        assert (kept.id, kept.text, kept.title, kept.score) == ("a", "One.  Two.", "T", 3.5)

    def test_of_any_other_the_sentences_that_reach_the_threshold_remain_in_their_order(self) -> None:
        scores = {"T One.": 3.0, "T Two.": 2.9, "T Three.": 3.5, "T Four.": 9.0}
        scorer = ScoreTable({"T One. Two.  Three. Four.": 3.5} | scores)
        (kept,) = filter_sentences("q", [Passage("a", "One. Two.  Three. Four.", "T")], scorer, 3.0)
        assert (kept.id, kept.text, kept.title, kept.score) == ("a", "One. Three. Four.", "T", 3.5)

    def test_a_sentence_as_good_as_the_passage_cuts_it(self) -> None:
        scorer = ScoreTable({"One. Two.": 3.0, "One.": 3.0, "Two.": 0.0})
        assert [p.text for p in filter_sentences("q", [Passage("a", "One. Two.")], scorer, 3.0)] == ["One."]

    def test_all_sentences_are_scored_at_once_and_only_those_of_kept_passages(self) -> None:
        passages = [Passage("a", "One. Two."), Passage("b", "Three."), Passage("c", "Four.")]
        scorer = ScoreTable({"One. Two.": 4, "Three.": 5, "Four.": 0, "One.": 1, "Two.": 1})
        filter_sentences("q", passages, scorer, 3.0)
        assert scorer.asked == [["One. Two.", "Three.", "Four."], ["Three.", "One.", "Two."]]

    def test_a_sentence_that_names_nobody_is_about_the_title(self) -> None:
        """The title is put in front of each sentence to be scored, and what is left has it once."""
        text = "Carl Boese did not die in the war. He passed away in Berlin on 6 July 1958."
        (kept,) = filter_sentences("Where did Carl Boese die?", [Passage("1", text, "Carl Boese")], Lexical(), 0.0)
        assert (kept.title, kept.text) == ("Carl Boese", text)

    def test_with_the_lexical_scorer(self) -> None:
        text = "The tower is made of iron. It stands in Paris. Gustave Eiffel designed the tower in Paris."
        passages = [Passage("1", text, "Eiffel Tower"), Passage("2", "Rome is old.", "Rome")]
        (kept,) = filter_sentences("Who designed the tower in Paris?", passages, Lexical(), 5.0)
        assert kept.text == "Gustave Eiffel designed the tower in Paris."
