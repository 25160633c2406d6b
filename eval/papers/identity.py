"""What decides how an LM replies: part of a run's identity, and of what is printed beside its figures."""

from collections.abc import Mapping
from typing import Any

import dspy

from eval.runs.ceiling import label
from eval.runs.record import plain
from retrieval.secrets import names_a_secret, without_url_secrets

__all__ = ["adapter_identity", "describe", "lm_identity"]


def lm_identity(lm: dspy.LM | None) -> dict[str, Any] | None:
    """All that decides the LM's replies, without secrets: the model, each generation setting, the server, and what an
    engine of its own says about itself. None without an LM."""
    if lm is None:
        return None
    state = getattr(lm.engine, "dump_state", dict)
    return {"model": lm.model, "model_type": lm.model_type, **_public({**lm.kwargs, **state()})}


def adapter_identity() -> dict[str, Any] | None:
    """The adapter of DSPy's settings and what is set in it; None where DSPy chooses one."""
    return None if dspy.settings.adapter is None else _of_adapter(dspy.settings.adapter)


def _of_adapter(adapter: dspy.Adapter) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in vars(adapter).items():
        if isinstance(value, dspy.Adapter):
            settings[name] = _of_adapter(value)
        elif isinstance(value, bool | int | float | str):
            settings[name] = value
    return {"adapter": type(adapter).__name__, **_public(settings)}


def describe(identity: Mapping[str, Any]) -> str:
    """What `lm_identity` says, in a few words."""
    model = str(identity["model"])
    said = [f"{name} {value}" for name, value in identity.items() if name not in ("model", "model_type")]
    stands_for = label(model)
    if "temperature" not in identity and stands_for == model:
        said.insert(0, "the temperature that is its default")
    return ", ".join([stands_for, *said])


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value, as JSON, without secrets."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if value is None or names_a_secret(name):  # no secret changes a reply
            continue
        shown = plain(value)
        found[name] = _public(shown) if isinstance(shown, dict) else shown
        if isinstance(shown, str):
            found[name] = without_url_secrets(shown)
    return found
