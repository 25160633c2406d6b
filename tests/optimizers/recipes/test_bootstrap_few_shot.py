from pathlib import Path

from support.compiling import compiled
from support.learning_lm import TABLE, LearningLM

from programs.blendfilter import BlendFilter


def test_bootstrapped_demonstrations_come_from_right_answers_alone(tmp_path: Path) -> None:
    # Two of the six train questions are answered right without demonstrations.
    outcome = compiled("bootstrap_few_shot", BlendFilter(TABLE), LearningLM("Person 1"), tmp_path / "one")
    demos = {name: predictor.demos for name, predictor in outcome.program.named_predictors()}
    assert {demo.question for demo in demos["answer.predict"]} == {"Where was Person 1 born ?"}
    assert demos["select.predict"][0].relevant == [1]
    assert demos["topic"][0].topic == "People ."
    assert outcome.after.total.scores["em"].mean == 1.0
    assert outcome.cost.lm_calls == 6 * 7
    # Nobody answers right: there is nothing to learn from, and nothing gets better.
    outcome = compiled("bootstrap_few_shot", BlendFilter(TABLE), LearningLM(), tmp_path / "none")
    assert all(not predictor.demos for predictor in outcome.program.predictors())
    assert outcome.after.total.scores["em"].mean == 0.0
