"""Reads a list of passages, or of their ids, from a prediction."""

from typing import Any

from dspy import Prediction

from retrieval import Passage

__all__ = ["ranking"]


def ranking(prediction: Prediction, *fields: str) -> list[Passage] | None:
    """The passages in the first of these fields that the prediction has; None if it has none of them.

    The field is a list of passages, or of ids that are looked up in the prediction's `passages`. The result is also
    None if the field holds anything else.
    """
    field = next((field for field in fields if isinstance(prediction.get(field), list)), None)
    if field is None:
        return None
    known = {passage.id: passage for passage in prediction.get("passages") or () if isinstance(passage, Passage)}
    found: list[Any] = [known.get(item) if isinstance(item, str) else item for item in prediction[field]]
    return found if all(isinstance(passage, Passage) for passage in found) else None
