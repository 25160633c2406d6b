"""What the figures of an LM stand for: those of a language model, or the ceiling or the floor of a method."""

from typing import Literal

__all__ = ["Standing", "label", "meaning", "standing"]

Standing = Literal["", "ceiling", "floor"]
"""What an LM's figures stand for: those of a language model, of the oracle, or of the extractive reader."""

_STANDINGS: dict[str, Standing] = {"oracle/": "ceiling", "extractive/": "floor"}  # by how the LM's name begins
_MEANINGS = {"": "language model", "ceiling": "ceiling (oracle LM)", "floor": "floor (extractive reader, no LM)"}


def standing(model: str) -> Standing:
    """What the figures of an LM stand for, by its name."""
    return next((standing for start, standing in _STANDINGS.items() if model.startswith(start)), "")


def meaning(standing: Standing) -> str:
    """A standing in words."""
    return _MEANINGS[standing]


def label(model: str) -> str:
    """The name of an LM. The oracle and the extractive reader are followed by what their figures stand for."""
    what = standing(model)
    return f"{model} = {meaning(what)}" if what else model
