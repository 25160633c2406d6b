"""ALLIES: how the beam begins, grows, is pruned and ends, with and without retrieval; the case is made up."""

import json
from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.allies import ALLIES
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.answer import AnswerShortDirectly
from signatures.query import ListSubQuestions
from signatures.verify import RateAnswer
from signatures.write import WritePassage

QUESTION = "Where was the finder of the planet Zorx born?"
WHO, WHEN, WHERE, WHAT = "Who found Zorx?", "When was Zorx found?", "Where was Ada Quill born?", "What is Zorx?"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill was born in Lund.",
    "year": "In 2190 a planet was found.",
}
FOUND = {QUESTION: ["zorxes"], WHO: ["zorx"], WHEN: ["year"], WHERE: ["ada", "zorx"], WHAT: ["zorx", "zorxes"]}


def lines(*ids: str) -> str:
    return "\n".join(f"[{n}] {TABLE[id_]}" for n, id_ in enumerate(ids, 1))


def shown(context: str) -> str:
    """What a prompt has whose context is this and nothing more."""
    return f"[[ ## context ## ]]\n{context}\n\n[[ ## question ## ]]\n{QUESTION}\n\n"


def state(context: str, text: str, score: Any) -> list[Reply]:
    """The answer over this context, and its score."""
    when = shown(context)
    return [
        Reply(AnswerShortDirectly, {"answer": f" {text} "}, when=when),
        Reply(RateAnswer, {"correct_probability": str(score)}, when=f"{when}[[ ## candidate ## ]]\n{text}\n"),
    ]


def expansion(history: str, *queries: str) -> Reply:
    when = f"[[ ## history ## ]]\n{history}\n\n[[ ## context ## ]]"
    return Reply(ListSubQuestions, {"queries": json.dumps(queries)}, when=when)


NOTHING, FIRST = state("", "Ystad", 0.9), state(lines("zorxes"), "Malmö", 0.2)
# The first expansion: two queries for each of the two first answers.
LEVEL1 = [
    expansion("", f"1. {WHO}", WHEN),
    expansion(QUESTION, WHO, WHAT),
    *state(lines("zorx"), "Lund", 0.4),
    *state(lines("year"), "Ystad", 0.1),
    *state(lines("zorxes", "zorx"), "Quillby", 0.5),
]
# WHAT finds, behind the question, what WHO does.
SAME = state(lines("zorxes", "zorx"), "Quillby", 0.5)
# The second expansion, of these two.
LEVEL2 = [
    expansion(f"{QUESTION}\n{WHO}", WHO, WHERE),
    expansion(f"{QUESTION}\n{WHAT}", WHERE),
    *state(lines("zorxes", "zorx", "ada"), "Lund", 0.7),
    *state(lines("zorxes", "zorx", "ada"), "Lund", 0.7),
]


