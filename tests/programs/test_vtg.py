"""VTG sentence by sentence: verified, supported from memory or by new searches, or dropped; the case is made up."""

import json
from typing import Any

import dspy
import pytest
from support.citation_replies import citing, numbered
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.vtg import VTG
from retrieval import Memory, Passage, UsageError
from signatures.answer import AnswerShortDirectly
from signatures.query import AskForEvidence
from signatures.write import WriteNextSentence

QUESTION = "Where was the finder of the planet Zorx born?"
WHERE = "birthplace of Ada Quill"
TABLE = (
    Passage("zorx", "Zorx is a planet found by Ada Quill.", "Zorx"),
    Passage("bakers", "The Zorxes were a band of bakers.", "Zorxes"),
    Passage("ada", "Ada Quill was born in Lund. She liked bread.", "Ada Quill"),
    Passage("bo", "Bo Quill was born in Malmö.", "Bo Quill"),
)
FINDER, BIRTH, MOON = "Ada Quill found Zorx.", "Ada Quill was born in Lund.", "Ada Quill found the moon."
CONTEXT = ("Zorx | Zorx is a planet found by Ada Quill.", "Zorxes | The Zorxes were a band of bakers.")


def write(*statements: tuple[str, Any]) -> Reply:
    return citing(WriteNextSentence, *statements)


def queries(*texts: str) -> Reply:
    return Reply(AskForEvidence, {"queries": json.dumps(texts)})


def answer(text: str) -> Reply:
    return Reply(AnswerShortDirectly, {"answer": text})


