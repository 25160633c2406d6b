"""UPR: what the scorer puts first is read; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Reply, scripted
from support.scripted_logprobs import Given

from programs.instruments.cost import Cost, measured
from programs.upr import UPR
from retrieval import Memory, Passage
from signatures.answer import AnswerEntity, AnswerShortDirectly

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = [
    Passage("bo", "Bo Quill was born where the planet shines.", "Bo Quill"),
    Passage("zorx", "The planet Zorx was found by Ada Quill.", "Zorx"),
    Passage("tea", "where the best tea was found", "Tea"),
    Passage("ada", "Ada Quill comes from Lund.", "Ada Quill"),
]
FOUND = [passage.id for passage in TABLE]
LIKELIHOODS = {"Bo Quill": -3.0, "Zorx": -1.5, "Tea": -3.0, "Ada Quill": -1.0}
ANSWER = Reply(AnswerShortDirectly, {"answer": " Lund "})


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> Given:
    given = Given(LIKELIHOODS)
    monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", {"upr:some/model": given}.__getitem__)
    return given


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory(TABLE, {QUESTION: FOUND})
    with scripted(*[Reply(r.to, r.fields, r.when) for r in replies]) as script, measured() as cost:
        seen = UPR(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def test_the_passages_that_make_the_question_likeliest_are_read(scorer: Given) -> None:
    seen, cost, prompts = run(ANSWER, upr="upr:some/model", k=2)
    assert sorted(scorer.scored) == sorted((QUESTION, f"{passage.title} {passage.text}") for passage in TABLE)
    context = "[1] Ada Quill | Ada Quill comes from Lund.\n[2] Zorx | The planet Zorx was found by Ada Quill."
    assert prompts == [{"context": context, "question": QUESTION}]
    # Of equal scores the retriever's order decides.
    assert seen.ranked == ["ada", "zorx", "bo", "tea"]
    assert [(passage.id, passage.score) for passage in seen.evidence] == [("ada", -1.0), ("zorx", -1.5)]
    assert [passage.id for passage in seen.passages] == FOUND
    assert (seen.answer, seen.queries, seen.scored_by) == ("Lund", [QUESTION], "upr")
    # The promise of the class docstring: 1 LM call and 1 search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (1, 1, 0)


def test_the_default_compares_words_and_the_result_says_so() -> None:
    seen, _, _ = run(ANSWER, k=1)
    # Content words of the question: finder, planet, Zorx, born.
    assert seen.ranked == ["bo", "zorx", "tea", "ada"]
    assert [passage.score for passage in seen.evidence] == [0.0]
    assert seen.scored_by == "lexical"


def test_m_is_what_the_retriever_is_asked_for_and_k_what_is_read(scorer: Given) -> None:
    seen, _, prompts = run(ANSWER, upr="upr:some/model", m=3, k=1)
    assert [passage.id for passage in seen.passages] == FOUND[:3]
    assert (seen.ranked, [passage.id for passage in seen.evidence]) == (["zorx", "bo", "tea"], ["zorx"])
    assert prompts[0]["context"].count("\n") == 0
    assert len(run(ANSWER, upr="upr:some/model", m=1)[0].evidence) == 1


def test_a_hundred_are_reranked_and_five_read() -> None:
    many = Memory(Passage(str(n), "planet") for n in range(200))
    with scripted(ANSWER):
        seen = UPR(many)(question="planet")
    assert (len(seen.passages), len(seen.ranked), len(seen.evidence)) == (100, 100, 5)


def test_nothing_found_is_answered_all_the_same() -> None:
    with scripted(Reply(AnswerShortDirectly, {"answer": "Lund"}, when="[[ ## context ## ]]\n\n")):
        seen = UPR(Memory([]))(question=QUESTION)
    assert (seen.answer, seen.queries, seen.passages, seen.evidence, seen.ranked) == ("Lund", [QUESTION], [], [], [])


def test_the_prompt_of_chain_of_rewrite() -> None:
    assert run(Reply(AnswerEntity, {"answer": "Lund"}), style="entity")[0].answer == "Lund"