def run(*replies: Reply, closed: bool = False, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = None if closed else Memory((Passage(*row) for row in TABLE.items()), FOUND)
    with scripted(*[Reply(r.to, r.fields, r.when, r.delay) for r in replies]) as made, measured() as cost:
        program = ALLIES(retriever, **settings)
        seen = program(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


def beams(seen: dspy.Prediction) -> list[list[tuple[list[str], str, float]]]:
    return [[(entry["queries"], entry["answer"], entry["score"]) for entry in beam] for beam in seen.beams]


def test_two_expansions_of_the_best_two() -> None:
    seen, cost, prompts = run(*NOTHING, *FIRST, *LEVEL1, *SAME, *LEVEL2)
    assert beams(seen) == [
        [([], "Ystad", 0.9), ([QUESTION], "Malmö", 0.2)],
        [([QUESTION, WHO], "Quillby", 0.5), ([QUESTION, WHAT], "Quillby", 0.5)],
        [([QUESTION, WHO, WHERE], "Lund", 0.7), ([QUESTION, WHAT, WHERE], "Lund", 0.7)],
    ]
    assert seen.answer == "Lund"
    assert seen.queries == [QUESTION, WHO, WHEN, WHO, WHAT, WHERE, WHERE]
    assert ids(seen.evidence) == ["zorxes", "zorx", "ada"]
    assert ids(seen.passages) == ["zorxes", "zorx", "year", "ada"]
    # At the first: 2 x (answer, score). Per expansion: 2 x questions, and an answer and a score for each of these.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (4 + (2 + 2 * 4) + (2 + 2 * 2), 7, 0)
    asked = [prompt for prompt in prompts if "history" in prompt]
    assert {"question": QUESTION, "history": "", "context": ""} in asked
    assert {"question": QUESTION, "history": QUESTION, "context": lines("zorxes")} in asked
    # What was asked before is asked no more.
    assert {"question": QUESTION, "history": f"{QUESTION}\n{WHO}", "context": lines("zorxes", "zorx")} in asked


def test_the_most_that_is_promised() -> None:
    names = iter(range(100))
    retriever = Memory([Passage("zorx", TABLE["zorx"])])

    def fresh() -> Reply:
        return Reply(ListSubQuestions, {"queries": json.dumps([f"Query {next(names)}?" for _ in range(3)])})

    answers = [
        reply
        for _ in range(10)
        for reply in (
            Reply(AnswerShortDirectly, {"answer": "Lund"}),
            Reply(RateAnswer, {"correct_probability": "0.5"}),
        )
    ]
    with scripted(*answers, *(fresh() for _ in range(4))), measured() as cost:
        ALLIES(retriever)(question=QUESTION)
    # The promise of the class docstring: 24 LM calls and 9 searches, with two sub-questions of the three.
    assert (cost.lm_calls, cost.searches) == (24, 9)


def test_a_sure_answer_ends_it() -> None:
    sure = state(lines("zorx"), "Lund", 0.8)
    seen, cost, _ = run(*NOTHING, *FIRST, *LEVEL1[:2], *sure, *LEVEL1[4:], *SAME)
    assert seen.answer == "Lund"
    assert [entry[2] for entry in beams(seen)[-1]] == [0.8, 0.5]
    assert ids(seen.evidence) == ["zorx"]
    # The promise of the class docstring. The answer without evidence, surer still, does not end it.
    assert (cost.lm_calls, cost.searches) == (14, 5)


def test_the_threshold_says_what_is_sure() -> None:
    seen, cost, _ = run(*NOTHING, *FIRST, *LEVEL1, *SAME, threshold=0.5)
    assert seen.answer == "Quillby"
    assert cost.lm_calls == 14


def test_a_narrower_beam_and_one_expansion() -> None:
    seen, _, _ = run(*NOTHING, *FIRST, *LEVEL1, *SAME, beam=1, expansions=1)
    assert [len(beam) for beam in seen.beams] == [2, 1]
    assert seen.answer == "Quillby"


def test_fewer_sub_questions() -> None:
    both = [*state(lines("zorx"), "Lund", 0.4), *state(lines("zorxes", "zorx"), "Quillby", 0.5)]
    seen, cost, _ = run(*NOTHING, *FIRST, *LEVEL1[:2], *both, expansions=1, sub_questions=1)
    assert seen.queries == [QUESTION, WHO, WHO]
    assert (cost.lm_calls, cost.searches) == (10, 3)


@pytest.mark.parametrize("none", [[], [""], [QUESTION]])
def test_without_sub_questions_the_better_of_the_first_two_answers_is_given(none: list[str]) -> None:
    seen, cost, _ = run(*NOTHING, *FIRST, expansion(""), expansion(QUESTION, *none))
    assert (seen.answer, len(seen.beams)) == ("Ystad", 1)
    assert seen.evidence == []
    assert (cost.lm_calls, cost.searches) == (6, 1)


@pytest.mark.parametrize("score", [1.01, -0.1, "nan", "inf", "low", 850])
def test_a_score_that_is_no_probability_is_none_and_is_counted(score: Any) -> None:
    none = [expansion(""), expansion(QUESTION)]
    answer, rate = state("", "Ystad", score)
    seen, cost, _ = run(answer, rate, rate, *state(lines("zorxes"), "Malmö", 0.2), *none)
    assert (seen.answer, beams(seen)[0][0][2]) == ("Malmö", 0.0)
    assert cost.unparsable == 1


def test_unparsable_replies_are_counted_and_end_nothing() -> None:
    rate = Reply(RateAnswer, "rather right", when=shown(""))
    answer = Reply(AnswerShortDirectly, UNPARSABLE, when=shown(lines("zorxes")))
    asked = Reply(ListSubQuestions, UNPARSABLE, when="[[ ## history ## ]]\n\n")
    empty = Reply(RateAnswer, {"correct_probability": "0.0"}, when=shown(lines("zorxes")))
    replies = [NOTHING[0], rate, rate, answer, answer, empty, asked, asked, expansion(QUESTION)]
    seen, cost, _ = run(*replies)
    assert beams(seen) == [[([], "Ystad", 0.0), ([QUESTION], "", 0.0)]]
    assert seen.answer == "Ystad"
    assert cost.unparsable == 3


def test_closed_book_the_lm_writes_the_evidence() -> None:
    def wrote(query: str, text: str) -> Reply:
        return Reply(WritePassage, {"passage": f" {text}\n"}, when=f"[[ ## question ## ]]\n{query}")

    first, second = f"[1] {QUESTION} | Ada is.", f"[1] {QUESTION} | Ada is.\n[2] {WHERE} | In Lund."
    script = [
        *NOTHING, wrote(QUESTION, "Ada is."), *state(first, "Malmö", 0.2), expansion(""), expansion(QUESTION, WHERE),
        wrote(WHERE, "In Lund."), *state(second, "Lund", 0.9),
    ]  # fmt: skip
    seen, cost, _ = run(*script, closed=True)
    assert (seen.answer, seen.queries, seen.passages) == ("Lund", [], [])
    assert [(p.id, p.title, p.text) for p in seen.evidence] == [
        ("lm:passage-1", QUESTION, "Ada is."),
        ("lm:passage-2", WHERE, "In Lund."),
    ]
    assert beams(seen)[-1] == [([QUESTION, WHERE], "Lund", 0.9)]
    assert (cost.lm_calls, cost.searches) == (10, 0)
