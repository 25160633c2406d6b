"""Rerank over a made-up table, with probabilities and likelihoods that are small enough to compute by hand."""

import json
import threading
from typing import Any

import dspy
import pytest
from support.patience import PATIENCE
from support.prompt_reading import inputs
from support.scripted import Function, Reply, engine_lm, render, scripted
from support.scripted_logprobs import Given, with_logprobs

from programs.instruments.cost import measured
from programs.rerank import Rerank
from retrieval import Memory, Passage, UsageError
from signatures.answer import NameAnswer

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = [
    Passage("zorx", "Zorx is the planet found by Ada Quill in the year 2190.", "Zorx"),
    Passage("ada", "Ada Quill , finder of Zorx , was born in Lund.", "Ada Quill"),
    Passage("bo", "Bo Quill was a baker born in Malmö.", "Bo Quill"),
    Passage("void", "An essay on tea.", "Tea"),
]
FOUND = ["ada", "bo", "zorx"]  # by shared words: finder, of, Zorx, was, born; was, born; is not, the, planet
SAID = {"ada": "Lund", "bo": "the town of Malmö", "zorx": "in space"}
ODDS = {"Lund": [0.6], "the town of Malmö": [0.9, 0.8, 0.9, 0.8], "in space": [0.2, 0.8]}
P = {"ada": 0.6, "bo": (0.9 * 0.8) ** 0.5, "zorx": 0.4}
LIKELIHOODS = {"Ada Quill": -1.0, "Bo Quill": -2.0, "Zorx": -1.5}


def replies(**more: str) -> list[Reply]:
    titles = {passage.id: passage.title for passage in TABLE}
    return [Reply(NameAnswer, {"candidate": SAID[id], **more}, when=f"[1] {titles[id]} | ") for id in FOUND]


def method(**settings: Any) -> Rerank:
    return Rerank(Memory(TABLE, {QUESTION: FOUND}), **settings)


@pytest.fixture
def upr(monkeypatch: pytest.MonkeyPatch) -> Given:
    scorer = Given(LIKELIHOODS)
    monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", {"upr:some/model": scorer}.__getitem__)
    return scorer


def test_each_passage_is_read_by_itself_and_the_most_probable_answer_is_taken() -> None:
    with with_logprobs(*replies(), probabilities=ODDS) as script, measured() as cost:
        seen = method()(question=QUESTION)
    asked = {user["document"]: user["question"] for user in (inputs(user) for _, user in script.prompts)}
    assert asked == {f"[1] {passage.title} | {passage.text}": QUESTION for passage in TABLE[:3]}
    assert seen.candidates == SAID
    assert seen.probabilities == pytest.approx(P)
    assert seen.shares == pytest.approx(dict.fromkeys(FOUND, 1 / 3))
    assert seen.ranked == ["bo", "ada", "zorx"]
    assert (seen.answer, [passage.id for passage in seen.evidence]) == ("the town of Malmö", ["bo"])
    assert seen.queries == [QUESTION]
    assert [passage.id for passage in seen.passages] == FOUND
    assert (seen.measured_by, seen.scored_by) == ({"logprobs": 3}, "none")
    # The promise of the class docstring: as many LM calls as passages, and 1 search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (3, 1, 0)


def test_with_a_model_the_question_has_a_say(upr: Given) -> None:
    with with_logprobs(*replies(), probabilities=ODDS), measured() as cost:
        seen = method(upr="upr:some/model")(question=QUESTION)
    # e^-1 * 0.6 = 0.221, e^-2 * 0.849 = 0.115, e^-1.5 * 0.4 = 0.089
    assert seen.ranked == ["ada", "bo", "zorx"]
    assert (seen.answer, [passage.id for passage in seen.evidence]) == ("Lund", ["ada"])
    assert seen.shares["ada"] / seen.shares["bo"] == pytest.approx(2.71828, rel=1e-4)
    assert sum(seen.shares.values()) == pytest.approx(1)
    assert seen.probabilities == pytest.approx(P)
    assert seen.scored_by == "upr"
    assert {query for query, _ in upr.scored} == {QUESTION}
    assert sorted(text[:8] for _, text in upr.scored) == ["Ada Quil", "Bo Quill", "Zorx Zor"]
    assert (cost.lm_calls, cost.searches) == (3, 1)
    json.dumps(seen.toDict(), allow_nan=False)


def test_stated_asks_for_a_number_though_the_lm_has_log_probabilities() -> None:
    with with_logprobs(*replies(probability="0.5"), probabilities=ODDS):
        seen = method(probability="stated")(question=QUESTION)
    assert (seen.measured_by, seen.ranked) == ({"stated": 3}, FOUND)
    assert set(seen.probabilities.values()) == {0.5}


def test_ten_passages_are_the_default() -> None:
    many = Memory(Passage(str(n), "planet") for n in range(20))
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"candidate": "x", "probability": "1"})))):
        assert len(Rerank(many)(question="planet").candidates) == 10


def test_no_more_than_in_flight_are_read_at_the_same_time() -> None:
    lock, now, most = threading.Lock(), 0, 0
    both = threading.Barrier(2, timeout=PATIENCE)

    def reply(system: str, user: str) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        both.wait()  # two at least
        with lock:
            now -= 1
        return render({"candidate": "x", "probability": "1"})

    many = Memory(Passage(str(n), "planet") for n in range(6))
    with dspy.context(lm=engine_lm(Function(reply))):
        Rerank(many, in_flight=2)(question="planet")
    assert most == 2
    with pytest.raises(UsageError, match="in_flight must be at least 1"):
        method(in_flight=0)


def test_a_passage_without_an_answer_is_passed_over() -> None:
    script = replies(probability="0.1")
    script[0].fields = {"candidate": "Unknown.", "probability": "1"}
    script[1:2] = [Reply(NameAnswer, "Malmö", when="[1] Bo") for _ in range(2)]
    with scripted(*script), measured() as cost:
        seen = method()(question=QUESTION)
    assert (seen.answer, seen.ranked) == ("in space", ["zorx", "ada", "bo"])
    assert seen.candidates == {"ada": "", "bo": "", "zorx": "in space"}
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 4)


def test_an_answer_with_a_reservation_in_front_is_one() -> None:
    script = replies(probability="0.1")
    script[0].fields = {"candidate": "It is not mentioned here, but it is Lund.", "probability": "1"}
    with scripted(*script):
        seen = method()(question=QUESTION)
    assert seen.answer == "It is not mentioned here, but it is Lund."


def test_without_any_answer_it_is_empty() -> None:
    script = [Reply(reply.to, {"candidate": " ", "probability": "1"}, when=reply.when) for reply in replies()]
    with scripted(*script):
        seen = method()(question=QUESTION)
    assert (seen.answer, seen.evidence, seen.ranked) == ("", [], FOUND)


def test_nothing_found() -> None:
    with scripted(), measured() as cost:
        seen = Rerank(Memory([]))(question=QUESTION)
    assert (seen.answer, seen.queries, seen.passages, seen.ranked) == ("", [QUESTION], [], [])
    assert (cost.lm_calls, cost.searches) == (0, 1)


def test_the_limit_of_qpaugs_table() -> None:
    for style, asked in (("short", "one or a few words"), ("three-words", "at most three words")):
        assert asked in str(Rerank(Memory(TABLE), style=style).candidate.signature)  # type: ignore[arg-type]
