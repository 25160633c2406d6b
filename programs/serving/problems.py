"""What goes wrong with a request, in the form that clients of OpenAI's interface read."""

import traceback
from collections.abc import Mapping
from typing import Any

from dspy.utils.exceptions import LMError
from starlette.responses import Response

from odqa.errors import ShardError, line_of
from odqa.secrets import public
from retrieval import RetrievalError, UsageError
from retrieval.serving.listening import LOG
from retrieval.serving.requests import json_reply

__all__ = ["Problem", "as_problem", "refusal"]

_LONGEST = 500  # characters of a message; some providers' have the prompt in them
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class Problem(Exception):
    """A request is answered with an error.

    Args:
        status: Of HTTP.
        message: For people, without secrets.
        code: For programs.
        headers: Of the reply.
        param: The part of the request that is wrong.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers, self.param = status, message, code, headers, param

    @property
    def body(self) -> dict[str, Any]:
        """What the reply says: ``{"error": {"message", "type", "param", "code"}}``."""
        type_ = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": self.message, "type": type_, "param": self.param, "code": self.code}}


def as_problem(error: BaseException) -> Problem:
    """What a client is told of an error; the log has what only the one who runs the server may see."""
    if isinstance(error, Problem):
        return error
    line = public(line_of(error))[:_LONGEST]
    if isinstance(error, UsageError):
        return Problem(400, line, "invalid_request")
    if isinstance(error, RetrievalError):
        LOG.error("The retriever failed: %s", line)
        told = error.public if isinstance(error, ShardError) else "the retriever failed; the server's log says why"
        return Problem(502, told, "retriever_failed")
    if isinstance(error, LMError):
        LOG.error("The language model failed: %s: %s", type(error).__name__, line)
        return Problem(502, "the language model failed; the server's log says why", "lm_failed")
    LOG.error("A question failed:\n%s", public("".join(traceback.format_exception(error))))
    return Problem(500, "the server failed; its log says why", "failed")


def refusal(problem: Problem) -> Response:
    """The reply that tells the problem."""
    return json_reply(problem.body, problem.status, problem.headers)
