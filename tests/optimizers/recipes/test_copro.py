from pathlib import Path

import pytest
from support.compiling import compiled
from support.learning_lm import KEY, TABLE, LearningLM

from programs.migres import MIGRES


@pytest.mark.parametrize(("depth", "key"), [(1, False), (2, True)])
def test_the_second_turn_sees_the_scores_of_the_first(depth: int, key: bool, tmp_path: Path) -> None:
    learner = LearningLM("Person 1")
    outcome = compiled("copro", MIGRES(TABLE), learner, tmp_path, {"depth": depth}, only=["detect"])
    assert any("Resulting Score" in prompt for prompt in learner.taught) is key
    assert (KEY in outcome.program.detect.signature.instructions) is key
