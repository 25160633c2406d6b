import inspect

import dspy
import pytest

from optimizers.predictors import learning, restricted, unrestricted
from programs.blendfilter import BlendFilter
from programs.react import ReAct
from retrieval import Memory, Passage, UsageError

TABLE = Memory([Passage("1", "Zorx is a planet .", "Zorx")])


def shown(program: dspy.Module) -> list[str]:
    return [name for name, _ in program.named_predictors()]


def test_predictors_are_named_by_themselves_or_by_their_module() -> None:
    program = BlendFilter(TABLE)
    assert learning(program) == ["draft.predict", "recall", "topic", "select.predict", "answer.predict"]
    assert learning(program, only=["select", "recall"]) == ["recall", "select.predict"]
    assert learning(program, freeze=["select.predict"]) == ["draft.predict", "recall", "topic", "answer.predict"]
    with pytest.raises(UsageError, match="no predictor 'sel'"):
        learning(program, freeze=["sel"])


def test_a_restricted_program_and_its_copies_show_these_predictors_alone() -> None:
    program = BlendFilter(TABLE)
    part = restricted(program, ["recall"])
    assert shown(part) == shown(part.deepcopy()) == shown(part.reset_copy()) == ["recall"]
    assert list(part.dump_state()) == ["recall"]
    assert inspect.getsource(type(part)) == inspect.getsource(BlendFilter)
    assert part.retriever is TABLE
    assert len(shown(program)) == 5
    full = unrestricted(part)
    assert type(full) is BlendFilter
    assert shown(full) == shown(program)


def test_a_frozen_predictor_keeps_its_demonstrations() -> None:
    program = BlendFilter(TABLE)
    program.recall.demos = [dspy.Example(question="q", passage="p")]
    copy = unrestricted(restricted(program, ["topic"]).reset_copy())
    assert copy.recall.demos == program.recall.demos


def test_a_program_whose_predictors_are_deep_inside() -> None:
    program = ReAct(TABLE)
    names = shown(program)
    assert shown(restricted(program, names[:1])) == names[:1]
