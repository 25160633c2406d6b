"""IRCoT over sentences that lead from one passage to the next; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.ircot import IRCoT
from retrieval import Memory, Passage
from signatures.answer import REASONING, AnswerShort
from signatures.write import WriteNextThought

QUESTION = "Where was the finder of the planet Zorx born?"
FINDER, BIRTH, END = "Zorx was found by Ada Quill.", "Ada Quill was born in Lund.", "So the answer is: Lund."
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, was born in Lund.",
    "lund": "Lund is a town.",
}
ZORX, ZORXES, ADA, LUND = (Passage(*row) for row in TABLE.items())
FOUND = {QUESTION: ["zorx", "zorxes"], FINDER: ["ada", "zorx"], BIRTH: ["lund", "ada"]}
FIRST = f"[1] {TABLE['zorx']}\n[2] {TABLE['zorxes']}"
SECOND = f"{FIRST}\n[3] {TABLE['ada']}"
THIRD = f"{SECOND}\n[4] {TABLE['lund']}"


def thought(text: str, when: str = "") -> Reply:
    return Reply(WriteNextThought, {"sentence": text}, when=when)


def answer(text: str = " Lund ") -> Reply:
    return Reply(AnswerShort, {"reasoning": "She is from Lund.", "answer": text})


CASE = [thought(FINDER, "[2] The Zorxes were a band of bakers.\n\n"), thought(BIRTH, FINDER), thought(END, BIRTH)]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    script = [Reply(r.to, r.fields, r.when) for r in replies]
    with scripted(*script) as made, measured() as cost:
        seen = IRCoT(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


def test_each_sentence_is_the_next_query_and_what_it_finds_goes_behind_what_there_is() -> None:
    seen, cost, prompts = run(*CASE, answer())
    assert prompts == [
        {"context": FIRST, "question": QUESTION, "history": ""},
        {"context": SECOND, "question": QUESTION, "history": FINDER},
        {"context": THIRD, "question": QUESTION, "history": f"{FINDER}\n{BIRTH}"},
        {"context": THIRD, "question": QUESTION},
    ]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [QUESTION, FINDER, BIRTH],
        "passages": [ZORX, ZORXES, ADA, LUND],
        "evidence": [ZORX, ZORXES, ADA, LUND],
        "thoughts": [FINDER, BIRTH, END],
        "iterations": [
            {"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]},
            {"retrieved": ["ada", "zorx"], "kept": ["ada", "zorx"], "shown": ["zorx", "zorxes", "ada"]},
            {"retrieved": ["lund", "ada"], "kept": ["lund", "ada"], "shown": ["zorx", "zorxes", "ada", "lund"]},
        ],
        "ended": "answer",
        "reasoning": "She is from Lund.",
    }
    # The promise of the class docstring: n + 1 LM calls and n searches for n sentences.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (4, 3, 0)


@pytest.mark.parametrize(
    "end",
    [END, "The answer is Lund", "Thus, the final answer is Lund.", "**Answer:** Lund", "So the answer would be Lund"],
)
def test_the_sentence_with_the_answer_is_the_last(end: str) -> None:
    seen, cost, prompts = run(thought(end), answer())
    assert (seen.ended, seen.thoughts, seen.queries) == ("answer", [end], [QUESTION])
    assert prompts[-1] == {"context": FIRST, "question": QUESTION}
    assert (cost.lm_calls, cost.searches) == (2, 1)


@pytest.mark.parametrize("limit", [1, 2])
def test_at_the_limit_the_last_sentence_is_not_searched_with(limit: int) -> None:
    seen, cost, prompts = run(*CASE[:limit], answer(), steps=limit)
    assert (seen.ended, seen.answer) == ("limit", "Lund")
    assert seen.queries == [QUESTION, FINDER][:limit]
    assert prompts[-1]["context"] == [FIRST, SECOND][limit - 1]
    assert (cost.lm_calls, cost.searches) == (limit + 1, limit)


def test_eight_sentences_are_the_most() -> None:
    seen, cost, _ = run(*[thought(f"Fact {n} is known.") for n in range(8)], answer())
    assert (seen.ended, len(seen.thoughts)) == ("limit", 8)
    assert (cost.lm_calls, cost.searches) == (9, 8)


def test_passages_are_gathered_up_to_the_limit_the_first_ones_first_and_then_nothing_is_searched() -> None:
    seen, _, prompts = run(*CASE, answer(), passages=3)
    assert [prompt["context"] for prompt in prompts] == [FIRST, SECOND, SECOND, SECOND]
    assert seen.queries == [QUESTION, FINDER]
    assert seen.evidence == [ZORX, ZORXES, ADA]
    assert seen.iterations[2] == {"retrieved": [], "kept": [], "shown": ["zorx", "zorxes", "ada"]}
    seen, _, _ = run(thought(FINDER), thought(END), answer(), passages=1)
    assert (seen.evidence, seen.passages) == ([ZORX], [ZORX, ZORXES])
    assert seen.iterations[0] == {"retrieved": ["zorx", "zorxes"], "kept": ["zorx"], "shown": ["zorx"]}


def test_fifteen_passages_are_the_most() -> None:
    many = Memory([Passage(str(n), f"Zorx {n}.") for n in range(30)], {QUESTION: list(map(str, range(20)))})
    with scripted(thought(FINDER), thought(END), answer()):
        seen = IRCoT(many, k=20)(question=QUESTION)
    assert (len(seen.evidence), len(seen.passages), seen.queries) == (15, 20, [QUESTION])


def test_the_answering_call_is_told_what_its_reasoning_is_to_name() -> None:
    for style in ("short", "yesno"):
        signature = IRCoT(Memory([]), style=style).answer.predict.signature
        assert signature.fields["reasoning"].json_schema_extra["desc"] == REASONING


def test_of_a_reply_that_runs_on_the_first_new_sentence_counts() -> None:
    running_on = thought(f"{FINDER}\n{BIRTH} {END}")
    seen, _, _ = run(running_on, running_on, running_on, answer())
    assert seen.thoughts == [FINDER, BIRTH, END]
    assert seen.queries == [QUESTION, FINDER, BIRTH]


@pytest.mark.parametrize("nothing", [FINDER, f" {FINDER.upper()} ", "", "None"])
def test_without_a_new_sentence_the_question_is_answered(nothing: str) -> None:
    seen, cost, prompts = run(thought(FINDER), thought(nothing), answer())
    assert (seen.ended, seen.thoughts, seen.queries) == ("nothing", [FINDER], [QUESTION, FINDER])
    assert prompts[-1] == {"context": SECOND, "question": QUESTION}
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (3, 2, 0)


@pytest.mark.parametrize(
    "said",
    [
        "The director of Payment on Demand is not mentioned in the passages, but it is Curtis Bernhardt.",
        "There is no information about Zorx, so we need to find out who found it.",
        "The passages do not say who found Zorx.",
    ],
)
def test_a_sentence_that_says_what_is_missing_is_searched_with(said: str) -> None:
    seen, cost, _ = run(thought(FINDER), thought(said), thought(END), answer())
    assert (seen.ended, seen.queries) == ("answer", [QUESTION, FINDER, said])
    assert (cost.lm_calls, cost.searches) == (4, 3)


def test_an_unparsable_sentence_ends_the_chain_and_is_counted() -> None:
    seen, cost, _ = run(thought(FINDER), *[Reply(WriteNextThought, UNPARSABLE)] * 2, answer())
    assert (seen.ended, seen.answer) == ("nothing", "Lund")
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 4)
