"""What the clients of HTTP servers have in common: URLs, retries, and how errors show what a server said."""

import random
import re
from base64 import b64encode
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from odqa.errors import UsageError
from odqa.secrets import keep_secret

__all__ = ["TRY_AGAIN", "asked_wait", "one_line", "parse_url", "seconds_to_wait", "status_text"]

TRY_AGAIN = {408, 429, 500, 502, 503, 504}
"""Status codes after which the same request may succeed later."""


def parse_url(url: str, example: str) -> tuple[httpx.URL, tuple[str, str] | None]:
    """The URL without user, password and fragment; and user and password, if there are any.

    Args:
        url: As the caller of the program gave it.
        example: A good URL, for the message of the error.

    Raises:
        UsageError: it is no HTTP URL; the message shows neither its password nor its query.
    """
    try:
        parsed = httpx.URL(url)
        good = parsed.scheme in ("http", "https") and parsed.host and (parsed.port is None or 0 < parsed.port < 2**16)
    except httpx.InvalidURL:
        good = False
    if not good:
        shown = re.sub(r"^(\w+://)?.*@", r"\1", url.partition("?")[0], flags=re.DOTALL)
        raise UsageError(f"{shown!r} is no URL that begins with http:// or https:// and names a host: try {example}")
    auth = (parsed.username, parsed.password) if parsed.userinfo else None
    keep_secret([parsed.password, b64encode(f"{parsed.username}:{parsed.password}".encode()).decode()], named=True)
    return parsed.copy_with(userinfo=b"", fragment=None), auth


def asked_wait(headers: httpx.Headers) -> float:
    """How many seconds the server asks to wait: its Retry-After, a number or a date; 0.0 or less if it does not."""
    value = headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return float(value)
    try:
        wait: float = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # no date, or one without a time zone
        return 0.0
    return wait


def seconds_to_wait(retry: int, backoff: float, asked: float, longest: float) -> float:
    """How long to wait before a retry: longer each time, less a random part so that clients do not all come at once.

    Args:
        retry: The number of the retry, counted from 0.
        backoff: Seconds before the first retry, doubled for each further one, less up to a half.
        asked: What the server asks for, which counts if it is more.
        longest: The most, whatever the server asks for.
    """
    return min(max(asked, backoff * 2.0**retry * random.uniform(0.5, 1)), longest)


def status_text(code: int) -> str:
    """The status with its name, such as "404 Not Found"."""
    return f"{code} {httpx.codes.get_reason_phrase(code)}".strip()


def one_line(value: Any) -> str:
    """What a server or a library said, on one line and not too long, for an error message."""
    return " ".join(str(value).split())[:200]
