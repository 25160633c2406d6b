from support.records import a_row

from eval.papers.reported import reported


def test_the_fields_of_the_questions_that_have_a_result() -> None:
    rows = [
        a_row("1", prediction={"answer": "Rome", "own": {"external_tokens": 7}}),
        a_row("2", error="LMError: no"),
        a_row("3", prediction={"answer": "Rome"}),
    ]
    assert reported(rows) == [{"external_tokens": 7}, {}]
