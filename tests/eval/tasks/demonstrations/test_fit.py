from typing import Any, Literal

import dspy

from eval.tasks.demonstrations.fit import fitting, for_predictors
from signatures.answer import AnswerInThreeWords, AnswerShort, AnswerYesNo
from signatures.detect import DetectMissing
from signatures.replies import YesNo

CALL = {"id": "1", "question": "Q?", "answer": "Lund", "context": "[1] x"}
FACTS = {"question": "Q?", "facts": "[1] y", "answer": "unanswerable", "explanation": "No.", "missing": "All."}


def shown(signature: type[dspy.Signature], *labels: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [[dict(call.items()) for call in calls] for calls in fitting(signature, labels)]


def test_a_call_needs_every_field_and_shows_no_other() -> None:
    assert shown(AnswerShort, [CALL]) == [[{"context": "[1] x", "question": "Q?", "answer": "Lund"}]]
    thinking = dspy.ChainOfThought(AnswerShort).predict.signature
    assert shown(thinking, [CALL]) == [[]]
    assert [set(call) for call in shown(thinking, [CALL | {"reasoning": "So."}])[0]] == [
        {"context", "question", "reasoning", "answer"}
    ]


def test_other_calls_than_the_first_are_of_this_kind_alone() -> None:
    assert shown(DetectMissing, [CALL, FACTS], [CALL]) == [[FACTS], []]
    assert shown(dspy.Signature("question -> answer"), [CALL, FACTS]) == [[{"question": "Q?", "answer": "Lund"}]]
    assert shown(DetectMissing, [CALL, FACTS | {"reasoning": "So."}]) == [[FACTS]]


def test_values_are_read_by_the_types_of_their_fields() -> None:
    yes, no = (CALL | {"answer": answer} for answer in ("yes", "no"))
    truth = AnswerYesNo.with_updated_fields("answer", type_=bool)
    assert [calls[0]["answer"] for calls in shown(truth, [yes], [no])] == [True, False]
    assert [calls[0]["answer"] for calls in shown(truth.with_updated_fields("answer", type_=YesNo), [yes])] == ["yes"]
    assert shown(truth, [CALL]) == [[]]
    none = dspy.Signature("question -> answer").with_updated_fields("answer", type_=str | None)
    assert shown(none, [CALL | {"answer": None}]) == [[{"question": "Q?", "answer": "None"}]]
    acts = none.with_updated_fields("answer", type_=Literal["search", "finish"])
    assert shown(acts, [CALL | {"answer": "search"}], [CALL]) == [[{"question": "Q?", "answer": "search"}], []]
    numbers = none.with_updated_fields("answer", type_=list[int])
    assert shown(numbers, [CALL | {"answer": [1, 4]}]) == [[{"question": "Q?", "answer": [1, 4]}]]


def test_an_answer_is_as_short_as_the_signature_wants_it() -> None:
    long = CALL | {"answer": "Anglican Church of Canada"}
    assert [len(calls) for calls in shown(AnswerInThreeWords, [long], [CALL])] == [0, 1]
    assert [len(calls) for calls in shown(AnswerShort, [long], [CALL])] == [1, 1]


def test_questions_with_several_calls_are_preferred_and_show_them_in_turn() -> None:
    enough = FACTS | {"answer": "Lund", "missing": ""}
    labels = [[CALL, enough], [CALL, enough, FACTS], [CALL], [CALL, enough, FACTS]]
    program = dspy.Predict(DetectMissing)
    made = for_predictors(program, labels, 2)
    assert [(n, call.answer) for n, call in made["self"]] == [(1, "Lund"), (3, "unanswerable")]
    made = for_predictors(program, labels, 3)
    assert [(n, call.answer) for n, call in made["self"]] == [(0, "Lund"), (1, "unanswerable"), (3, "Lund")]
    assert for_predictors(program, [[CALL]], 2) == {"self": []}
