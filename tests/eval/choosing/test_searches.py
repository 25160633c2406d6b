"""Searches that are made once."""

from eval.choosing.searches import Remembering
from retrieval import Memory, Passage, load


class Counting(Memory):
    searched = 0

    def search(self, query: str, k: int) -> list[Passage]:
        self.searched += 1
        return super().search(query, k)


def test_the_same_query_is_searched_once_and_another_number_of_passages_anew() -> None:
    inner = Counting(["a b", "b c"])
    outer = Remembering(inner)
    assert outer("b", 2) == outer("b", 2) == inner("b", 2)
    outer("b", 2).clear()
    assert (len(outer("b", 2)), len(outer("b", 1)), inner.searched) == (2, 1, 3)


def test_one_that_asks_an_lm_is_always_asked() -> None:
    inner = Counting(["a b"])
    inner.asks_lm = True
    outer = Remembering(inner)
    outer("b", 2)
    outer("b", 2)
    assert inner.searched == 2


def test_other_processes_open_what_is_behind_it() -> None:
    assert Remembering(load("sample")).opened_as == "sample"
