import dspy
import pytest

import lms
from lms.extractive.triples import entities, triples
from programs.instruments.adapters import load_adapter
from signatures.extract import ExtractTriples, NameEntities
from signatures.select import SelectFacts

TEXT = "Zorx\nZorx is a planet found in 1990 by Ada Quill. She was born in Lund, and Bo Reed was not."


def test_names_and_dates_are_entities() -> None:
    assert entities(TEXT) == ["Zorx", "1990", "Ada Quill", "Lund", "Bo Reed"]


def test_what_a_sentence_begins_with_and_a_name_in_it_are_a_triple() -> None:
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
