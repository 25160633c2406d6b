"""Checks of a method's settings, from their annotations."""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from retrieval import UsageError

__all__ = ["Count", "Share", "Temperature", "check", "checked"]

P = ParamSpec("P")
Self = TypeVar("Self")

Count = Annotated[int, Field(ge=1)]
"""A setting that counts something: at least 1."""

Temperature = Annotated[float, Field(ge=0)]
"""A sampling temperature: 0 or more."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A setting from 0 to 1, such as a probability."""

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)


def checked(init: Callable[Concatenate[Self, P], None]) -> Callable[Concatenate[Self, P], None]:
    """Decorates the `__init__` of a method, to check the keyword-only settings by their annotations.

    Raises:
        UsageError: as `check`.
    """

    @functools.wraps(init)
    def __init__(self: Self, *args: P.args, **kwargs: P.kwargs) -> None:
        check(init, type(self).__name__, kwargs)
        init(self, *args, **kwargs)

    return __init__  # type: ignore[return-value]  # mypy asks for a named self


def check(init: Callable[..., None], method: str, settings: Mapping[str, Any]) -> None:
    """Check settings of a method by the annotations of its `__init__`; what is no setting of it is passed over.

    Raises:
        UsageError: a setting has another type than its annotation, or a value that this does not allow. The message
            names the setting and what it can be.
    """
    for name, adapter in _adapters(init).items():
        if name not in settings:
            continue
        value = settings[name]
        try:
            adapter.validate_python(value.item() if isinstance(value, np.generic) else value)
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Input should be ")
            reason = reason.replace("greater than or equal to", "at least").replace("greater than", "above")
            raise UsageError(f"{method}: {name} must be {reason}, not {settings[name]!r}") from None


@functools.cache
def _adapters(init: Callable[..., None]) -> dict[str, TypeAdapter[Any]]:
    hints = typing.get_type_hints(init, include_extras=True)
    parameters = inspect.signature(init).parameters.values()
    return {p.name: TypeAdapter(hints[p.name], config=_STRICT) for p in parameters if p.kind is p.KEYWORD_ONLY}
