"""The analyser of BM25."""

import pytest

from retrieval import UsageError
from retrieval.bm25 import Analyser


def test_words_are_lowered_filtered_and_stemmed() -> None:
    analyser = Analyser.from_settings("english", "english")
    assert analyser("The Runs of a CAT, running 42") == ["run", "cat", "run", "42"]


def test_stop_words_go_before_stemming_and_may_be_the_callers_own() -> None:
    assert Analyser.from_settings("english", ["Runs"])("runs running the") == ["run", "the"]
    assert Analyser.from_settings(None, None)("The runs") == ["the", "runs"]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown stemmer 'klingon': use None or one of .*english"):
        Analyser.from_settings("klingon", None)
    with pytest.raises(UsageError, match="unknown stop words 'klingon': use 'english', None or a list"):
        Analyser.from_settings(None, "klingon")
