"""Demonstrations of loops have the inputs that the programs' own loops build when the LM replies so."""

import json

import dspy
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from eval.tasks.demonstrations.calls import Call, labelled_calls
from programs.hop import Hop
from programs.react import ReAct
from programs.search_o1 import SearchO1
from programs.self_ask import SelfAsk
from retrieval import Memory, Passage
from signatures.act import NextStep, ReasonOn
from signatures.answer import AnswerShort, AnswerShortDirectly
from signatures.extract import CondensePassages, TakeNotes
from signatures.query import AskFollowUp, AskForHop

TABLE = Memory(
    [Passage("1", "Zorx is a planet found by Ada Quill.", "Zorx"), Passage("2", "She is from Lund.", "Quill")]
)
EXAMPLE = dspy.Example(
    id="q",
    question="Where is who found Zorx from?",
    answer="Lund",
    answers=["Lund"],
    gold_titles=["Zorx", "Quill"],
    decomposition=[
        {"question": "Who found Zorx?", "answer": "Ada Quill"},
        {"question": "Where is Quill, #1, from?", "answer": "Lund"},
    ],
).with_inputs("question")


def demonstrated(field: str) -> list[Call]:
    """The calls with this field, in the order in which the loop makes them."""
    first, end, *others = (call for call in labelled_calls(EXAMPLE, TABLE) if field in call)
    return [first, *others, end]


def replies(kind: type[dspy.Signature], calls: list[Call]) -> list[Reply]:
    return [Reply(kind, {name: str(call[name]) for name in kind.output_fields}) for call in calls]


def test_react() -> None:
    calls = demonstrated("steps")
    with scripted(*replies(NextStep, calls)) as script:
        seen = ReAct(TABLE)(question=EXAMPLE.question)
    assert [inputs(prompt) for _, prompt in script.prompts] == [
        {"question": EXAMPLE.question, "steps": call["steps"]} for call in calls
    ]
    assert (seen.answer, seen.ended, seen.queries) == (
        "Lund",
        "finish",
        ["Who found Zorx?", "Where is Quill, Ada Quill, from?"],
    )
    assert seen.thoughts == [
        "I have to look up: Who found Zorx?",
        "Who found Zorx? Ada Quill. I have to look up: Where is Quill, Ada Quill, from?",
        "Who found Zorx? Ada Quill. Where is Quill, Ada Quill, from? Lund. So the answer is Lund.",
    ]


def test_search_o1() -> None:
    first, end, *others = (call for call in labelled_calls(EXAMPLE, TABLE) if "chain" in call)
    turns, condensed = [first, others[0], end], others[1:]
    script = [
        *replies(ReasonOn, turns[:1]),
        *replies(CondensePassages, condensed[:1]),
        *replies(ReasonOn, turns[1:2]),
        *replies(CondensePassages, condensed[1:]),
        *replies(ReasonOn, turns[2:]),
    ]
    with scripted(*script) as made:
        seen = SearchO1(TABLE, k=5)(question=EXAMPLE.question)
    shown = [inputs(prompt) for _, prompt in made.prompts]
    outputs = {*ReasonOn.output_fields, *CondensePassages.output_fields}
    asked = [{name: text for name, text in call.items() if name not in outputs} for call in turns]
    assert shown[::2] == asked
    assert [call["context"] for call in shown[1::2]] == [call["context"] for call in condensed]
    assert [call["chain"] for call in shown[1::2]] == [call["chain"] for call in condensed]
    assert (seen.answer, seen.ended) == ("Lund", "finish")
    assert seen.queries == ["Who found Zorx?", "Where is Quill, Ada Quill, from?"]


def test_hop() -> None:
    calls = [call for call in labelled_calls(EXAMPLE, TABLE) if "notes" in call]
    kinds = [TakeNotes if "context" in call else AskForHop for call in calls]
    script = [
        Reply(kind, {name: json.dumps(call[name]) if isinstance(call[name], list) else call[name] for name in outputs})
        for kind, call in zip(kinds, calls, strict=True)
        for outputs in [kind.output_fields]
    ]
    with scripted(*script, Reply(AnswerShort, {"reasoning": "", "answer": "Lund"})) as made:
        seen = Hop(TABLE, k=5, hops=2)(question=EXAMPLE.question)
    shown = [inputs(prompt) for _, prompt in made.prompts]
    asked = [{name: call[name] for name in kind.input_fields} for kind, call in zip(kinds, calls, strict=True)]
    assert shown[:-1] == asked
    assert seen.queries == ["Who found Zorx?", "Where is Quill, Ada Quill, from?"]
    assert [note["passages"] for note in seen.notes] == [["1"], ["2"]]


def test_self_ask() -> None:
    calls = demonstrated("needed")
    answers = [Reply(AnswerShortDirectly, {"answer": answer}) for answer in ("Ada Quill", "Lund", "Lund")]
    with scripted(*replies(AskFollowUp, calls), *answers) as script:
        seen = SelfAsk(TABLE)(question=EXAMPLE.question)
    prompts = [inputs(prompt) for _, prompt in script.prompts][::2]
    assert prompts == [{"context": call["context"], "question": EXAMPLE.question} for call in calls]
    assert [step["question"] for step in seen.steps] == ["Who found Zorx?", "Where is Quill, Ada Quill, from?"]


def test_without_steps_a_loop_looks_up_the_gold_passages_and_ends_with_the_one_that_states_the_answer() -> None:
    bare = dspy.Example({name: value for name, value in EXAMPLE.items() if name != "decomposition"})
    calls = labelled_calls(dspy.Example(bare, gold_titles=["Quill", "Zorx"]), TABLE)
    first, end, second = (call for call in calls if "steps" in call)
    assert (first["query"], second["query"], end["answer"]) == ("Zorx", "Quill", "Lund")
    assert second["thought"] == "Zorx is a planet found by Ada Quill. I have to look up: Quill"
    first, end, second = (call for call in calls if "needed" in call)
    assert (first["follow_up"], second["follow_up"]) == ("What is known about Zorx?", "What is known about Quill?")
    assert (first["context"], first["needed"], end["needed"], end["follow_up"]) == ("", True, False, "")
    assert "What is known about Zorx? | Zorx is a planet found by Ada Quill." in second["context"]


def test_what_nothing_names_yet_is_not_looked_up() -> None:
    bare = {name: value for name, value in EXAMPLE.items() if name != "decomposition"}
    asked = dspy.Example({**bare, "question": "Where is who found the ringed planet from?"})
    calls = labelled_calls(asked, TABLE)  # neither title stands in the question
    assert not [call for call in calls if "action" in call]
    assert [call["queries"] for call in calls if "queries" in call] == [["Quill"]]  # whom the fact about Zorx names
    calls = labelled_calls(dspy.Example({**asked, "gold_titles": ["Quill"]}), TABLE)
    assert not [call for call in calls if "queries" in call]


def test_a_step_whose_answer_is_nowhere_makes_no_loop() -> None:
    step = {"question": "Who found Zorx?", "answer": "Bo"}
    calls = labelled_calls(dspy.Example(EXAMPLE, decomposition=[step]), TABLE)
    assert not [call for call in calls if "action" in call or "needed" in call]
