"""What requests hold, read and checked; errors say which part is wrong."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from programs.serving.limits import Limits
from programs.serving.problems import Problem
from retrieval.serving.requests import first_fault, json_body

__all__ = ["form_of"]

Form = TypeVar("Form", bound=BaseModel)


async def form_of(request: Request, form: type[Form], limits: Limits) -> Form:
    """What the body of a request asks for.

    Raises:
        HTTPException: it does not arrive, or is not said to be JSON.
        Problem: it is not of the form.
    """
    body = await json_body(request, limits.arrival)
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        param, fault = first_fault(error)
        raise Problem(400, f"{param}: {fault}" if param else fault, "invalid_request", param=param) from None
