"""What compiling changed, predictor by predictor, as plain text."""

import difflib
from typing import Any

import dspy

__all__ = ["changes"]

_LONGEST = 120  # characters shown of a demonstration's field


def changes(before: dspy.Module, after: dspy.Module) -> str:
    """Each predictor's instructions as a diff, and its demonstrations with their fields; ends without a line break."""
    old = dict(before.named_predictors())
    return "\n\n".join(_predictor(name, old[name], new) for name, new in after.named_predictors())


def _predictor(name: str, old: Any, new: Any) -> str:
    was, now = old.signature.instructions.splitlines(), new.signature.instructions.splitlines()
    # The first three lines are the names of files and the place.
    diff = [f"  {line}" for line in list(difflib.unified_diff(was, now, lineterm="", n=len(was)))[3:]]
    lines = [name, "  instructions changed:" if diff else "  instructions as they were", *diff]
    lines.append(f"  {len(new.demos)} demonstrations" + (":" if new.demos else ""))
    for number, demo in enumerate(new.demos, 1):
        shown = [(field, demo[field]) for field in new.signature.fields if field in demo]
        lines += [f"  {number:>3}. {shown[0][0]}: {_short(shown[0][1])}"] if shown else []
        lines += [f"       {field}: {_short(value)}" for field, value in shown[1:]]
    return "\n".join(lines)


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
