"""What LMs are shown: the prompts of all programs, with labelled demonstrations of all kinds of questions."""

import inspect
import typing
from typing import Any

import dspy
import pytest
from support.training_rows import KINDS, WORLD

import programs
from eval.tasks.demonstrations.calls import labelled_calls
from eval.tasks.demonstrations.fit import for_predictors
from signatures.adapters import ChatAdapter

PROMPTS = ("style", "preset", "strategy", "verify", "mode", "generate")
"""The settings that change prompts."""


def variants(name: str) -> list[dspy.Module]:
    """The program with its defaults, and with each setting that changes its prompts."""
    program = programs.load(name)
    settings = inspect.signature(program.__init__).parameters
    choices = {s: typing.get_args(parameter.annotation) for s, parameter in settings.items() if s in PROMPTS}
    changed: list[dict[str, Any]] = [{s: value} for s, values in choices.items() for value in values or (True, False)]
    return [program(WORLD, **some) for some in [{}, *changed]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", programs.names())
def test_no_prompt_says_that_something_is_not_supplied(name: str, kind: str) -> None:
    labels = [labelled_calls(example, WORLD) for example in KINDS[kind]]
    for program in variants(name):
        predictors = dict(program.named_predictors())
        for at, shown in for_predictors(program, labels, 2).items():
            signature = predictors[at].signature
            demonstrations = [call.toDict() for _, call in shown]
            texts = [field for field, info in signature.fields.items() if info.annotation is str]
            assert "None" not in [call[field] for call in demonstrations for field in texts]  # what is empty is ""
            for adapter in dspy.ChatAdapter(), ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter():
                inputs = dict.fromkeys(signature.input_fields, "x")
                prompt = adapter.format(signature, demonstrations, inputs)
                assert len(prompt) == 2 + 2 * len(shown)
                assert "not supplied" not in str(prompt).lower()


@pytest.mark.parametrize("name", programs.names())
def test_what_stays_zero_shot_is_a_predictor(name: str) -> None:
    known = {at.partition(".")[0] for program in variants(name) for at, _ in program.named_predictors()}
    assert set(getattr(programs.load(name), "zero_shot", ())) <= known


GETS = {  # predictors with demonstrations of 2WikiMultiHopQA, NQ and StrategyQA in a paper's few-shot setting
    ("blendfilter", "2wikimultihopqa"): {"draft.predict", "answer.predict"},
    ("migres", "2wikimultihopqa"): {"recall", "extract", "detect", "subquery", "answer.predict"},
    ("migres", "nq"): {"recall", "extract", "detect", "subquery", "answer.predict"},
    ("migres", "strategyqa"): {"recall", "extract", "detect", "subquery", "answer.predict"},
    ("react", "hotpotqa"): {"step"},
    ("react", "strategyqa"): {"step"},
    ("self_ask", "2wikimultihopqa"): {"follow_up", "intermediate", "answer"},
    ("self_ask", "hotpotqa"): {"follow_up", "intermediate", "answer"},
    ("cot", "strategyqa"): {"answer.predict"},
    ("adaptive_rag", "2wikimultihopqa"): {
        "route",
        "memory.answer.predict",
        "single.answer.predict",
        "multiple.thought",
        "multiple.answer.predict",
    },
    ("hop", "2wikimultihopqa"): {"query.predict", "note.predict", "answer.predict"},
    ("hop", "strategyqa"): {"query.predict", "note.predict", "answer.predict"},
    ("par2_rag", "2wikimultihopqa"): {"plan", "answer.predict", "judge"},
    ("search_o1", "2wikimultihopqa"): {"reason", "condense"},
    ("search_o1", "strategyqa"): {"reason", "condense"},
    ("ircot", "2wikimultihopqa"): {"thought", "answer.predict"},
    ("ircot", "hotpotqa"): {"thought", "answer.predict"},
    ("ircot", "strategyqa"): {"thought", "answer.predict"},
}


@pytest.mark.parametrize(("name", "kind"), GETS)
def test_the_methods_of_few_shot_tables_get_what_they_need(name: str, kind: str) -> None:
    labels = [labelled_calls(example, WORLD) for example in KINDS[kind]]
    of_kind = {"style": "yesno", "preset": "commonsense"} if kind == "strategyqa" else {}
    program = programs.load(name)
    known = inspect.signature(program.__init__).parameters
    made = for_predictors(program(WORLD, **{s: v for s, v in of_kind.items() if s in known}), labels, 2)
    assert {at for at, shown in made.items() if len(shown) == 2} == GETS[name, kind]


def test_reasoning_of_wikihop_comes_from_its_evidences_and_of_hotpotqa_from_its_sentences() -> None:
    said = {kind: labelled_calls(KINDS[kind][0], WORLD)[0]["reasoning"] for kind in KINDS}
    assert said == {
        "2wikimultihopqa": "The discoverer of Zorx is Ada Quill. The place of birth of Ada Quill is Lund. "
        "So the answer is Lund.",
        "hotpotqa": "Zorx: It was found by Ada Quill. Ada Quill: Born in Lund. So the answer is Lund.",
        "musique": "The discoverer of Zorx is Ada Quill. Where was Ada Quill born? Lund. So the answer is Lund.",
        "nq": "Ada Quill: She was born in Lund. So the answer is Lund.",
        "strategyqa": "The average weight of a six year old is 45 pounds. A gallon of seawater weighs over 8 pounds. "
        "So the answer is no.",
    }
