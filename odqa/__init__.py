"""The ground floor, below all rooms: what they share, and their front door. It knows no question and no passage."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dspy

__all__ = ["load"]


def load(path: str | Path, *, lm: "dspy.LM | None" = None, retriever: Any = None) -> "dspy.Module":
    """The program that an answerer file describes, ready to be asked.

        odqa.load("answerer.toml")(question="Which general led the Italian troops at Adwa?").answer

    Every predictor has the LM of the file, as `set_lm` gives it, so the program asks that one whatever LM is
    configured; `set_lm(other)` changes it, `set_lm(None)` leaves the choice to `dspy.configure` and `dspy.context`. The
    form in which the LM is asked is bound too, as the program's `adapter`; None there leaves it to the caller.

    Args:
        path: The file, which `odqa choose` writes; `programs.instruments.answerer` says what stands in it.
        lm: In place of the file's LM, which is not loaded then.
        retriever: In place of the file's retriever, which is not opened then: whatever searches, as a method takes it.

    Raises:
        UsageError: The file cannot be read, or what it names is not there or does not fit; the message says what.
        RetrievalError: The index is damaged.
    """
    # The rooms are above this floor, and found by name when they are asked for.
    answerers, lms = import_module("programs.instruments.answerer"), import_module("lms")
    answerer = answerers.read_answerer(path)
    local = lm is None and lms.is_local(answerer.lm)
    program: dspy.Module = answerers.make(answerer, retriever, "json" if local else None)
    program.set_lm(lm or lms.load(answerer.lm, **answerer.lm_settings))
    return program
