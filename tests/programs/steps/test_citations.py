"""Statements and their citations: read from a reply, and checked by what the passages say."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from programs.steps.citations import (
    Fact,
    check_citations,
    find_support,
    keep_confirmed,
    keep_supported,
    report_fact,
    resolve_citations,
)
from retrieval import Passage, number
from retrieval.ranking.entailment import load_entailment
from signatures.replies import Statement
from signatures.verify import CheckClaims

ZORX = Passage("zorx", "A planet found by Ada Quill.", "Zorx")
ADA = Passage("ada", "Ada Quill was born in Lund.", "Ada Quill")
RAIN = Passage("rain", "It rains.")
SHOWN = [ZORX, ADA, RAIN]
FOUND, BORN = "Ada Quill found the planet Zorx.", "Ada Quill was born in Lund."
BOTH = "Ada Quill, who found the planet Zorx, was born in Lund."
JUDGE = load_entailment("lexical")


def said(text: str, *numbers: int) -> Statement:
    return Statement(statement=text, passages=list(numbers))


def test_statements_are_lines_with_the_passages_that_there_are() -> None:
    facts = resolve_citations([said(f" {FOUND}\n", 1, 9, -1, 1), said(" ", 1), said(BORN)], SHOWN)
    assert facts == [Fact(FOUND, [ZORX]), Fact(BORN, [])]
    assert [report_fact(fact) for fact in facts] == [
        {"fact": FOUND, "passages": ["zorx"]},
        {"fact": BORN, "passages": []},
    ]
    assert resolve_citations(None, SHOWN) == []


def test_supported_ones_have_a_passage_that_entails_them_by_itself() -> None:
    statements = [said(FOUND, 1, 3), said(BORN, 3), said(BOTH, 1, 2), said(BORN)]
    assert keep_supported(statements, SHOWN, JUDGE) == [Fact(FOUND, [ZORX])]
    assert [fact.text for fact in keep_supported(statements, SHOWN, None)] == [FOUND, BORN, BOTH]
    assert keep_supported(None, SHOWN, JUDGE) == []


def test_the_question_may_lend_its_words() -> None:
    born = said("The finder of Zorx was born in Lund.", 2)
    assert keep_supported([born], SHOWN, JUDGE) == []
    assert keep_supported([born], SHOWN, JUDGE, "Where was Ada Quill, the finder of Zorx, born?") != []
    assert keep_supported([born], SHOWN, JUDGE, "Where was the finder of Zorx born?") == []  # not about her


def test_confirmed_ones_are_those_that_the_lm_says_hold() -> None:
    check = dspy.Predict(CheckClaims)
    statements = [said(FOUND, 3, 1), said(BORN, 3, 2), said(BOTH)]  # more claims than passages
    with scripted(Reply(CheckClaims, {"holding": "[2, 4]"})) as script:
        assert keep_confirmed(check, statements, SHOWN, "Who?") == [Fact(FOUND, [RAIN]), Fact(BORN, [RAIN])]
        assert keep_confirmed(check, [said(BOTH, 9)], SHOWN, "Who?") == keep_confirmed(check, None, SHOWN, "Who?") == []
    assert inputs(script.prompts[0][1]) == {
        "context": number(SHOWN),
        "question": "Who?",
        "claims": f"[1] passage 1 | {FOUND}\n[2] passage 3 | {FOUND}\n[3] passage 2 | {BORN}\n[4] passage 3 | {BORN}",
    }
    with scripted(Reply(CheckClaims, "All of them, I should say.")):
        assert keep_confirmed(check, statements, SHOWN, "Who?") == [Fact(FOUND, [ZORX, RAIN]), Fact(BORN, [ADA, RAIN])]


def test_entailed_ones_are_by_their_passages_together() -> None:
    facts = [Fact(FOUND, [ZORX, RAIN]), Fact(BOTH, [ZORX, ADA]), Fact(BOTH, [ADA]), Fact(FOUND, [])]
    assert check_citations(facts, JUDGE) == [True, True, False, False]
    assert check_citations([], JUDGE) == []


def test_the_title_counts_too() -> None:
    assert find_support("Zorx is a planet.", SHOWN, JUDGE) == [ZORX]
    assert check_citations([Fact("Zorx is a planet.", [ZORX])], JUDGE) == [True]


@pytest.mark.parametrize(("text", "passages"), [(FOUND, [ZORX]), (BOTH, []), ("Quill", [ZORX, ADA]), ("", [])])
def test_supporting_passages_are_looked_for_one_by_one(text: str, passages: list[Any]) -> None:
    assert find_support(text, SHOWN, JUDGE) == passages
