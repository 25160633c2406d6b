"""Describes what compiling changed, predictor by predictor, as plain text."""

import difflib
from collections.abc import Mapping
from typing import Any

import dspy

from eval.figures.summary import Score

__all__ = ["changes"]

_LONGEST = 120  # characters shown of a demonstration's field

_LEGEND = """\
A predictor's part: its own score in percent, with the 95 % interval and the number of questions whose gold tells it.
Selections: F1 of the passages chosen. Statements: F1 of the passages that are cited and do support the statement. What
is missing: whether the answer is right or rightly withheld. The last answer: whether it is right, if the passages state
it. What is searched with: the share of the gold passages that the run found."""


def changes(before: dspy.Module, after: dspy.Module, parts: Mapping[str, tuple[Score | None, Score | None]]) -> str:
    """The score, changed instructions and demonstrations of each predictor, as text that ends without a line break.

    Args:
        before: The program as it was.
        after: The compiled program.
        parts: The score of each predictor before and after, from `optimizers.predictor_metrics`; None if undefined.
    """
    old = dict(before.named_predictors())
    texts = [
        "\n".join(
            [name, f"  part: {_score(parts[name][0])} before, {_score(parts[name][1])} after", *_prompt(old[name], new)]
        )
        for name, new in after.named_predictors()
    ]
    return "\n\n".join([*texts, _LEGEND])


def _score(score: Score | None) -> str:
    if score is None:
        return "-"
    return f"{100 * score.mean:.1f} [{100 * score.low:.1f}, {100 * score.high:.1f}] ({score.n})"


def _prompt(old: Any, new: Any) -> list[str]:
    was, now = old.signature.instructions.splitlines(), new.signature.instructions.splitlines()
    # The first three lines name files and the place.
    diff = [f"  {line}" for line in list(difflib.unified_diff(was, now, lineterm="", n=len(was)))[3:]]
    lines = ["  instructions changed:" if diff else "  instructions as they were", *diff]
    lines.append(f"  {len(new.demos)} demonstration" + "s" * (len(new.demos) != 1) + ":" * bool(new.demos))
    for number, demo in enumerate(new.demos, 1):
        shown = [(field, demo[field]) for field in new.signature.fields if field in demo]
        lines += [f"  {number:>3}. {shown[0][0]}: {_short(shown[0][1])}"] if shown else []
        lines += [f"       {field}: {_short(value)}" for field, value in shown[1:]]
    return lines


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
