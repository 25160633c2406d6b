import dspy
import pytest

from eval.metrics import recall_passages
from optimizers.recipe import check_settings, copy_with_prompts, zero_if_undefined
from programs.blendfilter import BlendFilter
from retrieval import Memory, UsageError


def test_only_prompts_are_taken_over() -> None:
    program = BlendFilter(Memory([]))
    compiled = program.deepcopy()
    compiled.recall.signature = compiled.recall.signature.with_instructions("Recall!")
    compiled.recall.demos = [dspy.Example(question="q", passage="p", augmented=True, logprobs=[0.5])]
    compiled.candidate_programs = [program]
    compiled._compiled = True
    made = copy_with_prompts(program, compiled)
    compiled.recall.demos = [dspy.Example(question="q", passage="p", augmented=True)]
    assert made.dump_state() == {**program.dump_state(), "recall": compiled.recall.dump_state()}
    assert set(vars(made)) == set(vars(program))


def test_an_undefined_score_is_0() -> None:
    metric = zero_if_undefined(recall_passages)
    assert metric.__name__ == "recall_passages"
    assert metric(dspy.Example(question="q"), dspy.Prediction(answer="a")) == 0.0


def test_settings_may_be_as_small_as_their_least_and_no_smaller() -> None:
    train = [dspy.Example(question="?")] * 2
    check_settings({"train": 2, "batch_size": 1}, train, batch_size=1, free=-5)
    with pytest.raises(UsageError, match="at least 2 questions to learn from, not 1"):
        check_settings({"train": 2}, train[:1])
    with pytest.raises(UsageError, match="batch-size must be at least 1, not 0"):
        check_settings({"train": 2, "batch_size": 1}, train, batch_size=0)