def run(*replies: Reply, **options: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    found = {QUESTION: ["zorx", "bakers"], WHERE: ["bo", "ada"], "moons": [], MOON: ["bakers"]}
    with scripted(*[Reply(r.to, r.fields, r.when) for r in replies]) as script, measured() as cost:
        seen = VTG(Memory(TABLE, found), **options)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


def test_sentence_by_sentence() -> None:
    """The first is entailed by what it cites; the second by what a search finds; the third by nothing."""
    replies = [
        write((FINDER, [1])),
        write((BIRTH, [2])),
        queries(f"1. {WHERE}", "- moons", WHERE.upper()),
        write((MOON, [])),
        queries("moons"),
        write(),
        answer(" Lund "),
    ]
    seen, cost, prompts = run(*replies)
    later = numbered(*CONTEXT, "Ada Quill | Ada Quill was born in Lund. She liked bread.")
    assert prompts == [
        {"context": numbered(*CONTEXT), "question": QUESTION, "history": "", "rejected_history": ""},
        {"context": numbered(*CONTEXT), "question": QUESTION, "history": FINDER, "rejected_history": ""},
        {"question": QUESTION, "statement": BIRTH},
        {"context": later, "question": QUESTION, "history": f"{FINDER}\n{BIRTH}", "rejected_history": ""},
        {"question": QUESTION, "statement": MOON},
        {"context": later, "question": QUESTION, "history": f"{FINDER}\n{BIRTH}", "rejected_history": MOON},
        {"context": numbered(FINDER, BIRTH), "question": QUESTION},
    ]
    assert seen.answer == "Lund"
    assert seen.queries == [QUESTION, WHERE, "moons", "moons"]
    assert ids(seen.passages) == ["zorx", "bakers", "bo", "ada"]
    assert [(p.id, p.text) for p in seen.evidence] == [("lm:sentence-1", FINDER), ("lm:sentence-2", BIRTH)]
    assert seen.known_facts == [{"fact": FINDER, "passages": ["zorx"]}, {"fact": BIRTH, "passages": ["ada"]}]
    assert seen.unsupported == [MOON]
    # The promise of the class docstring: s + u + 2 LM calls with s = 3 and u = 2.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (7, 4, 0)


@pytest.mark.parametrize("numbers", [[2], [], [99, 0], [2, 7]])
def test_what_its_citations_do_not_entail_may_be_in_memory(numbers: list[int]) -> None:
    seen, cost, _ = run(write((FINDER, numbers)), write(), answer("Lund"))
    assert seen.known_facts == [{"fact": FINDER, "passages": ["zorx"]}]
    assert (cost.lm_calls, cost.searches) == (3, 1)


def test_citations_count_together_and_are_kept_so() -> None:
    both = "Zorx is a planet, and the Zorxes were bakers."
    seen, _, _ = run(write((both, [1, 2])), write(), answer("Lund"))
    assert seen.known_facts == [{"fact": both, "passages": ["zorx", "bakers"]}]


def test_at_most_three_passages_are_cited() -> None:
    many = Memory([Passage(str(n), "Zorx is a planet.") for n in range(5)])
    for numbers in ([5, 4, 3, 2, 1], []):
        with scripted(write(("Zorx is a planet.", numbers)), write(), answer("Lund")):
            (fact,) = VTG(many)(question="planet Zorx").known_facts
        assert fact["passages"] == ["0", "1", "2"]


def test_without_a_sentence_the_answer_is_from_memory() -> None:
    seen, cost, prompts = run(write(), answer("Lund"))
    assert prompts[1] == {"context": "", "question": QUESTION}
    assert (seen.answer, seen.evidence, seen.known_facts, seen.unsupported) == ("Lund", [], [], [])
    # Two LM calls and one search at least.
    assert (cost.lm_calls, cost.searches) == (2, 1)


@pytest.mark.parametrize("again", [(FINDER, [1]), (FINDER.upper(), [2]), (" ", [1])])
def test_a_sentence_that_is_there_ends_the_text(again: tuple[str, list[int]]) -> None:
    seen, cost, _ = run(write((FINDER, [1])), write(again), answer("Lund"))
    assert len(seen.known_facts) == 1
    assert cost.lm_calls == 3


def test_so_does_one_that_was_dropped() -> None:
    seen, _, _ = run(write((MOON, [])), queries("moons"), write((MOON, [1])), answer("Lund"))
    assert (seen.unsupported, seen.known_facts) == ([MOON], [])


def test_of_several_sentences_the_first_new_one_is_taken() -> None:
    replies = [write((FINDER, [1]), (MOON, [1])), write((FINDER, [1]), ("The Zorxes baked.", [2])), write()]
    seen, _, _ = run(*replies[:1], write((FINDER, [1]), ("The Zorxes were bakers.", [2])), write(), answer("Lund"))
    assert [fact["fact"] for fact in seen.known_facts] == [FINDER, "The Zorxes were bakers."]


def test_sentences_is_how_many_are_written_at_most() -> None:
    seen, cost, _ = run(write((MOON, [])), queries("moons"), write((FINDER, [1])), answer("Lund"), sentences=2)
    assert (len(seen.unsupported), len(seen.known_facts)) == (1, 1)
    assert cost.lm_calls == 4


@pytest.mark.parametrize("useless", [[queries()], [queries(" ", "")], [Reply(AskForEvidence, UNPARSABLE)] * 2])
def test_without_a_query_the_sentence_itself_is_searched_with(useless: list[Reply]) -> None:
    assert run(write((MOON, [])), *useless, write(), answer("Lund"))[0].queries == [QUESTION, MOON]


def test_three_queries_at_most() -> None:
    listed = queries("1. moons", WHERE, "moons ", MOON, "a fourth")
    assert run(write((MOON, [])), listed, write(), answer("Lund"))[0].queries == [QUESTION, "moons", WHERE, MOON]


@pytest.mark.parametrize("garbled", ["Ada found it.", UNPARSABLE, '[[ ## statements ## ]]\n{"Ada": 1}'])
def test_an_unparsable_sentence_ends_the_text_and_is_counted(garbled: str) -> None:
    seen, cost, _ = run(*[Reply(WriteNextSentence, garbled)] * 2, answer("Lund"))
    assert (seen.answer, seen.known_facts, cost.unparsable, cost.lm_calls) == ("Lund", [], 1, 3)


def test_it_cannot_do_without_a_judge() -> None:
    with pytest.raises(UsageError, match="none"):
        VTG(Memory([]), entailment="none")
