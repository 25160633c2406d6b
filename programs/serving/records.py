"""What a question came to."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from programs.instruments.cost import Cost
from programs.instruments.live import PassageShown, Prompt, Step

__all__ = ["Record"]


class Record(BaseModel):
    """What a question came to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    """As the method was asked."""
    method: str
    settings: dict[str, Any]
    """All of them, by name."""
    retriever: str
    """Its name; none for closed book."""
    lm: str
    answer: str
    """Empty where there is none."""
    note: str | None
    """Where there is no answer, what to say instead."""
    steps: tuple[Step, ...]
    passages: dict[str, PassageShown]
    """All that were found, by id."""
    cost: Cost
    prompts: tuple[Prompt, ...] | None
    """Where they were asked for, in the order in which the calls ended."""
