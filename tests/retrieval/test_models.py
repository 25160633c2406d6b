"""Packages of the extra `dense`, and models from the hub."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieval import UsageError
from retrieval.models import Classifier, LanguageModel, import_package, loading, refuse_code, without_surrogates


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


@pytest.mark.needs("sentence_transformers")
def test_a_classifier_gives_raw_logits(tiny: Callable[..., str]) -> None:
    scores = Classifier(tiny("classifier", num_labels=1), batch_size=32, device="cpu").read(
        [("cat", "dog"), ("rome", "paris")]
    )
    assert abs(scores).max() > 1


def test_questions_longer_than_the_model_can_read(tiny: Callable[..., str]) -> None:
    (values,) = LanguageModel(tiny("gpt2"), batch_size=1, max_length=512, device="cpu").log_probabilities(
        [("", "dog " * 100, "")], "cat " * 100
    )
    assert len(values) == 32


@pytest.mark.needs("sentence_transformers")
def test_a_model_of_the_hub_brings_no_classes_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sentence_transformers.util as util

    hub = {
        "modules.json": '[{"type": "sentence_transformers.models.Pooling", "path": "1"}, {"type": "a.b", "path": ""}]'
    }

    def load_file_path(model: str, name: str, subfolder: str) -> str | None:
        if subfolder or name not in hub:
            return None
        (tmp_path / name).write_text(hub[name])
        return str(tmp_path / name)

    monkeypatch.setattr(util, "load_file_path", load_file_path)
    with pytest.raises(UsageError, match=r"names the model some/model, which brings code of its own \(a\.b\)"):
        refuse_code("some/model")
    hub.clear()
    refuse_code("some/model")


@pytest.mark.needs("sentence_transformers")
@pytest.mark.parametrize(
    "opened",
    [
        lambda path: LanguageModel(path, batch_size=1, max_length=32, device="cpu"),
        lambda path: Classifier(path, batch_size=32, device="cpu"),
    ],
    ids=["language model", "classifier"],
)
def test_a_model_does_not_run_code_of_its_own(opened: Callable[[str], object], tmp_path: Path) -> None:
    (tmp_path / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w').close()\nclass HarmConfig: ...\n")
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "harm", "auto_map": {"AutoConfig": "harm.HarmConfig", "AutoModel": "harm.Harm"}})
    )
    with pytest.raises(UsageError, match="cannot load the model"):
        opened(str(tmp_path))
    assert not (tmp_path / "harmed").exists()
