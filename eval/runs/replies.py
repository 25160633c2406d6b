"""Replies of LMs as DSPy's cache holds them, which a run records: in the form of DSPy's own engines, or of LiteLLM."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dspy.clients.call_result import CACHE_FORMAT, attributes
from dspy.clients.legacy_outputs import plain
from pydantic import BaseModel, Field

from programs.instruments.cost import REPLAYED, stated_price

__all__ = ["again", "check", "is_nothing", "recorded", "texts", "usd"]


class _Said(BaseModel):
    """An answer of an LM; that of a model that completes text is `text`."""

    text: str | None = None
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    tool_calls: list[Any] | None = None


class _Native(BaseModel):
    """A reply in the form of DSPy's own engines, as far as it is read here."""

    responses: list[dict[str, Any]]
    outputs: list[str | _Said | None]
    response_model: str | None
    cost: float | None = Field(ge=0, allow_inf_nan=False)
    cost_details: dict[str, Any]


class _Choice(_Said):
    message: _Said | None = None


class _LiteLLM(BaseModel):
    """Likewise, in that of LiteLLM."""

    choices: list[_Choice] | None = None


def check(reply: Mapping[str, Any]) -> None:
    """Check that `again` and `texts` can read the reply.

    Raises:
        ValidationError: it is in neither form.
    """
    (_Native if _is_native(reply) else _LiteLLM).model_validate(reply)


def recorded(value: Any) -> dict[str, Any]:
    """What DSPy puts into its cache, as JSON."""
    if isinstance(value, dict):
        return value
    price = getattr(value, "_hidden_params", {}).get("response_cost")
    return {**plain(value), "_hidden_params": {"response_cost": price}}


def again(reply: Mapping[str, Any], *, replayed: bool) -> dict[str, Any]:
    """The recorded reply, in the form that DSPy expects from its cache; if it is not `replayed`, it was free."""
    mark = {REPLAYED if replayed else "cache_hit": True}
    if _is_native(reply):
        return {**reply, "cost_details": {**reply["cost_details"], **mark}}
    return attributes({**reply, **mark})  # type: ignore[no-any-return]


def usd(reply: Mapping[str, Any]) -> float | None:
    """What it cost, in US dollars; None where the price is unknown."""
    price: float | None
    if not _is_native(reply):
        price = reply["_hidden_params"]["response_cost"]
    elif (price := reply["cost"]) is None:
        price = stated_price(response.get("provider_data") for response in reply["responses"])
    return price


def texts(reply: Mapping[str, Any]) -> list[str]:
    """What was said, one text for each answer that was drawn; what an LM thought before comes first."""
    if _is_native(reply):
        said = _outputs(reply)
    else:
        messages = [choice.get("message") or choice for choice in reply.get("choices") or ()]
        said = [{"text": message.get("content"), **message} for message in messages]
    parts = [[each.get("reasoning_content"), each.get("text"), each.get("tool_calls")] for each in said]
    return ["\n\n".join(part if isinstance(part, str) else json.dumps(part) for part in of if part) for of in parts]


def is_nothing(reply: Mapping[str, Any]) -> bool:
    """Whether it has neither an answer nor usage."""
    if not _is_native(reply):
        return not reply.get("choices") and not reply.get("output")
    return not reply["usage"] and not any(output["text"] or "tool_calls" in output for output in _outputs(reply))


def _is_native(reply: Mapping[str, Any]) -> bool:
    return bool(reply.get("_dspy_format") == CACHE_FORMAT)


def _outputs(reply: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The answers in a reply of DSPy's own form; one that is text alone has no other parts."""
    return [output if isinstance(output, dict) else {"text": output} for output in reply["outputs"]]
