"""DAS over a made-up table, with probabilities and likelihoods that are small enough to compute by hand.

That answers are weighed as `programs.steps.candidates` weighs them is shown in tests/programs/steps/test_candidates.py.
"""

import json
import math
from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Function, Reply, engine_lm, render, scripted
from support.scripted_logprobs import Given, with_logprobs

from programs.das import DAS
from programs.instruments.cost import measured
from retrieval import Memory, Passage, UsageError
from signatures.answer import NameAnswerOrUnanswerable

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = [
    Passage("zorx", "Zorx is a planet found by Ada Quill in the year 2190.", "Zorx"),
    Passage("ada", "Ada Quill , an astronomer , was born in Lund.", "Ada Quill"),
    Passage("bo", "Bo Quill was a baker born in Malmö.", "Bo Quill"),
]
FOUND = ["bo", "zorx", "ada"]
SAID = {"bo": "Malmö", "zorx": "unanswerable", "ada": "Lund"}
ODDS = {"Malmö": [0.9], "unanswerable": [0.99], "Lund": [0.8]}
LIKELIHOODS = {"Bo Quill": -2.0, "Zorx": -0.5, "Ada Quill": -1.0}


def replies(**more: str) -> list[Reply]:
    titles = {passage.id: passage.title for passage in TABLE}
    return [
        Reply(NameAnswerOrUnanswerable, {"candidate": SAID[id], **more}, when=f"[1] {titles[id]} | ") for id in FOUND
    ]


def method(**settings: Any) -> DAS:
    return DAS(Memory(TABLE, {QUESTION: FOUND}), **settings)


@pytest.fixture
def upr(monkeypatch: pytest.MonkeyPatch) -> Given:
    scorer = Given(LIKELIHOODS)
    monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", {"upr:some/model": scorer}.__getitem__)
    return scorer


def test_passages_are_turned_down_and_of_the_others_the_best_answer_is_taken(upr: Given) -> None:
    with with_logprobs(*replies(), probabilities=ODDS) as script, measured() as cost:
        seen = method(upr="upr:some/model")(question=QUESTION)
    asked = [inputs(user) for _, user in script.prompts]
    assert {user["document"] for user in asked} == {f"[1] {passage.title} | {passage.text}" for passage in TABLE}
    assert {user["question"] for user in asked} == {QUESTION}
    # The planet fits the question best and has no answer; by its probability alone Malmö would be taken.
    assert seen.candidates == {"bo": "Malmö", "zorx": "", "ada": "Lund"}
    assert seen.probabilities == pytest.approx({"bo": 0.9, "zorx": 0.0, "ada": 0.8})
    total = math.exp(-2) + math.exp(-0.5) + math.exp(-1)
    assert seen.shares == pytest.approx(
        {"bo": math.exp(-2) / total, "zorx": math.exp(-0.5) / total, "ada": math.exp(-1) / total}
    )
    assert seen.ranked == ["ada", "bo", "zorx"]
    assert (seen.answer, [passage.id for passage in seen.evidence]) == ("Lund", ["ada"])
    assert (seen.unanswerable, seen.measured_by, seen.scored_by) == (False, {"logprobs": 3}, "upr")
    assert seen.queries == [QUESTION]
    assert [passage.id for passage in seen.passages] == FOUND
    assert sorted(upr.scored) == sorted((QUESTION, f"{passage.title} {passage.text}") for passage in TABLE)
    # The promise of the class docstring: as many LM calls as passages, and 1 search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (3, 1, 0)
    json.dumps(seen.toDict(), allow_nan=False)


def test_without_a_model_the_answers_probability_decides_alone_and_the_result_says_so() -> None:
    with with_logprobs(*replies(), probabilities=ODDS):
        seen = method()(question=QUESTION)
    assert (seen.answer, seen.ranked, seen.scored_by) == ("Malmö", ["bo", "ada", "zorx"], "none")


def test_when_all_passages_are_turned_down_there_is_no_answer() -> None:
    script = replies(probability="0.9")
    for reply, said in zip(script, ("Unanswerable.", "unknown", "The question is unanswerable from this"), strict=True):
        reply.fields = {"candidate": said, "probability": "0.9"}
    with scripted(*script):
        seen = method()(question=QUESTION)
    assert (seen.answer, seen.evidence, seen.unanswerable) == ("", [], True)
    assert seen.probabilities == dict.fromkeys(FOUND, 0.0)


def test_stated_asks_for_a_number_though_the_lm_has_log_probabilities() -> None:
    with with_logprobs(*replies(probability="0.5"), probabilities=ODDS):
        seen = method(probability="stated")(question=QUESTION)
    assert (seen.measured_by, seen.probabilities) == ({"stated": 3}, {"bo": 0.5, "zorx": 0.0, "ada": 0.5})


def test_twenty_passages_are_the_default_and_k_says_how_many() -> None:
    many = Memory(Passage(str(n), "planet") for n in range(30))
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"candidate": "x", "probability": "1"})))):
        assert len(DAS(many)(question="planet").candidates) == 20
        assert len(DAS(many, k=2)(question="planet").candidates) == 2
        with pytest.raises(UsageError, match="at least 1"):
            DAS(many, k=0)(question="planet")


def test_nothing_found() -> None:
    with scripted():
        seen = DAS(Memory([]))(question=QUESTION)
    assert (seen.answer, seen.queries, seen.passages, seen.unanswerable) == ("", [QUESTION], [], True)


def test_an_unparsable_reply_turns_the_passage_down_and_is_counted() -> None:
    script = replies(probability="1")
    script[:1] = [Reply(NameAnswerOrUnanswerable, "Malmö", when="[1] Bo") for _ in range(2)]
    with scripted(*script), measured() as cost:
        seen = method()(question=QUESTION)
    assert (seen.answer, seen.candidates["bo"]) == ("Lund", "")
    assert (cost.unparsable, cost.lm_calls) == (1, 4)
