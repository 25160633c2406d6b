from pathlib import Path

from support.compiling import compiled
from support.learning_lm import TABLE, LearningLM

from programs.blendfilter import BlendFilter


def test_without_a_set_that_does_better_the_program_stays_as_it_is(tmp_path: Path) -> None:
    outcome = compiled("bootstrap_random_search", BlendFilter(TABLE), LearningLM("Person 1", deaf=True), tmp_path)
    assert outcome.program.dump_state() == BlendFilter(TABLE).dump_state()
