"""A conversation's last question, made to stand alone by the LM: methods know one question and nothing before it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.text import as_text, one_line
from signatures.query import MakeStandAlone

__all__ = ["StandAlone", "Turn"]

_TURNS = 10  # the last ones before the question
_LONGEST = 1000  # characters of a turn


class Turn(NamedTuple):
    """Something that was said."""

    role: Literal["user", "assistant"]
    text: str


class StandAlone(dspy.Module):
    """Makes a question stand alone.

    Per question:
        LM calls: 1; none where nothing was said before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rewrite = dspy.Predict(MakeStandAlone)

    def forward(self, question: str, earlier: Sequence[Turn]) -> dspy.Prediction:
        if not earlier:
            return dspy.Prediction(question=question)
        said = "\n".join(f"{turn.role}: {one_line(turn.text)[:_LONGEST]}" for turn in earlier[-_TURNS:])
        alone = one_line(as_text(ask(self.rewrite, conversation=said, question=question).alone))
        return dspy.Prediction(question=alone or question)
