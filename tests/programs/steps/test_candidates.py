"""Answers from one passage each: what counts as none, and where their probabilities come from."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response, TokenLogprob
from support.scripted import UNPARSABLE, Function, Reply, engine_lm, scripted
from support.scripted_logprobs import Given, with_logprobs

from programs.instruments.cost import measured
from programs.steps.candidates import Candidate, PassageReader, parse_answer, scorer_or_none
from retrieval import Memory, Passage
from retrieval.ranking.scorers import Lexical, Scorer
from signatures.adapters import ChatAdapter
from signatures.answer import NameAnswer

ONE, TWO, THREE = PASSAGES = [Passage(str(n), f"Passage {n} of the table.") for n in (1, 2, 3)]


def reply(passage: Passage, candidate: str, **more: str) -> Reply:
    return Reply(NameAnswer, {"candidate": candidate, **more}, when=f"[1] {passage.text}")


def candidates(
    passages: Sequence[Passage] = PASSAGES, scorer: Scorer | None = None, logprobs: bool = True
) -> list[Candidate]:
    reader = PassageReader(NameAnswer, Memory([]), 5, "logprobs" if logprobs else "stated", "none", 16)
    reader.scorer = scorer
    return reader.draw("where?", passages)


def fields(ranked: Sequence[Candidate]) -> dict[str, Any]:
    """What a result says of the candidates."""
    found = PassageReader(NameAnswer, Memory([]), 5, "stated", "none", 16).choose("where?", [], ranked)
    return {name: found[name] for name in ("ranked", "candidates", "probabilities", "shares", "measured_by")}


@pytest.mark.parametrize("said", [None, "", " \n", "unknown", "“Unknown.”", "Unanswerable", "It is unanswerable here."])
def test_no_answer(said: str | None) -> None:
    assert parse_answer(said) == ""


@pytest.mark.parametrize(
    ("said", "answer"), [(" Lund\n", "Lund"), ("the unknown soldier", "the unknown soldier"), ("no", "no")]
)
def test_an_answer(said: str, answer: str) -> None:
    assert parse_answer(said) == answer


def test_an_answer_without_end_is_cut() -> None:
    assert len(parse_answer("Lund " * 20_000)) == 4000


def test_log_probabilities_give_the_mean_per_token() -> None:
    replies = [reply(ONE, "Lund"), reply(TWO, "the town Lund"), reply(THREE, "unanswerable")]
    odds = {"Lund": [0.4], "the town Lund": [0.5, 0.9, 0.6], "unanswerable": [0.99]}
    with with_logprobs(*replies, probabilities=odds):
        found = candidates()
    assert [candidate.passage for candidate in found] == [TWO, ONE, THREE]
    assert [candidate.answer for candidate in found] == ["the town Lund", "Lund", ""]
    assert [candidate.probability for candidate in found] == pytest.approx([(0.5 * 0.9 * 0.6) ** (1 / 3), 0.4, 0.0])
    assert {candidate.measured_by for candidate in found} == {"logprobs"}


@pytest.mark.parametrize("logprobs", [True, False])
def test_without_log_probabilities_the_lm_says_the_number(logprobs: bool) -> None:
    replies = [reply(ONE, "Lund", probability="0.25"), reply(TWO, "Malmö", probability="1")]
    with scripted(*replies) as script:
        found = candidates([ONE, TWO], logprobs=logprobs)
    assert [(c.answer, c.probability, c.measured_by) for c in found] == [
        ("Malmö", 1, "stated"),
        ("Lund", 0.25, "stated"),
    ]
    assert all("probability, from 0 to 1" in system for system, _ in script.prompts)


def test_an_lm_that_refuses_them_is_asked_for_the_number() -> None:
    with with_logprobs(reply(ONE, "Lund", probability="0.5"), probabilities={}, refuses=True), measured() as cost:
        (found,) = candidates([ONE])
    assert (found.answer, found.probability, found.measured_by) == ("Lund", 0.5, "stated")
    assert cost.lm_calls == 2


@pytest.mark.parametrize("number", ["low", "1995", "-0.1", "nan", "inf"])
def test_a_number_that_is_no_probability_leaves_the_answer_alone(number: str) -> None:
    with scripted(reply(ONE, "Lund", probability=number)):
        (found,) = candidates([ONE])
    assert (found.answer, found.probability, found.measured_by) == ("Lund", 1.0, "binary")


def test_an_lm_that_ignores_the_wish_leaves_the_answer_alone() -> None:
    with with_logprobs(reply(ONE, "Lund"), probabilities={}):
        (found,) = candidates([ONE])
    assert (found.answer, found.probability, found.measured_by) == ("Lund", 1.0, "binary")


class Writes(Function):
    """Writes what stands for the passage, as tokens of the same probability."""

    supported_params = ("logprobs",)
    supports_reasoning = False

    def complete(self, request: Request) -> Response:
        response = super().complete(request)
        token = TokenLogprob(response.message.text, math.log(0.9 if "unsure" not in response.message.text else 0.4))
        return replace(response, logprobs=(token,))


def test_replies_out_of_form_are_measured_like_others() -> None:
    written = {
        ONE: '```json\n{"Candidate": "unsure"}\n```',
        TWO: "[[ ## candidate ## ]]\nLund\n\n[[ ## completed ## ]]",
        THREE: "unsure too",
    }
    lm = engine_lm(Writes(lambda system, user: next(text for p, text in written.items() if p.text in user)))
    with dspy.context(lm=lm, adapter=ChatAdapter()):
        found = candidates()
    assert [(c.passage, c.answer) for c in found] == [(TWO, "Lund"), (ONE, "unsure"), (THREE, "unsure too")]
    assert [c.probability for c in found] == pytest.approx([0.9, 0.4, 0.4])
    assert {c.measured_by for c in found} == {"logprobs"}


def test_an_answer_that_nothing_measures_ranks_behind_the_measured_ones_whatever_their_scores() -> None:
    replies = [reply(ONE, "Malmö"), reply(TWO, "unanswerable"), reply(THREE, "Lund")]
    scorer = Given({"Passage 1": 5.0, "Passage 2": 0.0, "Passage 3": -5.0})
    with with_logprobs(*replies, probabilities={"Lund": [0.01], "unanswerable": [0.9]}):
        found = candidates(scorer=scorer)
    assert [(c.answer, c.measured_by) for c in found] == [("Lund", "logprobs"), ("Malmö", "binary"), ("", "logprobs")]
    stated = [reply(ONE, "Malmö", probability="low"), reply(TWO, "Ystad"), reply(THREE, "Lund", probability="0.01")]
    with scripted(*stated):
        found = candidates(scorer=Given({"Passage 1": 0.0, "Passage 2": 5.0, "Passage 3": -5.0}))
    assert [c.answer for c in found] == ["Lund", "Ystad", "Malmö"]  # of the others the shares decide


@pytest.mark.parametrize("logprobs", [True, False])
def test_an_unparsable_reply_is_no_answer_and_is_counted(logprobs: bool) -> None:
    garbled = [Reply(NameAnswer, UNPARSABLE, when=f"[1] {ONE.text}") for _ in range(2)]
    with with_logprobs(*garbled, probabilities={}), measured() as cost:
        (found,) = candidates([ONE], logprobs=logprobs)
    assert (found.answer, found.probability, found.measured_by) == ("", 0.0, "binary")
    assert (cost.unparsable, cost.lm_calls) == (1, 2)


def test_shares_are_the_softmax_of_the_scores() -> None:
    scorer = Given({"Passage 1": -3.0, "Passage 2": -2.0, "Passage 3": -2.5})
    replies = [reply(p, "Lund", probability=str(odds)) for p, odds in zip(PASSAGES, (0.9, 0.3, 0.8), strict=True)]
    with scripted(*replies):
        found = candidates(scorer=scorer)
    total = math.exp(-3) + math.exp(-2) + math.exp(-2.5)
    shares = {"1": math.exp(-3) / total, "2": math.exp(-2) / total, "3": math.exp(-2.5) / total}
    assert {c.passage.id: c.share for c in found} == pytest.approx(shares)
    # 0.485 at 0.8 stands above 0.333 at 0.9 and 0.548 at 0.3 (all but for the total).
    assert [c.passage.id for c in found] == ["3", "1", "2"]
    assert [c.score for c in found] == pytest.approx([0.8 * shares["3"], 0.9 * shares["1"], 0.3 * shares["2"]])
    assert sorted(scorer.scored) == [("where?", passage.text) for passage in PASSAGES]


@pytest.mark.parametrize("scores", [(-5000.0, -4000.0), (4000.0, 5000.0)])
def test_scores_on_any_scale_give_shares(scores: tuple[float, float]) -> None:
    with scripted(*(reply(p, "Lund", probability="0.5") for p in (ONE, TWO))):
        found = candidates([ONE, TWO], Given({"Passage 1": scores[0], "Passage 2": scores[1]}))
    assert [(c.passage.id, c.share) for c in found] == [("2", 1.0), ("1", 0.0)]


def test_without_a_scorer_all_have_the_same_share_and_ties_keep_their_order() -> None:
    with scripted(*(reply(passage, "Lund", probability="0.5") for passage in PASSAGES)):
        found = candidates()
    assert [(c.passage, c.share) for c in found] == [(passage, pytest.approx(1 / 3)) for passage in PASSAGES]


def test_nothing_to_read() -> None:
    for scorer in (None, Given({})):
        assert candidates([], scorer) == []
    assert fields([]) == {
        "ranked": [],
        "candidates": {},
        "probabilities": {},
        "shares": {},
        "measured_by": {},
    }


def test_as_fields_of_a_result() -> None:
    found = [Candidate(TWO, "Lund", 0.5, "stated", 0.75), Candidate(ONE, "", 0.0, "binary", 0.25)]
    assert fields(found) == {
        "ranked": ["2", "1"],
        "candidates": {"2": "Lund", "1": ""},
        "probabilities": {"2": 0.5, "1": 0.0},
        "shares": {"2": 0.75, "1": 0.25},
        "measured_by": {"stated": 1, "binary": 1},
    }


def test_a_scorer_comes_by_its_name_and_without_one_its_module_is_not_imported() -> None:
    assert scorer_or_none("none") is None
    assert isinstance(scorer_or_none("lexical"), Lexical)
    code = (
        "import sys; from programs.steps.candidates import scorer_or_none; scorer_or_none('none'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "retrieval.ranking.scorers" not in done.stdout.split()
