"""What is said of a run, and of each predictor's part in it, from the gold."""

from typing import Any

import dspy
import pytest

from eval.metrics import em, recall_passages
from optimizers import explained, filter_f1
from retrieval import Passage, number

GOLD = [
    Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx"),
    Passage("2", "Ada Quill was born in Lund .", "Ada Quill"),
]
OTHER = Passage("3", "Zorx is also a game .", "Zorx (game)")
EXAMPLE = dspy.Example(
    question="Where was who found Zorx born?", answers=["Lund"], gold_titles=["Zorx", "Ada Quill"]
).with_inputs("question")


def prediction(**fields: Any) -> dspy.Prediction:
    return dspy.Prediction(
        **{"answer": "Malmö", "queries": ["Zorx q"], "passages": [*GOLD, OTHER], "evidence": GOLD, **fields}
    )


def said(prediction: dspy.Prediction, inputs: dict[str, Any] | None = None, last: bool = False, **outputs: Any) -> str:
    if outputs:
        asked = (None, inputs or {}, dspy.Prediction(**outputs))
        later = (None, {}, dspy.Prediction(answer=prediction.answer))
        judged = explained(em)(EXAMPLE, prediction, [asked] if last else [asked, later], "name", [asked])
    else:
        judged = explained(em)(EXAMPLE, prediction)
    assert judged.score == em(EXAMPLE, prediction)
    return str(judged.feedback)


def test_a_right_answer() -> None:
    assert said(prediction(answer="lund")) == "The final answer 'lund' is right."


def test_an_answer_that_is_right_but_too_long() -> None:
    feedback = said(prediction(answer="in Lund"))
    assert feedback.startswith("The final answer should be 'Lund', but was 'in Lund', and it is to stand alone.")


def test_a_run_found_too_little_dropped_what_it_found_and_kept_what_it_should_not() -> None:
    feedback = said(prediction(passages=[GOLD[0], OTHER], evidence=[OTHER]))
    assert "No query found these passages, which are needed: Ada Quill." in feedback
    assert "These passages are needed and were dropped: Zorx." in feedback
    assert "These passages are not needed and were kept: Zorx (game)." in feedback
    assert "did state it" not in feedback


def test_an_answer_in_the_evidence_that_was_not_taken() -> None:
    assert said(prediction()).endswith("The evidence did state it, but the answer was not taken from there.")


def test_a_filter_that_dropped_everything() -> None:
    assert "needed and were dropped: Ada Quill; Zorx." in said(prediction(evidence=[]))


def test_yes_or_no_stands_in_no_text() -> None:
    example = EXAMPLE.copy(answers=["no"])
    asked = (None, {"context": number(GOLD)}, dspy.Prediction(answer=True))
    judged = explained(em)(example, prediction(answer="yes"), [asked], "answer.predict", [asked])
    assert judged.feedback == "The final answer should be 'no', but was 'yes'."


def test_a_program_that_reports_an_answer_alone() -> None:
    assert said(dspy.Prediction(answer="Malmö")) == "The final answer should be 'Lund', but was 'Malmö'."


def test_citations_of_a_run_that_do_not_hold() -> None:
    facts = [
        {"fact": "Ada Quill was born in Lund .", "passages": ["2"]},
        {"fact": "Zorx weighs nine tons .", "passages": ["1"]},
        {"fact": "Lund is in Sweden .", "passages": ["lm:knowledge-1"]},
    ]
    knowledge = [Passage("lm:knowledge-1", "Lund is in Sweden .")]
    feedback = said(prediction(known_facts=facts, evidence=[], knowledge=knowledge))
    assert "Sweden" not in feedback
    assert "'Zorx weighs nine tons .' does not follow from the passages cited for it." in feedback
    assert "born in Lund .' does not" not in feedback


def test_a_query_whose_passages_were_found_and_not_read() -> None:
    feedback = said(prediction(), {"context": number([GOLD[0]])}, queries=["Zorx q"])
    assert "These passages are needed and were found, but too far down to be read: Ada Quill." in feedback


