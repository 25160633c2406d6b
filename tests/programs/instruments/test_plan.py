import dspy
import pytest
from support.scripted import Function, Priced, engine_lm

import lms
from odqa.bridge import price
from programs import load, names
from programs.blendfilter import BlendFilter
from programs.commands.method import main
from programs.instruments.plan import QUESTIONS, Amount, plan, promise
from programs.migres import MIGRES
from retrieval import Memory, Passage

PASSAGES = [
    Passage("1", "Ada Quill was an astronomer who was born in 2150 in Lund.", "Ada Quill"),
    Passage("2", "Zorx is a planet found in 2190 by Ada Quill.", "Zorx"),
]


@pytest.fixture
def reader() -> dspy.LM:
    return lms.load("extractive")


def test_a_method_that_always_makes_the_same_calls(reader: dspy.LM) -> None:
    found = plan(BlendFilter(Memory(PASSAGES)), reader, ["Where was Ada Quill born?"])
    # Empty replies are asked for a second time; without passages to filter there is nothing to ask.
    assert found["lm_calls"] == Amount(7, 7, 14)
    assert found["searches"] == Amount(3, 3, 3)
    assert found["input_tokens"].typical > 100 * found["lm_calls"].typical
    assert 0 == found["output_tokens"].least < found["output_tokens"].typical


def test_a_loop_takes_what_its_settings_allow(reader: dspy.LM) -> None:
    def most(rounds: int) -> float:
        return plan(MIGRES(Memory(PASSAGES), rounds=rounds), reader, ["Where was Ada Quill born?"])["lm_calls"].most

    assert most(1) < most(2) < most(4)


def test_typical_is_the_median_over_the_questions(reader: dspy.LM) -> None:
    class Varied(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict("question -> answer")

        def forward(self, question: str) -> None:
            for _ in range(len(question)):
                try:
                    self.answer(question=question)
                except dspy.AdapterParseError:
                    return

    assert plan(Varied(), reader, ["a", "bb", "cccccc"])["lm_calls"] == Amount(1, 2, 6)


@pytest.mark.parametrize("name", names())
def test_every_method_can_be_planned_and_promises_something(name: str, reader: dspy.LM) -> None:
    program = load(name)
    found = plan(program(Memory(PASSAGES)), reader, QUESTIONS[:1])
    assert 1 <= found["lm_calls"].least <= found["lm_calls"].typical <= found["lm_calls"].most
    assert all(f"{what}: " in promise(program) for what in ("LM calls", "Searches", "Depth"))


def test_prices_are_those_of_the_list_and_unknown_is_not_0() -> None:
    known = price(dspy.LM("openai/gpt-4o-mini"), 1_000_000, 0)
    assert known is not None
    assert 0.01 < known < 10
    assert price(dspy.LM("openai/gpt-4o-mini"), 1_000_000, 1_000_000) > known
    assert price(dspy.LM("openai/a-model-of-ours", api_base="http://127.0.0.1:9/v1"), 1, 1) is None
    assert price(dspy.LM("nobody/nothing"), 1, 1) is None
    assert price(engine_lm(Function(lambda system, user: "")), 1, 1) is None
    assert price(engine_lm(Priced(lambda system, user: "")), 100, 10) == pytest.approx(0.11)


def test_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        main(BlendFilter, ["--plan", "--lm", "openai/gpt-4o-mini", "--questions", "2000", "--k", "1"])
    output, errors = capsys.readouterr()
    assert ended.value.code == 0
    lines = output.splitlines()
    assert lines[0].split() == ["per", "question", "least", "typical", "most"]
    assert lines[1].split()[-3:] == ["7", "7", "14"]
    assert "2,000 questions with openai/gpt-4o-mini: $" in output
    assert "Promised: Per question: LM calls: 7; 6 with style" in output
    assert "stand-ins" in errors

    with pytest.raises(SystemExit):
        main(BlendFilter, ["Where was Ada born?", "--plan", "--lm", "extractive"])
    assert "100 questions with extractive/reader: $0.00, $0.00, $0.00" in capsys.readouterr().out

    with pytest.raises(SystemExit) as ended:
        main(BlendFilter, ["--plan", "--lm", "extractive", "--questions", "0"])
    assert ended.value.code == 2
    assert "--questions must be at least 1, not 0" in capsys.readouterr().err
