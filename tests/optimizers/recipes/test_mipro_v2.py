import importlib.util
from pathlib import Path

import pytest
from support.compiling import compiled
from support.learning_lm import KEY, TABLE, TRAIN, LearningLM

from eval.metrics import em
from optimizers import check
from optimizers.recipes.mipro_v2 import compile
from programs.migres import MIGRES
from retrieval import UsageError

pytestmark = pytest.mark.needs("optuna")


def test_with_0_demonstrations_it_finds_instructions_alone(tmp_path: Path) -> None:
    outcome = compiled("mipro_v2", MIGRES(TABLE), LearningLM(), tmp_path, {"demonstrations": 0}, only=["detect"])
    assert KEY in outcome.program.detect.signature.instructions
    assert not any(predictor.demos for predictor in outcome.program.predictors())


def test_without_optuna_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"optuna is not installed, .*dspy-odqa\[optimizers\]"):
        compile(MIGRES(TABLE), TRAIN, em)
    with pytest.raises(UsageError, match="optuna is not installed"):  # what the command line asks before it pays
        check("mipro_v2", TRAIN)
