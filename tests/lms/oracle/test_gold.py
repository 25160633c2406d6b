import pytest

from lms.oracle.gold import Gold, leads_of


@pytest.mark.parametrize(
    ("answers", "expected"), [(("Yes.", "true"), True), (("no",), False), (("yes", "no"), None), (("Yesterday",), None)]
)
def test_yes_or_no(answers: tuple[str, ...], expected: bool | None) -> None:
    assert Gold("Is it?", answers).yes_no is expected


def test_a_query_can_be_made_of_titles_leads_and_answers_but_not_of_yes_and_no() -> None:
    gold = Gold("Is it?", ("yes",), (("A", "B"), ("C",)), leads=("Who?", "no"))
    assert leads_of(gold) == ["A", "B", "C", "Who?"]
