"""What clients of HTTP servers have in common."""

import httpx
import pytest

from odqa.http import asked_wait, one_line, parse_url, seconds_to_wait, status_text
from retrieval import UsageError


def test_user_and_password_are_taken_out_of_the_url() -> None:
    url, auth = parse_url("http://me:s%203cret@host:8893/api?index=wiki#part", "")
    assert (str(url), auth) == ("http://host:8893/api?index=wiki", ("me", "s 3cret"))
    assert parse_url("https://host", "")[1] is None


@pytest.mark.parametrize(
    "url",
    [
        "", "127.0.0.1:8893", "ftp://host/", "http://me:s3cret@", "http://me:s3cret@host:99999", "me:s3cret@host",
        "http://me:s3cret@ho\nst", "x?key=s3cret",
    ],
)  # fmt: skip
def test_a_malformed_url_is_a_usage_error_that_shows_no_secret(url: str) -> None:
    with pytest.raises(UsageError, match=r"is no URL that .*: try http://example$") as caught:
        parse_url(url, "http://example")
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("7", 7, 7),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 10**9, 10**10),
        ("Thu, 01 Jan 1970 00:00:00 GMT", -(10**10), 0),
        ("soon", 0, 0),
    ],
)
def test_servers_ask_to_wait_in_seconds_or_until_a_date(value: str, least: float, most: float) -> None:
    assert least <= asked_wait(httpx.Headers({"Retry-After": value})) <= most
    assert asked_wait(httpx.Headers()) == 0


def test_waits_grow_up_to_a_limit() -> None:
    for retry in range(8):
        assert min(2**retry / 2, 30) <= seconds_to_wait(retry, 1.0, 0.0, 30.0) <= min(2**retry, 30)
    assert seconds_to_wait(0, 1.0, 7.0, 30.0) == 7.0
    assert seconds_to_wait(0, 1.0, 9999.0, 30.0) == 30.0


def test_what_is_said_fits_a_line() -> None:
    assert one_line("a\n b\t" + "c" * 1000) == "a b " + "c" * 196
    assert status_text(404) == "404 Not Found"
    assert status_text(999) == "999 (a status that HTTP does not name)"
