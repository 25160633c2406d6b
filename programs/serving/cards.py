"""The card of a method: what it is, where it comes from, what a question costs and what can be set, as Markdown."""

import inspect
from collections.abc import Mapping
from typing import Any

import dspy

__all__ = ["card"]


def card(made_with: type[dspy.Module], described: Mapping[str, Any]) -> str:
    """The card of a method.

    Args:
        made_with: Its class, whose docstring and module's docstring say what it does.
        described: What clients are told of it: see `programs.serving.methods.Methods.described`.
    """
    module = inspect.getdoc(inspect.getmodule(made_with)) or ""
    what, _, _ = (inspect.getdoc(made_with) or "").partition("\nArgs:\n")
    settings = [_setting(setting) for setting in described["settings"]]
    return "\n\n".join([f"# {described['name']}", module, what.strip(), "## Settings", "\n".join(settings)]) + "\n"


def _setting(setting: Mapping[str, Any]) -> str:
    values = ", ".join(map(repr, setting.get("choices", ()))) or setting["type"]
    return f"- `{setting['name']}` ({values}; default {setting['default']!r}): {setting['help']}."
