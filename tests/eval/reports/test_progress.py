import io

import pytest
from support.records import a_row
from support.terminal import Terminal

from eval.reports.progress import Progress


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_file_gets_a_line_now_and_then_with_score_cost_rate_and_time_left() -> None:
    file, clock = io.StringIO(), Clock()
    with Progress(10, "em", file=file, clock=clock) as progress:
        for n, error in enumerate([None, "LMError: down", None, None]):
            clock.now += 20
            cost = {"lm_calls": 300, "usd": 0.5}
            scores = {"em": None if error else n % 2}
            progress.on_row(a_row(str(n), scores=scores, error=error, cost=cost))
    assert file.getvalue().splitlines() == [
        "2 of 10 questions, EM 0.0, 1 failed, 600 LM calls, $1.00, 20.0 s/question, 02:40 left",
        "4 of 10 questions, EM 25.0, 1 failed, 1,200 LM calls, $2.00, 20.0 s/question, 02:00 left",
    ]


def test_questions_of_an_earlier_sitting_count_but_not_for_the_rate() -> None:
    file, clock = io.StringIO(), Clock()
    with Progress(100, file=file, clock=clock, earlier=30) as progress:
        for _ in range(30):
            progress.on_row(a_row())
        clock.now = 31
        assert not file.getvalue()
        progress.count(62)
    assert file.getvalue() == "92 of 100 questions, 2.0 questions/s, 00:04 left\n"


def test_an_unknown_price_is_left_out_and_so_is_the_end_of_an_unknown_number_of_questions() -> None:
    file, clock = io.StringIO(), Clock()
    with Progress(None, file=file, clock=clock) as progress:
        clock.now = 40
        progress.on_row(a_row(cost={"lm_calls": 2, "usd": None}))
    assert file.getvalue() == "1 questions, 2 LM calls, 40.0 s/question\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Terminal()
    with Progress(2, "em", file=file) as progress:
        for n in range(2):
            progress.on_row(a_row(str(n), scores={"em": 1}, cost={"lm_calls": 3}))
    last = file.getvalue().split("\r")[-1]
    assert "2/2" in last
    assert "EM 100.0, 6 LM calls" in last
