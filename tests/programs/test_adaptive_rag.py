"""Adaptive-RAG by each of its strategies, and the labels that it is compiled with; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from eval.metrics import em, f1
from optimizers import load
from programs.adaptive_rag import AdaptiveRAG
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.act import ChooseStrategy
from signatures.answer import AnswerShort, AnswerShortFromMemory, AnswerYesNo, AnswerYesNoFromMemory
from signatures.write import WriteNextThought

QUESTION = "Where was the finder of the planet Zorx born?"
FINDER, BIRTH, END = "Zorx was found by Ada Quill.", "Ada Quill was born in Lund.", "So the answer is: Lund."
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, was born in Lund.",
}
ZORX, ZORXES, ADA = (Passage(*row) for row in TABLE.items())
FOUND = {QUESTION: ["zorx", "zorxes"], FINDER: ["ada"], BIRTH: ["ada"]}
FIRST = f"[1] {TABLE['zorx']}\n[2] {TABLE['zorxes']}"
SECOND = f"{FIRST}\n[3] {TABLE['ada']}"


def route(strategy: str) -> Reply:
    return Reply(ChooseStrategy, {"strategy": strategy})


def answer(to: type[dspy.Signature] = AnswerShort, text: str = " Lund ") -> Reply:
    return Reply(to, {"reasoning": "She is from Lund.", "answer": text})


def thoughts(*sentences: str) -> list[Reply]:
    return [Reply(WriteNextThought, {"sentence": sentence}) for sentence in sentences]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    with scripted(*replies) as made, measured() as cost:
        seen = AdaptiveRAG(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


def test_from_memory_nothing_is_searched() -> None:
    seen, cost, prompts = run(route("memory"), answer(AnswerShortFromMemory))
    assert prompts == [{"question": QUESTION}, {"question": QUESTION}]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [],
        "passages": [],
        "evidence": [],
        "strategy": "memory",
        "thoughts": [],
        "iterations": [],
        "reasoning": "She is from Lund.",
    }
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (2, 0, 0)
    assert set(cost.predictors) == {"route", "memory.answer.predict"}


def test_a_single_search_is_made_with_the_question() -> None:
    seen, cost, prompts = run(route("single"), answer())
    assert prompts == [{"question": QUESTION}, {"context": FIRST, "question": QUESTION}]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [QUESTION],
        "passages": [ZORX, ZORXES],
        "evidence": [ZORX, ZORXES],
        "strategy": "single",
        "thoughts": [],
        "iterations": [{"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]}],
        "reasoning": "She is from Lund.",
    }
    assert (cost.lm_calls, cost.searches) == (2, 1)


def test_multiple_searches_are_those_of_ircot() -> None:
    seen, cost, prompts = run(route("multiple"), *thoughts(FINDER, END), answer())
    assert prompts == [
        {"question": QUESTION},
        {"context": FIRST, "question": QUESTION, "history": ""},
        {"context": SECOND, "question": QUESTION, "history": FINDER},
        {"context": SECOND, "question": QUESTION},
    ]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [QUESTION, FINDER],
        "passages": [ZORX, ZORXES, ADA],
        "evidence": [ZORX, ZORXES, ADA],
        "strategy": "multiple",
        "thoughts": [FINDER, END],
        "iterations": [
            {"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]},
            {"retrieved": ["ada"], "kept": ["ada"], "shown": ["zorx", "zorxes", "ada"]},
        ],
        "reasoning": "She is from Lund.",
    }
    assert (cost.lm_calls, cost.searches) == (4, 2)


def test_eight_sentences_are_the_most() -> None:
    seen, cost, _ = run(route("multiple"), *thoughts(*(f"Fact {n} is known." for n in range(8))), answer())
    assert len(seen.thoughts) == 8
    # The promise of the class docstring: 10 LM calls and 8 searches at most.
    assert (cost.lm_calls, cost.searches) == (10, 8)


def test_the_settings_reach_the_strategy_that_they_are_for() -> None:
    assert run(route("single"), answer(), k=1)[0].passages == [ZORX]
    assert run(route("multiple"), *thoughts(END), answer(), k_multiple=1)[0].passages == [ZORX]
    limited = run(route("multiple"), *thoughts(FINDER, BIRTH), answer(), steps=2, passages=2)[0]
    assert (limited.thoughts, limited.evidence) == ([FINDER, BIRTH], [ZORX, ZORXES])
    fewer = run(route("multiple"), *thoughts(END), answer(), passages=1)[0]
    assert (fewer.evidence, fewer.passages) == ([ZORX], [ZORX, ZORXES])
    program = AdaptiveRAG(Memory([]))
    assert (program.single.k, program.multiple.k, program.multiple.steps, program.multiple.passages) == (6, 3, 8, 15)


@pytest.mark.parametrize(
    ("strategy", "replies"),
    [
        ("memory", [answer(AnswerYesNoFromMemory, "yes")]),
        ("single", [answer(AnswerYesNo, "yes")]),
        ("multiple", [*thoughts(END), answer(AnswerYesNo, "yes")]),
    ],
)
def test_yes_no_style_decides_with_every_strategy(strategy: str, replies: list[Reply]) -> None:
    assert run(route(strategy), *replies, style="yesno")[0].answer == "yes"


@pytest.mark.parametrize("reply", [UNPARSABLE, "[[ ## strategy ## ]]\nsingle or multiple", "I cannot tell."])
def test_without_a_strategy_the_question_is_searched_once(reply: str) -> None:
    seen, cost, _ = run(*[Reply(ChooseStrategy, reply)] * 2, answer())
    assert (seen.strategy, seen.queries, seen.answer) == ("single", [QUESTION], "Lund")
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 3)


@pytest.mark.parametrize(
    ("said", "strategy"), [("Multiple.", "multiple"), ("A multi-step search", "multiple"), ("From memory", "memory")]
)
def test_a_strategy_is_read_as_it_was_meant(said: str, strategy: str) -> None:
    rest = {"multiple": [*thoughts(END), answer()], "memory": [answer(AnswerShortFromMemory)]}
    assert run(route(said), *rest[strategy])[0].strategy == strategy


EXAMPLE = dspy.Example(id="q", question=QUESTION, answer="Lund", answers=["Lund"]).with_inputs("question")


@pytest.mark.parametrize(
    ("replies", "label"),
    [
        ([answer(AnswerShortFromMemory)], "memory"),
        ([answer(AnswerShortFromMemory, "Malmö"), answer()], "single"),
        ([answer(AnswerShortFromMemory, "Malmö"), answer(text="Oslo"), *thoughts(END), answer()], "multiple"),
        ([answer(AnswerShortFromMemory, "Malmö"), answer(text="Oslo"), *thoughts(END), answer(text="Bern")], None),
    ],
)
def test_the_label_is_the_simplest_strategy_that_answers_right(replies: list[Reply], label: str | None) -> None:
    with scripted(*replies):
        made = AdaptiveRAG(Memory([ZORX]), k=1, k_multiple=1).label(EXAMPLE, em)
    assert made.get("strategy") == label
    assert dict(made.inputs()) == {"question": QUESTION}


def test_a_strategy_that_is_nearly_right_is_no_label() -> None:
    with scripted(answer(AnswerShortFromMemory, "Lund in Sweden"), answer()):
        assert AdaptiveRAG(Memory([ZORX])).label(EXAMPLE, f1).strategy == "single"


def test_the_labels_become_demonstrations_of_the_router() -> None:
    examples = [
        dspy.Example(EXAMPLE, id=str(n), question=f"{begin} {n}?", strategy=strategy).with_inputs("question")
        for n, (begin, strategy) in enumerate([("Where was", "multiple"), ("Who is", "memory"), ("When did", "single")])
    ]
    program = AdaptiveRAG(Memory([ZORX]))
    compiled = load("labeled_few_shot")(program, examples, metric=em)
    assert [
        (demo.question, demo.strategy) for demo in sorted(compiled.route.demos, key=lambda demo: demo.question)
    ] == [
        ("When did 2?", "single"),
        ("Where was 0?", "multiple"),
        ("Who is 1?", "memory"),
    ]
    assert not program.route.demos
