"""The built-in extractive reader: answers any signature from the context that it is shown, without a language model.

Use it where there is no model to ask: for a first run, for tests, for trying a method out. It needs no network, no
weights and no key. The same prompt gets the same reply. It knows nothing: it copies words of the prompt, and declines
(an empty answer) where the passages do not say what the question asks. `benchmarks/extractive_reader.py` measures it.

From below: `words` (stems, forms, names, numbers), `passages` of a context, `question` (taken apart), `answering` (one
score for spans), `reading` (ranks sentences; yes or no, one of two), `fields` (what goes into which).
"""

from typing import Any, Self

import dspy

from lms.engine import AsyncPromptEngine, PromptEngine
from lms.extractive.fields import fill
from lms.prompt import parse, render

__all__ = ["READER", "AsyncExtractiveReader", "ExtractiveReader", "extractive_lm"]

READER = "extractive/reader"
"""The name of the reader's `dspy.LM`, its attribute `model`."""


class _Saved:
    """A saved program keeps nothing of a reader: all readers are the same."""

    def dump_state(self) -> dict[str, Any]:
        """An empty state."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """A reader from the state that `dump_state` gave."""
        return cls(**state)


class ExtractiveReader(_Saved, PromptEngine):
    """The reader as a DSPy engine; it heeds the system message and the last user message alone."""

    def reply(self, system: str, user: str) -> str:
        """The reply to a prompt; never raises, whatever its text."""
        prompt = parse(system, user)
        return render(prompt, fill(prompt))


class AsyncExtractiveReader(_Saved, AsyncPromptEngine):
    """`ExtractiveReader` for asynchronous calls."""

    def __init__(self) -> None:
        super().__init__(ExtractiveReader())


def extractive_lm() -> dspy.LM:
    """The extractive reader as a `dspy.LM`, for `dspy.configure(lm=…)` or `dspy.context(lm=…)`."""
    return dspy.LM(READER, engine=ExtractiveReader(), async_engine=AsyncExtractiveReader(), cache=False)
