"""Packages of the extra `dense`, and models from the hub."""

import sys
from collections.abc import Callable

import pytest

from retrieval import UsageError
from retrieval.models import LanguageModel, import_package, load_classifier, loading, without_surrogates


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"faiss is not installed, get it by: pip install 'dspy-odqa\[dense\]'"):
        import_package("faiss")
    assert import_package("sys") is sys


def test_what_a_library_says_at_length_becomes_one_line() -> None:
    with pytest.raises(UsageError, match=r"cannot load the model 'm', .*: no such file$"), loading("m"):
        raise OSError("no such file\nand much more")


def test_lone_surrogates_go() -> None:
    assert without_surrogates("a \ud800 é") == "a ? é"


def test_a_classifier_gives_raw_logits(tiny: Callable[..., str]) -> None:
    pytest.importorskip("sentence_transformers")
    scores = load_classifier(tiny("classifier", num_labels=1), "cpu").predict([("cat", "dog"), ("rome", "paris")])
    assert abs(scores).max() > 1


def test_questions_longer_than_the_model_can_read(tiny: Callable[..., str]) -> None:
    (values,) = LanguageModel(tiny("gpt2"), batch_size=1, max_length=512, device="cpu").log_probabilities(
        [("", "dog " * 100, "")], "cat " * 100
    )
    assert len(values) == 32
