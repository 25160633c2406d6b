"""Self-Ask over none, two and too many follow-up questions; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.self_ask import SelfAsk
from retrieval import Memory, Passage
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.query import AskFollowUp

QUESTION = "Where was the finder of the planet Zorx born?"
WHO, WHERE = "Who found the planet Zorx?", "Where was Ada Quill born?"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, was born in Lund.",
}
ZORX, ZORXES, ADA = (Passage(*row) for row in TABLE.items())
FOUND = {WHO: ["zorx", "zorxes"], WHERE: ["ada", "zorx"]}
NOTES = [
    Passage("lm:answer-1", "Ada Quill", title=WHO),
    Passage("lm:answer-2", "Lund", title=WHERE),
]
# What the LM is shown, as it grows.
AFTER_WHO = f"[1] {TABLE['zorx']}\n[2] {TABLE['zorxes']}"
WITH_FINDER = f"{AFTER_WHO}\n[3] {WHO} | Ada Quill"
AFTER_WHERE = f"{WITH_FINDER}\n[4] {TABLE['ada']}"
WITH_TOWN = f"{AFTER_WHERE}\n[5] {WHERE} | Lund"


def follow_up(text: str, needed: str = "yes", when: str = QUESTION) -> Reply:
    return Reply(AskFollowUp, {"needed": needed, "follow_up": text}, when=when)


def answer(text: str, when: str) -> Reply:
    return Reply(AnswerShortDirectly, {"answer": text}, when=f"## question ## ]]\n{when}")


CASE = [
    follow_up(f" {WHO} \n", when="[[ ## context ## ]]\n\n\n"),
    answer("Ada Quill", WHO),
    follow_up(WHERE, when=f"[3] {WHO}"),
    answer(" Lund ", WHERE),
    follow_up("", needed="no", when=f"[5] {WHERE}"),
    answer(" Lund ", QUESTION),
]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    script = [Reply(r.to, r.fields, r.when) for r in replies]
    with scripted(*script) as made, measured() as cost:
        seen = SelfAsk(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts]


def test_two_follow_up_questions_one_building_on_the_other() -> None:
    seen, cost, prompts = run(*CASE)
    assert prompts == [
        {"context": "", "question": QUESTION},
        {"context": AFTER_WHO, "question": WHO},
        {"context": WITH_FINDER, "question": QUESTION},
        {"context": AFTER_WHERE, "question": WHERE},
        {"context": WITH_TOWN, "question": QUESTION},
        {"context": WITH_TOWN, "question": QUESTION},
    ]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [WHO, WHERE],
        "passages": [ZORX, ZORXES, ADA],
        "evidence": [ZORX, ZORXES, NOTES[0], ADA, NOTES[1]],
        "steps": [{"question": WHO, "answer": "Ada Quill"}, {"question": WHERE, "answer": "Lund"}],
        "iterations": [
            {"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]},
            {"retrieved": ["ada", "zorx"], "kept": ["ada", "zorx"], "shown": ["zorx", "zorxes", "ada"]},
            {"retrieved": [], "kept": [], "shown": ["zorx", "zorxes", "ada"]},
        ],
    }
    assert [(p.title, p.text) for p in seen.evidence if p.id.startswith("lm:")] == [(n.title, n.text) for n in NOTES]
    # The promise of the class docstring: 2n + 2 LM calls and n searches.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (6, 2, 0)


@pytest.mark.parametrize(
    "none", [follow_up("", "no"), follow_up(WHO, "no"), follow_up(" \n", "yes"), follow_up("", "yes")]
)
def test_without_a_follow_up_question_nothing_is_searched(none: Reply) -> None:
    seen, cost, prompts = run(none, answer("Lund", QUESTION))
    assert prompts[-1] == {"context": "", "question": QUESTION}
    nothing = {"retrieved": [], "kept": [], "shown": []}
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [],
        "passages": [],
        "evidence": [],
        "steps": [],
        "iterations": [nothing],
    }
    assert (cost.lm_calls, cost.searches) == (2, 0)


def test_a_follow_up_question_asked_before_ends_the_loop() -> None:
    seen, cost, _ = run(*CASE[:2], follow_up(f"{WHO}\n", when=f"[3] {WHO}"), answer("Lund", QUESTION))
    assert seen.queries == [WHO]
    assert cost.lm_calls == 4


@pytest.mark.parametrize("limit", [1, 2])
def test_at_the_limit_the_question_is_answered_without_asking_again(limit: int) -> None:
    seen, cost, prompts = run(*CASE[: 2 * limit], CASE[-1], follow_ups=limit)
    assert seen.queries == [WHO, WHERE][:limit]
    assert prompts[-1] == {"context": [WITH_FINDER, WITH_TOWN][limit - 1], "question": QUESTION}
    assert seen.answer == "Lund"
    assert (cost.lm_calls, cost.searches) == (2 * limit + 1, limit)


def test_five_follow_up_questions_are_the_most() -> None:
    asked = [f"Which is number {n}?" for n in range(1, 6)]
    script = [reply for text in asked for reply in (follow_up(text), answer("it", text))]
    seen, cost, _ = run(*script, answer("Lund", QUESTION))
    assert seen.queries == asked
    assert (cost.lm_calls, cost.searches) == (11, 5)


def test_yes_no_style_decides_the_question_and_answers_the_follow_ups_as_before() -> None:
    decision = Reply(AnswerYesNoDirectly, {"answer": "yes"})
    seen, cost, _ = run(*CASE[:2], follow_up("", "no"), decision, style="yesno")
    assert seen.steps == [{"question": WHO, "answer": "Ada Quill"}]
    assert seen.answer == "yes"
    assert cost.lm_calls == 4


def test_an_unparsable_follow_up_ends_the_loop_and_is_counted() -> None:
    seen, cost, _ = run(*CASE[:2], *[Reply(AskFollowUp, "Where, I wonder?")] * 2, answer("Lund", QUESTION))
    assert seen.queries == [WHO]
    assert seen.answer == "Lund"
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 5)


def test_a_follow_up_question_without_an_answer_is_noted_as_unknown() -> None:
    garbled = [Reply(AnswerShortDirectly, UNPARSABLE, when=WHO)] * 2
    seen, cost, prompts = run(CASE[0], *garbled, follow_up("", "no"), answer("Lund", QUESTION))
    assert seen.steps == [{"question": WHO, "answer": ""}]
    assert prompts[-1]["context"].endswith(f"[3] {WHO} | unknown")
    assert cost.unparsable == 1
