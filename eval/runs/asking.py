"""How an LM is asked: what decides its replies, in the one form in which every record of a run has it."""

from dataclasses import dataclass
from typing import Any

import dspy

from eval.records.record import plain
from eval.records.standing import label, standing
from odqa.bridge import unbound
from odqa.secrets import public
from programs.instruments.adapters import adapter_name

__all__ = ["Asking", "draws", "how_asked"]

_USUAL = {"model_type": "chat", "use_developer_role": False}  # arguments of dspy.LM that it keeps apart from the others


@dataclass(frozen=True, slots=True)
class Asking:
    """All that decides an LM's replies but the seed, without secrets: two runs that differ here are different."""

    lm: str
    """The name of the model."""
    api_base: str | None
    """The address of its server; None for the provider's own, and where there is none."""
    adapter: str
    """chat, json or xml; another adapter by its own name."""
    structured: str | None
    """See `programs.instruments.adapters.Structured`; None for an adapter that is not from there."""
    temperature: float | None
    """None for the default of the provider or of the engine; likewise `max_tokens`."""
    max_tokens: int | None
    """Tokens after which a reply is cut off."""
    lm_args: dict[str, Any]
    """Every other setting that the LM was given, and what an engine of its own says about itself; as JSON."""

    def __str__(self) -> str:
        said = {"temperature": self.temperature, "max_tokens": self.max_tokens, "api_base": self.api_base}
        known = [f"{name} {value}" for name, value in {**said, **self.lm_args}.items() if value is not None]
        name = label(self.lm)
        if self.temperature is None and name == self.lm:
            known.insert(0, "the temperature that is its default")
        return ", ".join([name, *known])


def how_asked(lm: dspy.LM) -> Asking:
    """How programs ask this LM with the adapter of DSPy's settings."""
    adapter, lm = dspy.settings.adapter, unbound(lm)
    engine: dict[str, Any] = getattr(lm.engine, "dump_state", dict)()
    apart = {name: value for name, usual in _USUAL.items() if (value := getattr(lm, name)) != usual}
    known = public(plain({**lm.kwargs, **engine, **apart}))  # no secret changes a reply
    return Asking(
        lm=lm.model,
        api_base=known.pop("api_base", None),
        adapter=adapter_name(adapter),
        structured=getattr(adapter, "structured", None),
        temperature=known.pop("temperature", None),
        max_tokens=known.pop("max_tokens", None),
        # The rollout id is the run's seed, no time-out changes a reply, and a local model has the name of the LM.
        lm_args={n: value for n, value in known.items() if n not in ("rollout_id", "timeout") and value != lm.model},
    )


def draws(lm: dspy.LM) -> bool:
    """Whether another seed may give other replies. At temperature 0, a local model's default, it does not."""
    lm = unbound(lm)
    if what := standing(lm.model):
        return what == "ceiling" and lm.model.startswith("oracle/error-rate")
    temperature = lm.kwargs.get("temperature")
    return isinstance(lm.engine, str) if temperature is None else temperature > 0
