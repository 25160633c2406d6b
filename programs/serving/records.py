"""What a question came to, and how clients see it and its steps."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from programs.instruments.cost import Cost
from programs.serving.live import Asked, PassageShown, Prompt, Spending, Step

__all__ = ["Record", "step_as_json"]


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

    def as_json(self) -> dict[str, Any]:
        """The record as clients see it."""
        record = self.model_dump()
        record["steps"] = [step_as_json(step) for step in self.steps]
        if self.prompts is None:
            del record["prompts"]
        return record


def step_as_json(step: Step) -> dict[str, Any]:
    """A step as clients see it."""
    if isinstance(step, Spending):
        return step.as_step()
    return step.model_dump(exclude={"prompt"} if isinstance(step, Asked) and step.prompt is None else None)
