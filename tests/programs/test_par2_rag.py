"""PAR²-RAG: a plan that suffices, one that leaves two rounds to go, replies of no use; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.par2_rag import PAR2RAG
from retrieval import Memory, Passage
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.query import PlanSearches
from signatures.verify import JudgeEvidence

QUESTION = "In which country is the birthplace of the finder of the planet Zorx?"
PLANET, FINDER, BIRTH, COUNTRY = "planet Zorx", "finder of a planet", "birthplace of Ada Quill", "country of Lund"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "finders": "Finders of planets are astronomers.",
    "ada": "Ada Quill was born in Lund.",
    "lund": "Lund is a town in Sweden.",
}
ZORX, FINDERS, ADA, LUND = (Passage(*row) for row in TABLE.items())
FOUND = {
    PLANET: ["zorx", "finders"],
    FINDER: ["finders", "zorx"],
    BIRTH: ["ada", "zorx"],
    COUNTRY: ["lund"],
    QUESTION: ["zorx"],
}


def plan(*queries: str) -> Reply:
    return Reply(PlanSearches, {"searches": "\n".join(f"- {query}" for query in queries)})


def answer(text: str, when: str = "") -> Reply:
    return Reply(AnswerShort, {"reasoning": "So it is.", "answer": text}, when=when)


def judged(sufficient: str, query: str = "", when: str = "") -> Reply:
    return Reply(JudgeEvidence, {"sufficient": sufficient, "query": query}, when=when)


TWO_ROUNDS = [
    plan(PLANET, FINDER),
    answer("unknown", when="[2] Finders"),
    judged("no", f" {BIRTH}\n", when="Answer: unknown"),
    answer("Lund", when="[3] Ada"),
    judged("no", COUNTRY, when="Answer: Lund"),
    answer("Sweden", when="[4] Lund"),
    judged("yes", when="Answer: Sweden"),
]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), FOUND)
    with scripted(*replies) as made, measured() as cost:
        seen = PAR2RAG(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


def test_the_plan_is_searched_at_once_and_then_one_search_at_a_time_until_the_evidence_suffices() -> None:
    seen, cost, prompts = run(*TWO_ROUNDS)
    lines = [f"[{n}] {text}" for n, text in enumerate(TABLE.values(), 1)]
    contexts = ["\n".join(lines[:n]) for n in (2, 3, 4)]
    answers = ["unknown", "Lund", "Sweden"]
    asked = [
        prompt
        for context, text in zip(contexts, answers, strict=True)
        for prompt in (
            {"context": context, "question": QUESTION},
            {"context": context, "question": QUESTION, "analysis": f"So it is. Answer: {text}"},
        )
    ]
    assert prompts == [{"question": QUESTION}, *asked]
    assert dict(seen.items()) == {
        "answer": "Sweden",
        "queries": [PLANET, FINDER, BIRTH, COUNTRY],
        "passages": [ZORX, FINDERS, ADA, LUND],
        "evidence": [ZORX, FINDERS, ADA, LUND],
        "plan": [PLANET, FINDER],
        "drafts": answers,
        "iterations": [
            {"retrieved": ["zorx", "finders"], "kept": ["zorx", "finders"], "shown": ["zorx", "finders"]},
            {"retrieved": ["ada", "zorx"], "kept": ["ada", "zorx"], "shown": ["zorx", "finders", "ada"]},
            {"retrieved": ["lund"], "kept": ["lund"], "shown": ["zorx", "finders", "ada", "lund"]},
        ],
        "reasoning": "So it is.",
    }
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (7, 4, 0)


def test_evidence_that_suffices_ends_it_at_once_even_with_a_query() -> None:
    seen, cost, _ = run(plan(PLANET), answer("Sweden"), judged("Yes.", COUNTRY))
    assert (seen.queries, seen.drafts) == ([PLANET], ["Sweden"])
    assert (cost.lm_calls, cost.searches) == (3, 1)


@pytest.mark.parametrize("verdict", [{}, {"sufficient": ""}, {"sufficient": "It depends on what is meant."}])
def test_a_query_without_a_verdict_is_no_reply(verdict: dict[str, str]) -> None:
    """Whether the evidence suffices has to be said: the LM is asked once more, and then the answer stands."""
    reply = Reply(JudgeEvidence, {**verdict, "query": BIRTH})
    seen, cost, _ = run(plan(PLANET), answer("Lund"), reply, Reply(reply.to, reply.fields))
    assert (seen.answer, seen.queries, cost.unparsable) == ("Lund", [PLANET], 1)
    seen, cost, _ = run(
        plan(PLANET),
        answer("Lund"),
        Reply(reply.to, reply.fields),
        judged("no", BIRTH),
        answer("Sweden"),
        judged("yes"),
    )
    assert (seen.answer, seen.queries, cost.unparsable) == ("Sweden", [PLANET, BIRTH], 0)


def test_the_last_answer_is_not_judged_and_the_promised_counts_are_the_most() -> None:
    rounds = [reply for n in range(5) for reply in (answer(f"a{n}"), judged("no", f"query {n}"))]
    seen, cost, prompts = run(plan(*"abcde"), *rounds, answer("last"))
    assert seen.plan == ["a", "b", "c"]
    assert seen.queries == ["a", "b", "c", *(f"query {n}" for n in range(5))]
    assert seen.drafts == ["a0", "a1", "a2", "a3", "a4", "last"]
    assert (cost.lm_calls, cost.searches, "analysis" in prompts[-1]) == (12, 8, False)


def test_settings_bound_the_plan_and_the_rounds() -> None:
    seen, cost, _ = run(plan(PLANET, FINDER), answer("a"), judged("no", BIRTH), answer("b"), k=1, searches=1, rounds=1)
    assert ([p.id for p in seen.passages], seen.plan) == (["zorx", "ada"], [PLANET])
    assert cost.lm_calls == 4


@pytest.mark.parametrize("nothing", ["[]", "None", ""])
def test_without_a_plan_the_question_is_searched(nothing: str) -> None:
    seen, _, _ = run(Reply(PlanSearches, {"searches": nothing}), answer("Sweden"), judged("yes"))
    assert (seen.plan, seen.queries) == ([QUESTION], [QUESTION])


@pytest.mark.parametrize("query", ["", "None", "I do not know what to search for.", PLANET])
def test_without_a_new_query_the_answer_stands(query: str) -> None:
    seen, cost, _ = run(plan(PLANET), answer("Lund"), judged("no", query))
    assert (seen.answer, seen.queries, cost.lm_calls) == ("Lund", [PLANET], 3)


def test_a_query_that_begins_like_a_refusal_is_searched() -> None:
    said = "The evidence does not say who found it, so who found Zorx?"
    seen, _, _ = run(plan(PLANET), answer("Lund"), judged("no", said), answer("Lund"), judged("yes"))
    assert seen.queries == [PLANET, said]


@pytest.mark.parametrize("useless", [PlanSearches, AnswerShort, JudgeEvidence])
def test_replies_of_no_use_are_counted_and_do_without(useless: type[dspy.Signature]) -> None:
    usual = [plan(PLANET), answer("Sweden"), judged("yes")]
    replies = [
        made for reply in usual for made in ([Reply(useless, UNPARSABLE)] * 2 if reply.to is useless else [reply])
    ]
    seen, cost, _ = run(*replies)
    assert cost.unparsable == 1
    assert seen.answer == ("" if useless is AnswerShort else "Sweden")
    assert seen.queries == [QUESTION if useless is PlanSearches else PLANET]


def test_yes_or_no() -> None:
    yes = Reply(AnswerYesNo, {"reasoning": "It is.", "answer": "yes"})
    seen, _, prompts = run(plan(PLANET), yes, judged("yes"), style="yesno")
    assert (seen.answer, seen.drafts) == ("yes", ["yes"])
    assert prompts[-1]["analysis"] == "It is. Answer: yes"


def test_the_defaults() -> None:
    made = PAR2RAG(Memory([]))
    assert (made.k, made.searches, made.rounds) == (5, 3, 5)
    assert made.answer.predict.signature.fields["reasoning"].json_schema_extra["desc"] == REASONING
