"""What decides how an LM replies: part of a run's identity, and of what is printed beside its figures."""

from collections.abc import Mapping
from typing import Any

import dspy

from eval.runs.ceiling import label
from eval.runs.record import plain
from eval.runs.runner import without_url_secrets

__all__ = ["adapter_identity", "describe", "lm_identity"]

_SECRET = ("key", "token_provider", "secret", "password", "credential", "headers")
"""Parts of the names of arguments that may hold secrets, none of which changes a reply."""


def lm_identity(lm: dspy.LM | None) -> dict[str, Any] | None:
    """All that decides the LM's replies, without secrets: the model, each generation setting, the server, and what an
    engine of its own says about itself. None without an LM."""
    if lm is None:
        return None
    settings = {name: value for name, value in lm.kwargs.items() if not any(part in name for part in _SECRET)}
    state = getattr(lm.engine, "dump_state", dict)
    return {"model": lm.model, "model_type": lm.model_type, **_plain(settings), **_plain(state())}


def adapter_identity() -> dict[str, Any] | None:
    """The adapter of DSPy's settings and what is set in it; None where DSPy chooses one."""
    adapter = dspy.settings.adapter
    if adapter is None:
        return None
    settings = {name: value for name, value in vars(adapter).items() if isinstance(value, bool | int | float | str)}
    return {"adapter": type(adapter).__name__, **_plain(settings)}


def describe(identity: Mapping[str, Any]) -> str:
    """What `lm_identity` says, in a few words."""
    model = str(identity["model"])
    said = [f"{name} {value}" for name, value in identity.items() if name not in ("model", "model_type")]
    stands_for = label(model)
    if "temperature" not in identity and stands_for == model:
        said.insert(0, "the temperature that is its default")
    return ", ".join([stands_for, *said])


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value, as JSON, without secrets in addresses."""
    found = {name: plain(value) for name, value in settings.items() if value is not None}
    return {name: without_url_secrets(value) if isinstance(value, str) else value for name, value in found.items()}
