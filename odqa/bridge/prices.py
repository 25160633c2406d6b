"""What replies cost: by DSPy's price list, or as the engine that gave them states it."""

from math import fsum
from typing import Any

import dspy
from dspy.clients.capabilities import resolve
from dspy.clients.costs import estimate_cost
from dspy.lm15 import LM15Error, Message, Request, Response, TextPart, Usage

__all__ = ["price", "priced_as", "usd_of"]


def usd_of(server: Any, request: Request, response: Response) -> float | None:
    """US dollars for a reply: `usd` in its provider data, else by DSPy's price list; None where neither has it."""
    data = response.provider_data
    if isinstance(data, dict) and isinstance(stated := data.get("usd"), int | float):
        return float(stated)
    if server.provider is None:
        return None
    usd, _ = estimate_cost(
        response,
        provider=server.provider,
        requested_model=server.wire_model,
        request=request,
        namespaces=server.namespaces,
    )
    return usd  # type: ignore[no-any-return]


def price(lm: dspy.LM, input_tokens: float, output_tokens: float) -> float | None:
    """US dollars for so many tokens, by DSPy's price list or the engine's `usd_per_token`; None if neither has it."""
    if front := getattr(lm.engine, "own", None):
        lm = front.lm
    if not isinstance(lm.engine, str):
        rate = getattr(lm.engine, "usd_per_token", None)
        return None if rate is None else fsum([rate * input_tokens, rate * output_tokens])
    provider, model, namespaces = priced_as(lm)
    tokens = round(input_tokens), round(output_tokens)
    usage = Usage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens))
    message = Message.assistant([TextPart("")])
    response = Response(id=None, model=model, message=message, finish_reason="stop", usage=usage)
    usd, _ = estimate_cost(response, provider=provider, requested_model=model, namespaces=namespaces)
    return usd  # type: ignore[no-any-return]


def priced_as(lm: dspy.LM) -> tuple[str, str, tuple[str, ...] | None]:
    """The provider and the model under which DSPy's price list has an LM, and for a registered provider where to
    look."""
    try:
        route = resolve(lm)
    except LM15Error:  # LiteLLM has the LM, and the price list is by its names
        provider, _, model = lm.model.partition("/")
        return provider, model or lm.model, None
    bound = next((known for known in getattr(lm, "_providers", ()) if known.id == route.provider), None)
    return route.provider, route.model, bound.metadata_namespaces if bound else None
