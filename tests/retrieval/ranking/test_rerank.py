"""Reranking."""

import copy

import pytest
from support.score_table import ScoreTable

from retrieval import Memory, Passage, UsageError
from retrieval.ranking.rerank import Reranked, rerank
from retrieval.ranking.scorers import Lexical


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


class TestRerank:
    passages = (Passage("a", "one"), Passage("b", "two", "Title", 9.0), Passage("c", "three"))

    def test_best_first_with_the_new_scores_and_titles_in_front(self) -> None:
        scorer = ScoreTable({"one": 1.0, "Title two": 2.0, "three": 1.0})
        found = rerank("q", self.passages, scorer)
        assert [(p.id, p.score, p.text, p.title) for p in found] == [
            ("b", 2.0, "two", "Title"),
            ("a", 1.0, "one", ""),
            ("c", 1.0, "three", ""),
        ]
        assert rerank("q", [], scorer) == []

    def test_a_retriever_is_reranked_deeper_than_asked(self) -> None:
        scorer = ScoreTable({"one": 1.0, "Title two": 2.0, "three": 3.0})
        memory = Memory(self.passages, {"q": "abc"})
        assert ids(Reranked(memory, scorer)("q", 1)) == ["c"]
        assert ids(Reranked(memory, scorer, depth=2)("q", 1)) == ["b"]
        assert ids(Reranked(memory, scorer, depth=1)("q", 3)) == ["c", "b", "a"]
        assert [ids(found) for found in Reranked(memory, scorer).batch(["q", " ", "one"], 2)] == [["c", "b"], [], ["a"]]

    def test_it_is_shared_and_not_copied(self) -> None:
        reranked = Reranked(Memory([]), Lexical())
        assert copy.deepcopy(reranked) is reranked

    def test_a_depth_of_nothing_is_refused(self) -> None:
        with pytest.raises(UsageError, match="must be at least 1, not 0"):
            Reranked(Memory([]), Lexical(), depth=0)
