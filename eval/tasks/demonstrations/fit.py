"""Finds, for each predictor of a program, the labelled calls that fit it."""

from collections.abc import Sequence
from typing import Any

import dspy

from eval.tasks.demonstrations.calls import Call
from odqa.bridge import parse_value
from signatures.answer import THREE_WORDS

__all__ = ["fitting", "for_predictors"]


def fitting(signature: type[dspy.Signature], labels: Sequence[Sequence[Call]]) -> list[list[dspy.Example]]:
    """The labelled calls that fit the signature, question by question, as demonstrations.

    A call fits if it has all of the signature's fields, with values that their types can read: DSPy would show the LM a
    remark in place of a missing output, and small models copy that. An answer that the signature wants in at most three
    words has no more. The first call of a question may have more fields; another one must have exactly the signature's,
    reasoning apart.

    Args:
        signature: The predictor's.
        labels: The calls of each question, from `eval.tasks.demonstrations.calls.labelled_calls`.

    Returns:
        A list for each question, which may be empty.
    """
    fields = set(signature.fields)
    shown = []
    for first, *others in labels:
        exact = [call for call in others if {*call, "reasoning"} == {*fields, "reasoning"}]
        demonstrations = [_shown(signature, call) for call in [first, *exact] if fields <= set(call)]
        shown.append([demonstration for demonstration in demonstrations if demonstration is not None])
    return shown


def for_predictors(
    program: dspy.Module, labels: Sequence[Sequence[Call]], count: int
) -> dict[str, list[tuple[int, dspy.Example]]]:
    """The demonstrations of each predictor: the first `count` questions that have a call for it, one call of each.

    A question can give a predictor several calls, such as one with enough facts and one without. Such questions are
    preferred if there are enough of them, and the demonstrations then show the calls in turn.

    Returns:
        By the predictor's name, the number of the question, from 0, and the demonstration. Predictors that the method's
        paper shows no demonstrations (`zero_shot` of the program's class) have none.
    """
    made: dict[str, list[tuple[int, dspy.Example]]] = {}
    for name, predictor in program.named_predictors():
        if name.partition(".")[0] in getattr(type(program), "zero_shot", ()):
            made[name] = []
            continue
        fit = {n: calls for n, calls in enumerate(fitting(predictor.signature, labels)) if calls}
        most = max(map(len, fit.values()), default=0)
        several = {n: calls for n, calls in fit.items() if len(calls) == most}
        chosen = list((several if len(several) >= count else fit).items())[:count]
        made[name] = [(n, calls[turn % len(calls)]) for turn, (n, calls) in enumerate(chosen)]
    return made


def _shown(signature: type[dspy.Signature], call: Call) -> dspy.Example | None:
    """The call as a demonstration; None if a field's type cannot read its value, or it is too long."""
    try:
        return dspy.Example({name: _value(call[name], field) for name, field in signature.fields.items()})
    except ValueError:
        return None


def _value(value: Any, field: Any) -> Any:
    """The value as the field's type reads it: an answer "yes" is True for a truth value."""
    if THREE_WORDS in field.json_schema_extra["desc"] and len(value.split()) > 3:
        raise ValueError(f"not {THREE_WORDS}: {value}")
    read = parse_value(value, field.annotation)
    if isinstance(value, list):
        return value  # DSPy saves lists of plain values as they are
    return "None" if read is None else read  # for DSPy, None itself is a field that is not supplied
