"""Retrieve and read with MIGRES's filter: what reaches the answering call, and replies that are no use."""

from typing import Any, Literal

import dspy
import pytest
from support.citation_replies import citing, numbered
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from programs.alce import ALCE
from programs.instruments.cost import Cost, measured
from programs.retrieve_read import RetrieveRead
from retrieval import Memory, Passage, Retriever
from signatures.answer import AnswerCiting

QUESTION = "Where was Ada Quill, finder of the planet Zorx, born?"
TABLE = (
    Passage("bread", "The Zorxes were a band of bakers.", "Zorxes"),
    Passage("zorx", "Zorx is a planet found by Ada Quill. It is small.", "Zorx"),
    Passage("ada", "Ada Quill was born in Lund. She liked bread.", "Ada Quill"),
)
FACT = "Ada Quill was born in Lund."


def run(*replies: Reply, retriever: Retriever | None = None, **options: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    with scripted(*replies) as script, measured() as cost:
        seen = RetrieveRead(retriever or Memory(TABLE), **options)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


def test_the_relevant_sentences_of_the_relevant_passages_are_read_best_first() -> None:
    """Of the question's six words (ada, quill, finder, planet, zorx, born) zorx has four, ada three, bread none."""
    seen, cost, prompts = run(citing(AnswerCiting, (FACT, [2]), answer=" Lund "))
    assert prompts == [
        {
            "context": numbered("Zorx | Zorx is a planet found by Ada Quill.", f"Ada Quill | {FACT}"),
            "question": QUESTION,
        }
    ]
    assert (seen.answer, seen.queries) == ("Lund", [QUESTION])
    assert set(ids(seen.passages)) == {"bread", "zorx", "ada"}
    assert ids(seen.evidence) == ["zorx", "ada"]
    assert seen.known_facts == [{"fact": FACT, "passages": ["ada"]}]
    # The promise of the class docstring.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (1, 1, 0)


def test_a_sentence_that_does_not_name_who_it_is_about_is_read_too() -> None:
    text = "Carl Boese did not die in the war. He passed away in Berlin on 6 July 1958."
    found = Memory([Passage("boese", text, "Carl Boese")])
    with scripted(citing(AnswerCiting, answer="Berlin")) as script:
        RetrieveRead(found)(question="Where did Carl Boese die?")
    assert [inputs(user)["context"] for _, user in script.prompts] == [f"[1] Carl Boese | {text}"]


def test_citations_are_reported_as_they_are() -> None:
    said = [("Ada Quill found the moon.", [1]), (f" {FACT}\n", [2, 1, 7, 0]), ("Nobody knows.", []), (" ", [1])]
    seen, _, _ = run(citing(AnswerCiting, *said, answer="Lund"))
    assert seen.known_facts == [
        {"fact": "Ada Quill found the moon.", "passages": ["zorx"]},
        {"fact": FACT, "passages": ["zorx", "ada"]},
        {"fact": "Nobody knows.", "passages": []},
    ]


@pytest.mark.parametrize(
    ("preset", "threshold"), [("multihop", 0.0), ("odqa", 2.0), ("commonsense", -1.5)], ids=lambda value: str(value)
)
def test_the_preset_sets_the_threshold(preset: Literal["multihop", "odqa", "commonsense"], threshold: float) -> None:
    assert RetrieveRead(Memory([]), preset=preset).threshold == threshold


def test_a_threshold_goes_before_the_preset() -> None:
    seen, _, prompts = run(citing(AnswerCiting, answer="Lund"), threshold=1.0)
    assert ids(seen.evidence) == ["zorx"]
    assert prompts[0]["context"] == "[1] Zorx | Zorx is a planet found by Ada Quill."


def test_k_passages_are_read_of_the_m_that_are_found() -> None:
    assert ids(run(citing(AnswerCiting, answer="Lund"), k=1)[0].evidence) == ["zorx"]
    found = Memory(TABLE, {QUESTION: ["bread", "ada", "zorx"]})
    assert ids(run(citing(AnswerCiting, answer="Lund"), retriever=found, m=2)[0].passages) == ["bread", "ada"]


def test_where_nothing_passes_the_filter_there_is_nothing_to_read() -> None:
    seen, cost, prompts = run(citing(AnswerCiting, answer="Lund"), threshold=7.0)
    assert prompts == [{"context": "", "question": QUESTION}]
    assert (seen.answer, seen.evidence, seen.known_facts, cost.lm_calls) == ("Lund", [], [], 1)


@pytest.mark.parametrize("garbled", ["Lund [1].", "{}", '[[ ## statements ## ]]\n{"Ada": 1}'])
def test_an_unparsable_reply_is_an_empty_answer_and_counted(garbled: str) -> None:
    seen, cost, _ = run(*[Reply(AnswerCiting, garbled)] * 2)
    assert (seen.answer, seen.known_facts, cost.unparsable, cost.lm_calls) == ("", [], 1, 2)


def test_without_the_filter_it_would_be_vanilla() -> None:
    """The same call: with passages that score above each of their sentences, nothing is cut, and both read the same."""
    whole = Memory([Passage("zorx", "The finder of the planet Zorx was Ada Quill. She was born in Lund.")])
    _, _, filtered = run(citing(AnswerCiting, answer="Lund"), retriever=whole)
    with scripted(citing(AnswerCiting, answer="Lund")) as script:
        ALCE(whole)(question=QUESTION)
    assert [inputs(user) for _, user in script.prompts] == filtered
