import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from programs.blendfilter import BlendFilter
from programs.instruments.adapters import load_adapter
from programs.instruments.state import load_state, save_state
from retrieval import Memory, UsageError


class Other(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.ChainOfThought("question -> answer")


@pytest.fixture
def compiled() -> BlendFilter:
    program = BlendFilter(Memory([]))
    program.answer.predict.demos = [dspy.Example(context="[1] c", question="q", reasoning="r", answer="a")]
    program.recall.signature = program.recall.signature.with_instructions("Write it.")
    return program


def edited(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_a_state_comes_back_with_its_manifest(compiled: BlendFilter, tmp_path: Path) -> None:
    compiled.set_lm(dspy.LM("openai/some-model", api_key="secret"))
    save_state(compiled, tmp_path / "new" / "state.json", {"recipe": "by hand"})
    text = (tmp_path / "new" / "state.json").read_text()
    assert "some-model" not in text
    assert "secret" not in text
    program = BlendFilter(Memory([]))
    manifest = load_state(program, tmp_path / "new" / "state.json")
    assert (manifest["recipe"], manifest["program"]) == ("by hand", "BlendFilter")
    assert program.recall.signature.instructions == "Write it."
    assert program.answer.predict.demos[0]["answer"] == "a"
    assert program.answer.predict.lm is None
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["state.json"]


def test_a_state_says_under_which_adapter_it_was_made(
    compiled: BlendFilter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with dspy.context(adapter=load_adapter("json")):
        save_state(compiled, tmp_path / "state.json", {})
        assert load_state(BlendFilter(Memory([])), tmp_path / "state.json")["adapter"] == "json"
    assert not caplog.records
    with dspy.context(adapter=load_adapter("chat")):
        load_state(BlendFilter(Memory([])), tmp_path / "state.json")
    (record,) = caplog.records
    assert "state.json was compiled with the adapter json and is used with chat" in record.getMessage()
    compiled.save(tmp_path / "theirs.json")
    load_state(BlendFilter(Memory([])), tmp_path / "theirs.json")  # nothing is known of it
    assert len(caplog.records) == 1


def test_dspy_loads_what_we_save_and_we_load_what_dspy_saves(compiled: BlendFilter, tmp_path: Path) -> None:
    save_state(compiled, tmp_path / "ours.json", {})
    program = BlendFilter(Memory([]))
    program.load(tmp_path / "ours.json")
    assert program.recall.signature.instructions == "Write it."
    compiled.save(tmp_path / "theirs.json")
    program = BlendFilter(Memory([]))
    assert load_state(program, tmp_path / "theirs.json") == {}
    assert program.recall.signature.instructions == "Write it."


def test_a_switch_that_turns_predictors_off_still_loads(compiled: BlendFilter, tmp_path: Path) -> None:
    save_state(compiled, tmp_path / "state.json", {})
    program = BlendFilter(Memory([]), external=False, filter="off")
    load_state(program, tmp_path / "state.json")
    assert program.recall.signature.instructions == "Write it."


def test_states_that_do_not_fit_are_refused_with_the_reason(compiled: BlendFilter, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_state(Other(), path, {})
    with pytest.raises(UsageError, match=r"is a state of Other, not of BlendFilter"):
        load_state(compiled, path)
    save_state(BlendFilter(Memory([]), internal=False), path, {})
    with pytest.raises(UsageError, match=r"it has no predictor 'recall'"):
        load_state(compiled, path)
    save_state(BlendFilter(Memory([]), style="yesno"), path, {})
    with pytest.raises(
        UsageError, match=r"'select.predict' has the fields question, context, reasoning, relevant there"
    ):
        load_state(BlendFilter(Memory([]), filter="each", external=False), edited(path, topic={}))


def test_a_state_of_another_version_of_the_signatures_is_refused(compiled: BlendFilter, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_state(compiled, path, {})
    compiled.topic.signature = compiled.topic.signature.with_updated_fields("topic", desc="one word")
    with pytest.raises(UsageError, match=r"the fields of 'topic' had other types or descriptions when it was compiled"):
        load_state(compiled, path)
    # Instructions are what compiling changes.
    fresh = BlendFilter(Memory([]))
    fresh.topic.signature = fresh.topic.signature.with_instructions("Name it.")
    load_state(fresh, path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"manifest": 3}', "\x00\xff", "[" * 99_999])
def test_what_is_no_state_file_is_refused(compiled: BlendFilter, tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"is no state file"):
        load_state(compiled, path)


def test_an_lm_and_a_server_in_a_state_are_ignored(compiled: BlendFilter, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_state(compiled, path, {})
    named = dspy.LM("openai/theirs", api_base="http://127.0.0.1:9", api_key="k").dump_state()
    recall = {**json.loads(path.read_text())["recall"], "lm": named}
    load_state(compiled, edited(path, recall=recall))
    assert [predictor.lm for predictor in compiled.predictors()] == [None] * len(compiled.predictors())


@pytest.mark.parametrize("broken", [{}, {"signature": None}, {"signature": {"instructions": 3}}, {"signature": []}])
def test_a_damaged_predictor_is_refused(compiled: BlendFilter, tmp_path: Path, broken: dict[str, Any]) -> None:
    path = tmp_path / "state.json"
    save_state(compiled, path, {})
    with pytest.raises(UsageError, match=r"is a damaged state file: .* in 'recall'"):
        load_state(compiled, edited(path, recall=broken))


@pytest.mark.parametrize("adapter", ["chat", "json", "xml"])
def test_a_demonstration_that_no_prompt_can_show_is_refused(
    compiled: BlendFilter, tmp_path: Path, adapter: str
) -> None:
    compiled.recall.demos = [{"question": [1], "passage": "p"}]
    save_state(compiled, tmp_path / "state.json", {})
    with dspy.context(adapter=load_adapter(adapter)), pytest.raises(UsageError, match=r"is a damaged .* in 'recall'"):
        load_state(BlendFilter(Memory([])), tmp_path / "state.json")


@pytest.mark.parametrize(
    "entry", [{"fields": 3}, {"fields": {"recall": 3}}, {"signatures": []}, {"program": {}}, {"adapter": [1]}]
)
def test_a_damaged_manifest_is_refused(compiled: BlendFilter, tmp_path: Path, entry: dict[str, Any]) -> None:
    save_state(compiled, tmp_path / "state.json", entry)
    with pytest.raises(UsageError, match=rf"is a damaged state file: '{next(iter(entry))}' in its manifest"):
        load_state(compiled, tmp_path / "state.json")


def test_no_lone_surrogate_gets_into_a_prompt(compiled: BlendFilter, tmp_path: Path) -> None:
    compiled.recall.demos = [{"question": "q \ud800", "passage": "p"}]  # as an LM may have written it
    save_state(compiled, tmp_path / "state.json", {})
    program = BlendFilter(Memory([]))
    load_state(program, tmp_path / "state.json")
    assert program.recall.demos[0]["question"] == "q ?"
    (tmp_path / "state.json").write_text((tmp_path / "state.json").read_text().replace("q ?", "\\ud800"))
    with pytest.raises(UsageError, match=r"is a damaged state file: it has lone surrogates"):
        load_state(program, tmp_path / "state.json")


def test_a_file_that_is_not_there_is_said(compiled: BlendFilter, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the state file .*No such file"):
        load_state(compiled, tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"cannot read the state file .*directory"):
        load_state(compiled, tmp_path)
