import json
import math
from typing import Any

import pytest
from pydantic import ValidationError
from support.records import a_manifest, a_row

from eval.records.record import Manifest, Prediction, Row, Shown, plain, prediction
from retrieval import Passage

ROME, PARIS = Passage("1", "Rome is a city.", "Rome", 2.5), Passage("2", "Paris too.", "Paris")


def test_a_prediction_has_the_common_fields_and_the_programs_own() -> None:
    fields = {
        "answer": "Rome",
        "queries": ["q"],
        "passages": [ROME, PARIS],
        "evidence": [PARIS],
        "scores": {1: (0.5,)},
        "nothing": None,
    }
    assert prediction(fields, {("1", "Rome is a city.")}) == Prediction(
        answer="Rome",
        queries=("q",),
        passages=(Shown(id="1", title="Rome", score=2.5), Shown(id="2", title="Paris", text="Paris too.")),
        evidence=(Shown(id="2", title="Paris", text="Paris too."),),
        own={"scores": {"1": [0.5]}, "nothing": None},
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answer": None}, Prediction(answer=None)),
        ({"answer": True}, Prediction(answer="yes")),
        ({"answer": 7, "passages": None}, Prediction(answer="7")),
        ({"answer": "x", "evidence": []}, Prediction(answer="x", evidence=())),
        ({"answer": "x", "passages": ["a text"]}, Prediction(answer="x", own={"passages": ["a text"]})),
        ({"answer": "x", "evidence": "a text"}, Prediction(answer="x", own={"evidence": "a text"})),
        ({"answer": "x", "queries": [1]}, Prediction(answer="x", own={"queries": [1]})),
        ({"answer": "x", "own": 3}, Prediction(answer="x", own={"own": 3})),
    ],
)
def test_any_program_can_be_recorded(fields: dict[str, Any], expected: Prediction) -> None:
    assert prediction(fields) == expected


def test_a_score_that_is_no_number_is_none() -> None:
    (passage,) = prediction({"answer": "", "passages": [Passage("1", "x", score=math.inf)]}).passages or ()
    assert passage.score is None


def test_plain_values_are_json() -> None:
    value = {("a", 1): {math.nan}, "passage": ROME, "object": object, "nested": [None, True, 1.5, "\ud800"]}
    assert json.loads(json.dumps(plain(value))) == plain(value)
    assert plain(value)["passage"] == {"id": "1", "title": "Rome", "score": 2.5, "text": "Rome is a city."}


def test_a_row_survives_json_and_cannot_be_changed() -> None:
    row = a_row("q\ud800", error="ValueError: no", scores={"em": None}, cost={"predictors": {"read": {"lm_calls": 2}}})
    assert Row.model_validate(json.loads(json.dumps(row.model_dump(mode="json")))) == row
    assert (str(row.error), row.cost.predictors["read"].lm_calls) == ("ValueError: no", 2)
    with pytest.raises(ValidationError):
        row.id = "q2"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Row.model_validate({**row.model_dump(), "surprise": 1})


def test_a_manifest_keeps_names_of_the_caller_and_says_nothing_else() -> None:
    manifest = a_manifest(k=5, program="cot")
    entries = manifest.entries()
    assert (entries["k"], entries["program"], "retriever" in entries) == (5, "cot", False)
    assert Manifest.model_validate(json.loads(json.dumps(entries))) == manifest
