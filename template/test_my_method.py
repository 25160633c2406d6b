"""My method: what is searched for turn by turn, and what the answer is read from; the case is made up."""

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.my_method import MyMethod
from retrieval import Memory, Passage, UsageError
from signatures.answer import AnswerShort
from signatures.query import AskForHop

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, comes from the village of Quillby.",
    "village": "Quillby is a village near Lund.",
}
FOUND = {QUESTION: ["zorx", "zorxes"], "Ada Quill birthplace": ["ada", "zorx"], "Quillby": ["village"]}
SECOND = Reply(AskForHop, {"query": "Ada Quill birthplace"}, when="[2] The Zorxes")
THIRD = Reply(AskForHop, {"query": "Quillby"}, when="[3] Ada Quill")
ANSWER = Reply(AnswerShort, {"reasoning": "Ada Quill found it.", "answer": " Quillby "})


def run(*replies: Reply, **settings: int) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    """What is answered, what it cost, and the inputs of every call."""
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    with scripted(*replies) as script, measured() as cost:
        seen = MyMethod(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def numbered(*ids: str) -> str:
    return "\n".join(f"[{number}] {TABLE[id_]}" for number, id_ in enumerate(ids, 1))


def test_each_turn_searches_for_what_is_missing() -> None:
    seen, cost, prompts = run(SECOND, THIRD, ANSWER, turns=3)
    assert prompts == [
        {"question": QUESTION, "notes": numbered("zorx", "zorxes")},
        {"question": QUESTION, "notes": numbered("zorx", "zorxes", "ada")},
        {"context": numbered("zorx", "zorxes", "ada", "village"), "question": QUESTION},
    ]
    everything = [Passage(id_, TABLE[id_]) for id_ in ("zorx", "zorxes", "ada", "village")]
    assert dict(seen.items()) == {
        "answer": "Quillby",
        "queries": [QUESTION, "Ada Quill birthplace", "Quillby"],
        "passages": everything,
        "evidence": everything,
        "iterations": [
            {"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]},
            {"retrieved": ["ada", "zorx"], "kept": ["ada", "zorx"], "shown": ["zorx", "zorxes", "ada"]},
            {"retrieved": ["village"], "kept": ["village"], "shown": ["zorx", "zorxes", "ada", "village"]},
        ],
        "reasoning": "Ada Quill found it.",
    }
    # The promise of the class docstring: 1 LM call and 1 search per turn.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (3, 3, 0)


def test_two_turns_are_the_default() -> None:
    assert run(SECOND, ANSWER)[0].queries == [QUESTION, "Ada Quill birthplace"]


def test_k_is_what_the_retriever_is_asked_for() -> None:
    assert run(ANSWER, turns=1, k=1)[2] == [{"context": numbered("zorx"), "question": QUESTION}]


def test_no_new_query_ends_the_search() -> None:
    for said in ("", "None", "I cannot answer this question.", QUESTION):
        seen, cost, _ = run(Reply(AskForHop, {"query": said}), ANSWER, turns=3)
        assert (seen.answer, seen.queries) == ("Quillby", [QUESTION])
        assert (cost.lm_calls, cost.searches) == (2, 1)


def test_a_query_that_begins_like_a_refusal_is_searched() -> None:
    said = "It is not said who found it, so who found Zorx?"
    assert run(Reply(AskForHop, {"query": said}), ANSWER)[0].queries == [QUESTION, said]


def test_replies_that_cannot_be_parsed_are_counted() -> None:
    # DSPy asks once more, for JSON, before it gives up.
    seen, cost, _ = run(*[Reply(AskForHop, UNPARSABLE)] * 2, *[Reply(AnswerShort, UNPARSABLE)] * 2)
    assert (seen.answer, seen.queries) == ("", [QUESTION])
    assert (cost.unparsable, cost.lm_calls) == (2, 4)


def test_no_turn_is_refused() -> None:
    with pytest.raises(UsageError, match="turns must be at least 1"):
        MyMethod(Memory([]), turns=0)
