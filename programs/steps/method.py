"""What every method is: a dspy.Module that can be awaited, and takes only a state that fits it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import dspy

from programs.steps.side_by_side import run_in_thread
from retrieval import UsageError

__all__ = ["Method"]


class Method(dspy.Module):
    """The base of all methods. A method writes `__init__` and `forward(question)`."""

    writes: ClassVar[str | None] = None
    """The predictor that is asked once, last of all, and whose field `answer` is the answer: a server can tell it while
    it is written. None where it is not known before which call is the last, or more is made of the reply."""
    adapter: dspy.Adapter | None = None
    """The form in which the LM is asked, whoever calls the method; None for the caller's, that of `dspy.settings`."""

    def __call__(self, *args: Any, **kwargs: Any) -> dspy.Prediction:
        with self._in_its_form():
            return super().__call__(*args, **kwargs)

    async def acall(self, *args: Any, **kwargs: Any) -> dspy.Prediction:
        with self._in_its_form():
            return await super().acall(*args, **kwargs)

    async def aforward(self, question: str) -> dspy.Prediction:
        # DSPy warns of every access to `module.forward` that is not its own.
        forward = object.__getattribute__(self, "forward")
        return await run_in_thread(forward, question)

    def load_state(self, state: Mapping[str, Any], *, allow_unsafe_lm_state: bool = False) -> None:
        """Take the prompts and demonstrations of a state; `load(path)` does it with a file.

        Raises:
            UsageError: the state was made for other settings, another version or another program: it lacks a
                predictor, or one of its predictors had fields with other descriptions.
        """
        for name, predictor in self.named_predictors():
            saved = state.get(name)
            if saved is None:
                raise UsageError(f"the state does not fit {type(self).__name__}: it has no predictor {name!r}")
            seen = [field["description"] for field in saved["signature"]["fields"]]
            if seen != [field.json_schema_extra["desc"] for field in predictor.signature.fields.values()]:
                raise UsageError(
                    f"the state does not fit {type(self).__name__} with these settings: where it was made, {name!r} "
                    "has other fields"
                )
        super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state)

    def _in_its_form(self) -> AbstractContextManager[None]:
        return dspy.context(adapter=self.adapter) if self.adapter else nullcontext()
