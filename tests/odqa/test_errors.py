import logging

import dspy
import pytest

from odqa.errors import line_of
from programs.serving.problems import as_problem

pytestmark = pytest.mark.needs("uvicorn")


def refused(message: str) -> dspy.LMError:
    error = dspy.LMError(message)
    error.status = 999
    return error


def test_a_status_that_the_servers_own_words_leave_out_is_said() -> None:
    assert line_of(refused("no\n  more")) == "no more (HTTP status 999)"
    assert line_of(refused("999 it is")) == "999 it is"
    assert line_of(ValueError("no")) == "no"


def test_the_log_of_the_answers_server_says_it_and_its_client_is_told_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert "999" not in as_problem(refused("no")).message
    assert "no (HTTP status 999)" in caplog.text
