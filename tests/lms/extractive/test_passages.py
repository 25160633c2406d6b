import json

import dspy
import pytest
from support.lighthouse import CONTEXT

import lms
from lms.extractive.passages import entities, passages, triples
from programs.instruments.adapters import load_adapter
from signatures.extract import ExtractTriples, NameEntities
from signatures.select import SelectFacts

TEXT = "Zorx\nZorx is a planet found in 1990 by Ada Quill. She was born in Lund, and Bo Reed was not."


def test_passages_are_read_as_they_are_numbered() -> None:
    assert [(p.number, p.title) for p in passages(CONTEXT)] == [
        (1, "Orm (river)"), (2, "The Lighthouse Keeper"), (3, "Salka"), (4, "Ada Quill"), (5, "Berta Holm"),
    ]  # fmt: skip
    assert passages(CONTEXT)[0].name == "Orm"
    assert passages("") == []
    assert passages(json.dumps(["One | a", "b"])) == [(1, "One", "a"), (2, "", "b")]
    assert passages("a first line\n\na second one") == [(1, "", "a first line"), (2, "", "a second one")]
    assert passages("[7] One | a ¶ Two | b ¶ c") == [(7, "One", "a"), (7, "Two", "b"), (7, "", "c")]
    assert passages("Observation 1:\n[1] One | a\nThought 2: b") == [(1, "One", "a")]


def test_what_a_sentence_begins_with_and_a_name_in_it_are_a_triple() -> None:
    assert entities(TEXT) == ["Zorx", "1990", "Ada Quill", "Lund", "Bo Reed"]
    assert triples(TEXT) == [
        ["Zorx", "is a planet found in", "1990"],
        ["Zorx", "by", "Ada Quill"],
        ["Zorx", "She was born in", "Lund"],
    ]
    assert triples("Ada, Bo and Cy. In 1950.") == []
    assert triples("") == []


@pytest.mark.parametrize("adapter", ["chat", "json", "xml"])
def test_the_reader_fills_the_signatures_of_an_index(adapter: str) -> None:
    with dspy.context(lm=lms.load("extractive"), adapter=load_adapter(adapter, "auto")):
        assert dspy.Predict(NameEntities)(passage=TEXT).entities == entities(TEXT)
        assert dspy.Predict(ExtractTriples)(passage=TEXT, entities="").triples == triples(TEXT)
        facts = "[1] bo reed | baked bread in oslo\n[2] ada quill | found zorx"
        assert dspy.Predict(SelectFacts)(facts=facts, question="Who found Zorx?").relevant == [2]