def test_a_predictor_whose_text_was_searched_with() -> None:
    incomplete = prediction(queries=["It was Bo Quill. Where?"], passages=[GOLD[0]])
    feedback = said(incomplete, passage="It was Bo Quill.")
    assert "the queries were 'It was Bo Quill. Where?'." in feedback
    assert "No query found these passages, which are needed: Ada Quill." in feedback
    # One whose text went nowhere has no part in it.
    assert "searched" not in said(incomplete, topic="planets")
    assert "searched" not in said(incomplete, last=True, passage="It was Bo Quill.")
    found = prediction(queries=["It was Bo Quill. Where?"])
    assert "all the passages that are needed were found" in said(found, passage="It was Bo Quill.")


def test_a_filter() -> None:
    shown = {"context": number([OTHER, *GOLD]), "question": "?"}
    feedback = said(prediction(), shown, relevant=[1, 3, 9])
    assert "Of the numbered passages 2, 3 are relevant." in feedback
    assert "needed and were dropped: [2] Zorx." in feedback
    assert "not needed and were kept: [1] Zorx (game)." in feedback
    assert "No passage has the number 9." in feedback
    assert "None of the numbered passages is relevant." in said(prediction(), {"context": number([OTHER])}, relevant=[])
    perfect = said(prediction(answer="Lund"), shown, relevant=[2, 3])
    assert perfect == "The final answer 'Lund' is right. Of the numbered passages 2, 3 are relevant."


def test_statements_and_their_citations() -> None:
    shown = {"context": number(GOLD), "question": "?"}
    statements = [
        {"statement": "Zorx is a planet found by Ada Quill .", "passages": [1]},
        {"statement": "Nothing else is known .", "passages": [7]},
    ]
    feedback = said(prediction(), shown, statements=statements)
    assert "'Nothing else is known .' cites no passage that there is." in feedback
    assert "needed, and nothing was taken from them: [2] Ada Quill." in feedback
    assert "found by Ada Quill .' does not" not in feedback


@pytest.mark.parametrize(
    ("facts", "answer", "expected"),
    [
        (GOLD, "unanswerable", "Nothing was missing: the known facts state 'Lund'."),
        (GOLD[:1], "unanswerable", "Rightly so: the known facts do not state 'Lund'."),
        (GOLD[:1], "Malmö", "information was missing, and it was not asked for."),
        (GOLD[:1], "It is not said, but it is Malmö.", "information was missing, and it was not asked for."),
        (GOLD, "Malmö", "The known facts did state it, but the answer was not taken from there."),
    ],
)
def test_whether_missing_information_was_missing(facts: list[Passage], answer: str, expected: str) -> None:
    assert said(prediction(), {"facts": number(facts)}, answer=answer, missing="Where?").endswith(expected)


def test_an_answering_predictor() -> None:
    assert said(prediction(), {"context": number(GOLD)}, answer="Malmö").endswith(
        "The passages did state it, but the answer was not taken from there."
    )
    assert said(prediction(), {"context": number([OTHER])}, answer="Malmö").endswith(
        "The passages do not state 'Lund'."
    )


def test_an_undefined_metric_scores_nothing() -> None:
    assert explained(recall_passages)(EXAMPLE, dspy.Prediction(answer="Lund")).score == 0.0


def test_the_score_of_the_filter_alone() -> None:
    assert filter_f1(EXAMPLE, prediction()) == 1.0
    assert filter_f1(EXAMPLE, prediction(evidence=[GOLD[0], OTHER])) == 0.5
    assert filter_f1(EXAMPLE, prediction(evidence=[])) == 0.0
    # What was never found is not the filter's fault.
    assert filter_f1(EXAMPLE, prediction(passages=[GOLD[0], OTHER], evidence=[GOLD[0]])) == 1.0
    assert filter_f1(EXAMPLE, prediction(passages=[OTHER], evidence=[])) is None
    assert filter_f1(EXAMPLE, dspy.Prediction(answer="Lund")) is None
