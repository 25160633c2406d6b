"""What a race asks of a recipe; tests/eval/choosing/test_running.py has races with compiled finalists."""

import json
from dataclasses import replace
from pathlib import Path

import dspy
import pytest

import lms
from eval import Request
from eval.metrics import em
from eval.runs.prepare import adapter, prepare
from odqa.limits import Limiter
from optimizers.finalist import compiling
from retrieval import UsageError


def test_a_recipe_compiles_what_is_ready_into_a_state_file(tmp_path: Path) -> None:
    request = Request(task="sample", program="direct", lm="extractive", limit=6)
    name, compile_one = compiling("labeled_few_shot", lms.load("extractive"), 0)
    with adapter(request):
        ready = prepare(request)
        with dspy.context(lm=ready.lm):
            state = compile_one(ready, em, tmp_path, Limiter())
        manifest = json.loads(state.read_text(encoding="utf-8"))["manifest"]
        assert (name, manifest["recipe"], len(manifest["train"])) == ("labeled_few_shot", "labeled_few_shot", 6)
        made = prepare(replace(request, state=str(state))).module
    assert all(predictor.demos for _, predictor in made.named_predictors())
    assert not any(predictor.demos for _, predictor in ready.module.named_predictors())


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("nosuch", "there is no recipe 'nosuch'"),
        ("knn_few_shot", "knn_few_shot makes no state file"),
        ("copro", "and the extractive reader is no language model"),
    ],
)
def test_what_cannot_serve_a_race_is_refused(recipe: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compiling(recipe, lms.load("extractive"), 0)
