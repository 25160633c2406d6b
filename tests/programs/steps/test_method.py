"""What every method is, beside what it does."""

import asyncio
import logging
from pathlib import Path

import dspy
import pytest

import lms
from programs.blendfilter import BlendFilter
from retrieval import Memory, UsageError

TEXTS = ["Ada Quill was born in Lund.", "Bo Quill was a baker."]
QUESTION = "Where was Ada Quill born?"


def test_it_is_awaited_without_a_warning(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("dspy"), "propagate", True)
    with dspy.context(lm=lms.load("extractive")):
        program = BlendFilter(Memory(TEXTS))
        awaited = asyncio.run(program.acall(question=QUESTION))
        assert caplog.records == []
        assert awaited.answer == program(question=QUESTION).answer


class TestLoad:
    """A state that DSPy's own `save` wrote."""

    def test_a_state_of_the_same_settings_is_taken(self, tmp_path: Path) -> None:
        compiled = BlendFilter(Memory(TEXTS))
        demo = dspy.Example(context="", question="Why?", reasoning="Because.", answer="Because")
        compiled.answer.predict.demos = [demo]
        compiled.answer.predict.signature = compiled.answer.predict.signature.with_instructions("Be brief.")
        compiled.save(tmp_path / "state.json")
        loaded = BlendFilter(Memory(TEXTS), k=2)
        loaded.load(tmp_path / "state.json")
        assert loaded.answer.predict.signature.instructions == "Be brief."
        assert [dict(demo) for demo in loaded.answer.predict.demos] == [dict(demo)]

    def test_a_switch_that_is_off_needs_no_state(self, tmp_path: Path) -> None:
        BlendFilter(Memory(TEXTS)).save(tmp_path / "state.json")
        BlendFilter(Memory(TEXTS), filter="off").load(tmp_path / "state.json")

    def test_a_state_of_another_style_is_refused_and_nothing_changes(self, tmp_path: Path) -> None:
        BlendFilter(Memory(TEXTS), style="yesno").save(tmp_path / "state.json")
        program = BlendFilter(Memory(TEXTS), filter="off")
        before = program.dump_state()
        with pytest.raises(
            UsageError, match=r"does not fit BlendFilter with these settings: .*'draft.predict' has other"
        ):
            program.load(tmp_path / "state.json")
        assert program.dump_state() == before

    def test_a_state_without_a_predictor_is_refused(self, tmp_path: Path) -> None:
        BlendFilter(Memory(TEXTS), filter="off").save(tmp_path / "state.json")
        with pytest.raises(UsageError, match=r"does not fit BlendFilter: it has no predictor 'topic'"):
            BlendFilter(Memory(TEXTS)).load(tmp_path / "state.json")
