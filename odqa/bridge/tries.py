"""One try at an LM call: whether its reply is one, and when and how the next try is made."""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from dspy.lm15 import RETRYABLE_ERRORS, ProviderError, RateLimitError, Response
from dspy.lm15 import TimeoutError as LateError
from dspy.utils.exceptions import is_retryable_lm_error

from odqa.bridge.calls import Watcher
from odqa.bridge.notices import note_cut_off

__all__ = ["in_a_thread", "pause", "wait", "whole"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

_LONGEST_WAIT = 60.0  # seconds that a server may ask us to wait
_SAID = 5.0  # seconds of waiting from which on it is said


def whole(response: Response) -> Response:
    """The response, if it is a completion.

    Raises:
        ProviderError: it is none. lm15 makes an empty text of JSON that has no choices or no message, such as a
            gateway's; that is no answer of an LM.
    """
    if not isinstance(response, Response):
        raise TypeError(f"an engine's complete returns a dspy.lm15.Response, not {type(response).__name__}")
    note_cut_off(response)
    data = response.provider_data
    if response.text or response.tool_calls or not isinstance(data, dict):
        return response
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    said = isinstance(first, dict) and isinstance(first.get("message") or first.get("text"), dict | str)
    if (
        not said
        and not data.get("output")
        and not data.get("content")
        and not data.get("candidates")
        and "usd" not in data
    ):
        raise ProviderError("the server's reply is no completion: it has no message")
    return response


def wait(error: Exception, attempt: int, retries: int, ends: float) -> float:
    """Seconds until the next try.

    Raises:
        Exception: the error, where there is no next try; or one that says for how long the server wants to be left
            alone.
    """
    if attempt >= retries or not (isinstance(error, RETRYABLE_ERRORS) or is_retryable_lm_error(error)):
        raise error
    asked = getattr(error, "retry_after", None)
    seconds = float(min(2 ** min(attempt, 6), 60)) if asked is None else float(asked)
    left = ends - time.monotonic()
    if asked is not None and seconds > min(_LONGEST_WAIT, left):
        bound = f"{_LONGEST_WAIT:g} s" if seconds > _LONGEST_WAIT else "the time left for the call"
        raise RateLimitError(f"the server asks to wait {seconds:g} s (Retry-After), more than {bound}") from error
    if seconds > left:
        raise error
    if seconds > _SAID:
        asks = "the server asks for it (Retry-After)" if asked is not None else f"{type(error).__name__}"
        logger.warning("waiting %g s before the LM is asked again: %s", seconds, asks)
    return seconds


def pause(seconds: float, told: tuple[Watcher, ...]) -> None:
    stopping = next((watcher.stopping for watcher in told if watcher.stopping), None)
    if stopping is None:
        time.sleep(seconds)
    else:
        stopping.wait(seconds)


def in_a_thread(make: Callable[[], T], ends: float) -> T:
    """Make the call in a thread of its own, which is left behind when the time is over or somebody interrupts."""
    outcome: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((True, make()))
        except BaseException as error:  # whatever it is, the caller is to have it
            outcome.put((False, error))

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    try:
        done, value = outcome.get(timeout=max(0.0, ends - time.monotonic()))
    except Empty:
        raise LateError("it has not answered") from None
    if done:
        return value  # type: ignore[no-any-return]
    raise value
