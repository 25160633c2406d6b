"""The test double."""

import pytest

from retrieval import Memory, Passage

TABLE = [
    Passage("a", "Cats chase mice.", "Cats"),
    Passage("b", "Dogs chase cats", "Dogs"),
    Passage("c", "The Seine flows through Paris", "Seine"),
]


def test_it_ranks_by_shared_words_and_keeps_ties_in_order() -> None:
    found = Memory(TABLE)("DOGS chase cats cats")
    assert [(p.id, p.score) for p in found] == [("b", 3.0), ("a", 2.0)]
    assert [p.id for p in Memory(TABLE)("chase")] == ["a", "b"]
    assert [p.id for p in Memory(TABLE)("chase", 1)] == ["a"]


def test_texts_alone_are_passages() -> None:
    assert [p.text for p in Memory(["Cats chase mice.", "Dogs chase cats."])("dogs")] == ["Dogs chase cats."]


def test_it_finds_nothing_without_a_shared_word() -> None:
    assert Memory(TABLE)("xylophone") == []


def test_it_answers_from_a_script() -> None:
    memory = Memory(TABLE, {"chase": ["c", "a"], "nothing": []})
    assert memory("chase") == [TABLE[2], TABLE[0]]
    assert memory("chase", 1) == [TABLE[2]]
    assert memory("nothing") == []
    assert [p.id for p in memory("dogs")] == ["b"]


def test_a_script_may_only_name_passages_of_the_table() -> None:
    with pytest.raises(KeyError, match="z"):
        Memory(TABLE, {"chase": ["z"]})
