"""FLARE: drafts, what is searched with, and what takes their place; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted
from support.scripted_logprobs import with_logprobs

from programs.flare import FLARE
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage, UsageError
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.write import WriteNextThought

QUESTION = "Where was the finder of the planet Zorx born?"
SURE, DRAFT, BETTER, END = (
    "Zorx was found by Ada Quill.",
    "Ada Quill was born in Kiruna.",
    "Ada Quill was born in Lund.",
    "So the answer is: Lund.",
)
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, was born in Lund.",
    "lund": "Lund is a town.",
}
ZORX, ZORXES, ADA, LUND = (Passage(*row) for row in TABLE.items())
MASKED = "Ada Quill was born in"
FOUND = {QUESTION: ["zorx", "zorxes"], MASKED: ["ada", "lund"], DRAFT: ["lund"], SURE: ["zorx"]}
FIRST = f"[1] {TABLE['zorx']}\n[2] {TABLE['zorxes']}"
SECOND = f"[1] {TABLE['ada']}\n[2] {TABLE['lund']}"
ODDS = {
    SURE: [0.9, 0.95, 0.9, 0.99, 0.8, 0.9],
    DRAFT: [0.9, 0.9, 0.7, 0.9, 0.9, 0.1],
    BETTER: [0.99] * 6,
    END: [0.9] * 5,
}


def thought(text: str, when: str = "") -> Reply:
    return Reply(WriteNextThought, {"sentence": text}, when=when)


def answer(text: str = " Lund ") -> Reply:
    return Reply(AnswerShort, {"reasoning": "She is from Lund.", "answer": text})


CASE = [thought(SURE), thought(DRAFT, TABLE["zorx"]), thought(BETTER, TABLE["ada"]), thought(END)]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    with with_logprobs(*replies, probabilities=ODDS, field="sentence") as script, measured() as cost:
        seen = FLARE(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts if "JSON object" not in user]


def test_only_a_sentence_that_the_lm_is_unsure_of_is_searched_with_and_written_anew() -> None:
    seen, cost, prompts = run(*CASE, answer())
    thoughts = f"{SURE} {BETTER} {END}"
    assert prompts == [
        {"context": FIRST, "question": QUESTION, "history": ""},
        {"context": FIRST, "question": QUESTION, "history": SURE},
        {"context": SECOND, "question": QUESTION, "history": SURE},
        {"context": SECOND, "question": QUESTION, "history": f"{SURE}\n{BETTER}"},
        {"context": f"{SECOND}\n[3] {thoughts}", "question": QUESTION},
    ]
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [QUESTION, MASKED],
        "passages": [ZORX, ZORXES, ADA, LUND],
        "evidence": [ADA, LUND, Passage("lm:thoughts", thoughts)],
        "thoughts": [SURE, BETTER, END],
        "iterations": [
            {"retrieved": ["zorx", "zorxes"], "kept": ["zorx", "zorxes"], "shown": ["zorx", "zorxes"]},
            {"retrieved": ["ada", "lund"], "kept": ["ada", "lund"], "shown": ["ada", "lund"]},
        ],
        "ended": "answer",
        "reasoning": "She is from Lund.",
    }
    # The promise of the class docstring: an LM call per sentence, one more where it is unsure, and one for the answer.
    assert (cost.lm_calls, cost.searches, cost.depth, cost.unparsable) == (5, 2, 5, 0)


def test_theta_says_what_is_unsure_and_beta_what_is_left_out() -> None:
    seen, _, _ = run(thought(SURE), thought(SURE), thought(END), answer(), theta=0.81, beta=0.0)
    assert seen.queries == [QUESTION, SURE]  # .8 is below .81
    seen, _, _ = run(thought(DRAFT), thought(END), answer(), theta=0.1)
    assert seen.queries == [QUESTION]
    seen, _, _ = run(thought(DRAFT), thought(BETTER), thought(END), answer(), beta=0.1)
    assert seen.queries == [QUESTION, DRAFT]
    seen, _, _ = run(thought(DRAFT), thought(END), answer(), beta=1.0)
    assert seen.queries == [QUESTION]  # no word is left to search with: the draft stays
    assert seen.thoughts == [DRAFT, END]


def test_an_lm_without_probabilities_is_refused_unless_every_sentence_is_searched_with() -> None:
    with pytest.raises(UsageError, match=r"needs log-probabilities.*theta=1 and beta=0"), scripted():
        FLARE(Memory([ZORX], {}))(question=QUESTION)
    replies = [thought(DRAFT), thought(BETTER), thought(END), thought(END), answer()]
    with scripted(*replies), measured() as cost:
        seen = FLARE(Memory((Passage(*row) for row in TABLE.items()), FOUND), theta=1.0, beta=0.0)(question=QUESTION)
    assert (seen.queries, seen.thoughts) == ([QUESTION, DRAFT, END], [BETTER, END])
    assert cost.lm_calls == 5


def test_a_sentence_without_tokens_counts_as_unsure_and_only_the_first_new_one_of_a_reply_counts() -> None:
    seen, _, _ = run(
        thought("Who knows. Nobody does."), thought(BETTER), thought(f"{BETTER} {END}"), thought(END), answer()
    )
    assert seen.queries == [QUESTION, "Who knows.", END]
    assert seen.thoughts == [BETTER, END]


def test_the_draft_stays_where_nothing_new_is_written_over_what_was_found() -> None:
    seen, _, _ = run(thought(DRAFT), Reply(WriteNextThought, {"sentence": "None"}), thought(END), answer())
    assert seen.thoughts == [DRAFT, END]


@pytest.mark.parametrize("nothing", ["", "N/A", SURE])
def test_a_step_without_a_new_sentence_ends_the_loop(nothing: str) -> None:
    seen, cost, _ = run(thought(SURE), thought(nothing), answer())
    assert (seen.ended, seen.thoughts, cost.lm_calls) == ("nothing", [SURE], 3)
    assert [passage.id for passage in seen.evidence] == ["zorx", "zorxes", "lm:thoughts"]


def test_replies_that_cannot_be_parsed_are_counted_and_the_passages_answer() -> None:
    seen, cost, prompts = run(*[Reply(WriteNextThought, UNPARSABLE)] * 2, answer())
    assert (seen.ended, seen.thoughts, seen.answer, cost.unparsable) == ("nothing", [], "Lund", 1)
    assert prompts[-1] == {"context": FIRST, "question": QUESTION}


@pytest.mark.parametrize("steps", [1, 2])
def test_the_limit_of_sentences(steps: int) -> None:
    seen, cost, _ = run(*CASE[: 2 * steps - 1], answer(), steps=steps)
    assert (seen.ended, seen.thoughts) == ("limit", [SURE, BETTER][:steps])
    assert cost.lm_calls == 2 * steps


def test_eight_sentences_and_two_passages_are_the_default() -> None:
    program = FLARE(Memory([ZORX], {}))
    assert (program.k, program.steps, program.theta, program.beta) == (2, 8, 0.8, 0.4)


def test_yes_or_no_and_the_description_of_the_reasoning() -> None:
    seen, _, _ = run(thought(END), Reply(AnswerYesNo, {"reasoning": "", "answer": "No."}), style="yesno")
    assert seen.answer == "no"
    assert FLARE(Memory([ZORX], {})).answer.predict.signature.fields["reasoning"].json_schema_extra["desc"] == REASONING


@pytest.mark.parametrize("wrong", [{"theta": 1.1}, {"beta": -0.1}, {"k": 0}, {"steps": 0}, {"style": "long"}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        FLARE(Memory([ZORX], {}), **wrong)
