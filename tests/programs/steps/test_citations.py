"""Statements and their citations: read from a reply, and checked by what the passages say."""

from typing import Any

import pytest

from programs.steps.citations import Fact, check_citations, find_support, keep_supported, report_fact, resolve_citations
from retrieval import Passage
from retrieval.ranking.entailment import load_entailment
from signatures.replies import Statement

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
