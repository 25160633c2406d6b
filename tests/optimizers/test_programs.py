"""Parts of programs, and what stays of a program that an optimizer has been at."""

import inspect

import dspy
import pytest

from eval.figures.summary import Score
from eval.metrics import recall_passages
from optimizers._programs import choose, number_of, restricted, whole, with_prompts_of
from optimizers._report import changes
from programs.blendfilter import BlendFilter
from programs.react import ReAct
from retrieval import Memory, Passage, UsageError

TABLE = Memory([Passage("1", "Zorx is a planet .", "Zorx")])


def shown(program: dspy.Module) -> list[str]:
    return [name for name, _ in program.named_predictors()]


def test_predictors_are_named_by_themselves_or_by_their_module() -> None:
    program = BlendFilter(TABLE)
    assert choose(program) == ["draft.predict", "recall", "topic", "select.predict", "answer.predict"]
    assert choose(program, only=["select", "recall"]) == ["recall", "select.predict"]
    assert choose(program, freeze=["select.predict"]) == ["draft.predict", "recall", "topic", "answer.predict"]
    with pytest.raises(UsageError, match="no predictor 'sel'"):
        choose(program, freeze=["sel"])


def test_a_restricted_program_and_its_copies_show_these_predictors_alone() -> None:
    program = BlendFilter(TABLE)
    part = restricted(program, ["recall"])
    assert shown(part) == shown(part.deepcopy()) == shown(part.reset_copy()) == ["recall"]
    assert list(part.dump_state()) == ["recall"]
    assert inspect.getsource(type(part)) == inspect.getsource(BlendFilter)
    assert part.retriever is TABLE
    assert len(shown(program)) == 5
    full = whole(part)
    assert type(full) is BlendFilter
    assert shown(full) == shown(program)


def test_a_frozen_predictor_keeps_its_demonstrations() -> None:
    program = BlendFilter(TABLE)
    program.recall.demos = [dspy.Example(question="q", passage="p")]
    copy = whole(restricted(program, ["topic"]).reset_copy())
    assert copy.recall.demos == program.recall.demos


def test_only_prompts_are_taken_over() -> None:
    program = BlendFilter(TABLE)
    compiled = program.deepcopy()
    compiled.recall.signature = compiled.recall.signature.with_instructions("Recall!")
    compiled.recall.demos = [dspy.Example(question="q", passage="p", augmented=True, logprobs=[0.5])]
    compiled.candidate_programs = [program]
    compiled._compiled = True
    made = with_prompts_of(compiled, program)
    compiled.recall.demos = [dspy.Example(question="q", passage="p", augmented=True)]
    assert made.dump_state() == {**program.dump_state(), "recall": compiled.recall.dump_state()}
    assert set(vars(made)) == set(vars(program))


def test_an_undefined_score_is_none_to_add_up() -> None:
    metric = number_of(recall_passages)
    assert metric.__name__ == "recall_passages"
    assert metric(dspy.Example(question="q"), dspy.Prediction(answer="a")) == 0.0


def test_the_report_shows_instructions_as_a_diff_and_lists_demonstrations() -> None:
    before, after = BlendFilter(TABLE), BlendFilter(TABLE)
    after.topic.signature = after.topic.signature.with_instructions("Name the topic\nin a word.")
    after.topic.demos = [dspy.Example(question="What is  Zorx?", topic="planets " * 40, extra="not shown")]
    half, whole_ = Score(0.5, 4, 0.15, 0.85), Score(1.0, 4, 0.51, 1.0)
    scores = dict.fromkeys(shown(before), (None, None)) | {"select.predict": (half, whole_)}
    parts = dict(part.split("\n", 1) for part in changes(before, after, scores).split("\n\n"))
    none = "  part: - before, - after"
    assert parts["recall"].splitlines() == [none, "  instructions as they were", "  0 demonstrations"]
    assert parts["select.predict"].splitlines()[0] == (
        "  part: 50.0 [15.0, 85.0] (4) before, 100.0 [51.0, 100.0] (4) after"
    )
    assert parts["topic"].splitlines()[:7] == [
        none,
        "  instructions changed:",
        "  -Name the general topic that the question belongs to.",
        "  +Name the topic",
        "  +in a word.",
        "  1 demonstrations:",
        "    1. question: What is Zorx?",
    ]
    last = parts["topic"].splitlines()[7]
    assert last.startswith("       topic: planets planets")
    assert last.endswith("…")
    assert "not shown" not in parts["topic"]


def test_a_program_whose_predictors_are_deep_inside() -> None:
    program = ReAct(TABLE)
    names = shown(program)
    assert shown(restricted(program, names[:1])) == names[:1]
