"""Hop over one, two and too many hops; the case is made up."""

import json
from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.hop import Hop
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.answer import REASONING, AnswerShort
from signatures.extract import TakeNotes
from signatures.query import AskForHop

QUESTION = "Where was the finder of the planet Zorx born?"
WHO, WHERE = "finder of Zorx", "birthplace of Ada Quill"
FINDER, BIRTH, BAKERS = "Ada Quill found Zorx.", "Ada Quill was born in Lund.", "The Zorxes were bakers."
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, was born in Lund.",
}
ZORX, ZORXES, ADA = (Passage(*row) for row in TABLE.items())
FOUND = {WHO: ["zorxes", "zorx"], WHERE: ["ada", "zorx"], QUESTION: ["zorx"], "the moon": []}


def query(text: str, when: str = "") -> Reply:
    return Reply(AskForHop, {"reasoning": "That is missing.", "query": text}, when=when)


def notes(*texts: str, relevant: str = "[]", when: str = "") -> Reply:
    return Reply(TakeNotes, {"reasoning": "Hm.", "new_notes": json.dumps(texts), "relevant": relevant}, when=when)


def answer(text: str = " Lund ") -> Reply:
    return Reply(AnswerShort, {"reasoning": "She is from Lund.", "answer": text})


CASE = [
    query(f" {WHO}\n", when="[[ ## notes ## ]]\n\n\n"),
    notes(FINDER, relevant="[2]", when="[2] Zorx is"),
    query(WHERE, when=f"[1] {FINDER}"),
    notes(BIRTH, FINDER, relevant="[1, 7]", when="[1] Ada Quill, an"),
]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    script = [Reply(r.to, r.fields, r.when) for r in replies]
    with scripted(*script) as made, measured() as cost:
        seen = Hop(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


def test_each_hop_searches_for_what_the_notes_lack_and_adds_to_them() -> None:
    seen, cost, prompts = run(*CASE, answer(), hops=2)
    assert prompts == [
        {"question": QUESTION, "notes": ""},
        {"question": QUESTION, "notes": "", "context": f"[1] {TABLE['zorxes']}\n[2] {TABLE['zorx']}"},
        {"question": QUESTION, "notes": f"[1] {FINDER}"},
        {"question": QUESTION, "notes": f"[1] {FINDER}", "context": f"[1] {TABLE['ada']}\n[2] {TABLE['zorx']}"},
        {"context": f"[1] {FINDER}\n[2] {BIRTH}", "question": QUESTION},
    ]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [WHO, WHERE],
        "passages": [ZORXES, ZORX, ADA],
        "evidence": [Passage("lm:note-1", FINDER), Passage("lm:note-2", BIRTH)],
        "notes": [{"fact": FINDER, "passages": ["zorx"]}, {"fact": BIRTH, "passages": ["ada"]}],
        "iterations": [
            {"retrieved": ["zorxes", "zorx"], "kept": ["zorx"], "shown": ["zorxes", "zorx"]},
            {"retrieved": ["ada", "zorx"], "kept": ["ada"], "shown": ["ada", "zorx"]},
        ],
        "reasoning": "She is from Lund.",
    }
    assert [note.text for note in seen.evidence] == [FINDER, BIRTH]
    # The promise of the class docstring: 2 LM calls per hop and 1, and a search per hop.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (5, 2, 0)


def test_four_hops_are_the_most() -> None:
    hops = [(query(f"planet Zorx {n}"), notes(f"Fact {n}.")) for n in range(4)]
    seen, cost, _ = run(*(reply for hop in hops for reply in hop), answer())
    assert [note["fact"] for note in seen.notes] == [f"Fact {n}." for n in range(4)]
    assert (cost.lm_calls, cost.searches) == (9, 4)


def test_several_notes_of_one_hop_are_numbered_on_and_none_is_there_twice() -> None:
    seen, _, prompts = run(
        query(WHO), notes(FINDER, BAKERS, f" {FINDER.upper()}", relevant="1 and 2"), answer(), hops=1
    )
    assert prompts[-1]["context"] == f"[1] {FINDER}\n[2] {BAKERS}"
    assert [note["passages"] for note in seen.notes] == [["zorxes", "zorx"]] * 2
    assert [note.id for note in seen.evidence] == ["lm:note-1", "lm:note-2"]


@pytest.mark.parametrize("none", ["", "None", "I do not know what to search for."])
def test_without_a_query_the_first_hop_searches_with_the_question_and_a_later_one_ends_the_hops(none: str) -> None:
    seen, cost, prompts = run(query(none), notes(FINDER, relevant="[1]"), query(none), answer())
    assert (seen.queries, seen.answer) == ([QUESTION], "Lund")
    assert prompts[-1] == {"context": f"[1] {FINDER}", "question": QUESTION}
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (4, 1, 0)


def test_a_query_that_begins_like_a_refusal_is_searched() -> None:
    said = "It is not said who found it, so who found Zorx?"
    seen, _, _ = run(query(said), notes(FINDER, relevant="[1]"), query(""), answer())
    assert seen.queries == [said]


def test_a_query_that_was_searched_before_ends_the_hops() -> None:
    seen, cost, _ = run(*CASE[:2], query(WHO), answer())
    assert (seen.queries, cost.lm_calls, cost.searches) == ([WHO], 4, 1)


@pytest.mark.parametrize("nothing", ["[]", "None", "The passages do not say anything useful."])
def test_passages_that_say_nothing_useful_leave_the_notes_as_they_are(nothing: str) -> None:
    useless = Reply(TakeNotes, {"reasoning": "", "new_notes": nothing, "relevant": "None"})
    seen, cost, prompts = run(query(WHO), useless, answer(), hops=1)
    assert prompts[-1] == {"context": "", "question": QUESTION}
    assert (seen.notes, seen.evidence, seen.iterations[0]["kept"], cost.unparsable) == ([], [], [], 0)


def test_the_numbers_of_the_passages_may_be_left_out() -> None:
    seen, cost, _ = run(query(WHO), Reply(TakeNotes, {"new_notes": f"- {FINDER}"}), answer(), hops=1)
    assert (seen.notes, cost.unparsable) == ([{"fact": FINDER, "passages": []}], 0)


def test_a_search_that_finds_nothing_has_nothing_to_note() -> None:
    seen, cost, _ = run(query("the moon"), answer(), hops=1)
    assert seen.iterations == [{"retrieved": [], "kept": [], "shown": []}]
    assert (cost.lm_calls, cost.searches) == (2, 1)


def test_unparsable_notes_are_none_and_are_counted() -> None:
    seen, cost, _ = run(query(WHO), *[Reply(TakeNotes, UNPARSABLE)] * 2, query(WHERE), CASE[3], answer(), hops=2)
    assert [note["fact"] for note in seen.notes] == [BIRTH, FINDER]
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 6)


def test_an_unparsable_query_is_none_and_is_counted() -> None:
    seen, cost, _ = run(*[Reply(AskForHop, UNPARSABLE)] * 2, notes(FINDER), answer(), hops=1)
    assert (seen.queries, cost.unparsable) == ([QUESTION], 1)


def test_the_answering_call_is_told_what_its_reasoning_is_to_name() -> None:
    for style in ("short", "yesno"):
        signature = Hop(Memory([]), style=style).answer.predict.signature
        assert signature.fields["reasoning"].json_schema_extra["desc"] == REASONING
