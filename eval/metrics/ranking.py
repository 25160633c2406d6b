from typing import Any

from dspy import Prediction

from retrieval import Passage

__all__ = ["ranking"]


def ranking(prediction: Prediction, *fields: str) -> list[Passage] | None:
    """The passages that the first of these fields holds that the prediction has; None where it has none of them.

    The field is a list of passages, or of their ids, which are looked up in the prediction's `passages`. One that holds
    anything else is none.
    """
    field = next((field for field in fields if isinstance(prediction.get(field), list)), None)
    if field is None:
        return None
    known = {passage.id: passage for passage in prediction.get("passages") or () if isinstance(passage, Passage)}
    found: list[Any] = [known.get(item) if isinstance(item, str) else item for item in prediction[field]]
    return found if all(isinstance(passage, Passage) for passage in found) else None
