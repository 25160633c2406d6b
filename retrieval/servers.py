"""Asking the servers that passages are on, within bounds of time and size, and again where that may help."""

import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from odqa.deadlines import until
from odqa.errors import RetrievalError, UsageError
from odqa.http import LargeReply, bounded, one_line, seconds_to_wait, status_text

__all__ = ["Again", "Server"]

_LARGEST_REPLY = 64 * 2**20  # bytes
_LONGEST_WAIT = 30.0  # seconds between two attempts, whatever the server asks for

_T = TypeVar("_T")


class Again(Exception):
    """Why an attempt failed that may succeed later, and how many seconds the server asks to wait."""

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class Server:
    """A server, and how it is asked.

    Args:
        kind: What speaks there, such as "Qdrant".
        shown: Its URL without secrets.
        start: What to do where none answers, for the message.
        timeout: Seconds that an attempt may take, with redirects and until the whole reply is there.
        retries: How often to try again after a failed connection, a timeout, a reply that breaks off, or a status
            408, 429, 500, 502, 503 or 504.
        backoff: Seconds before the first retry, doubled for each further one, less a random part of up to a half. If
            the server asks for more (Retry-After), that counts; never more than 30.

    Raises:
        UsageError: a setting is out of range.
    """

    def __init__(self, kind: str, shown: str, *, start: str = "", timeout: float, retries: int, backoff: float) -> None:
        if not (timeout > 0 and retries >= 0 and backoff >= 0):
            raise UsageError(
                f"timeout must be above 0, retries and backoff 0 or more, not {timeout}, {retries}, {backoff}"
            )
        self.shown = shown
        self._kind, self._start = kind, start
        self._timeout, self._retries, self._backoff = timeout, retries, backoff

    def bound(self, client: httpx.Client) -> httpx.Client:
        """The client, which waits no longer for what `ask` asks by it, and reads replies of 64 MiB at most."""
        return bounded(client, _LARGEST_REPLY)

    def ask(self, attempt: Callable[[], _T]) -> _T:
        """What an attempt gives, which raises `Again` where it may succeed later.

        Raises:
            RetrievalError: the server is down or too slow, or sends too much; and what an attempt raises.
        """
        problem, wait = "", 0.0
        for number in range(self._retries + 1):
            if number:
                time.sleep(seconds_to_wait(number - 1, self._backoff, wait, _LONGEST_WAIT))
            wait = 0.0
            try:
                with until(time.monotonic() + self._timeout):
                    return attempt()
            except Again as error:
                problem, wait = str(error), error.wait
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = f"no {self._kind} server answers at {self.shown} ({one_line(error)}){self._start}"
            except httpx.TimeoutException:
                problem = f"the server at {self.shown} did not answer within {self._timeout:g} s"
            except httpx.TransportError as error:
                problem = f"the server at {self.shown} broke off ({one_line(error)})"
            except LargeReply as error:
                raise RetrievalError(f"the server at {self.shown} {error}") from error
            except httpx.RequestError as error:
                raise RetrievalError(f"the server at {self.shown} answers nonsense ({one_line(error)})") from error
        raise RetrievalError(problem)

    def refusal(self, status: int, reason: str) -> str:
        """What to say of a reply with such a status, for which the server may give a reason."""
        return f"the server at {self.shown} answers {status_text(status)}" + (f": {reason}" if reason else "")
