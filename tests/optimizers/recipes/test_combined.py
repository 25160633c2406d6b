from pathlib import Path

import pytest
from support.compiling import compiled
from support.learning_lm import KEY, TABLE, LearningLM

from programs.blendfilter import BlendFilter


@pytest.mark.slow
@pytest.mark.parametrize(("instructions", "asked"), [("copro", "proposed_instruction"), ("gepa", "new_instruction")])
def test_the_named_recipe_writes_the_instructions(instructions: str, asked: str, tmp_path: Path) -> None:
    learner, settings = LearningLM(), {"instructions": instructions}
    outcome = compiled("combined", BlendFilter(TABLE), learner, tmp_path, settings, only=["answer"])
    assert learner.taught
    assert all(asked in prompt for prompt in learner.taught)
    assert KEY in outcome.program.answer.predict.signature.instructions
