"""Shows how an answer came about, and says what to do where there is none or where no language model was asked."""

import shutil
import textwrap
from collections.abc import Sized

import dspy

from programs.instruments.cost import Cost
from retrieval import Passage, Retriever

__all__ = ["NEXT", "QUESTIONS", "no_answer", "way"]

QUESTIONS = (
    "Which general led the Italian troops at Adwa?",
    "Where in Finland was the designer of the tall stainless-steel arch in St. Louis born?",
)
"""Questions that the extractive reader answers from the packaged corpus."""

NEXT = """\
This was the extractive reader, not a language model: it copies what the passages say, or declines.
To ask one: export OPENAI_API_KEY=…, or start Ollama, or --lm gguf:FILE (see docs/local_models.md)."""
"""What to do next, in two lines, where the extractive reader was asked."""

_LONGEST = 3  # lines of a query, of those that a method writes


def way(prediction: dspy.Prediction, cost: Cost) -> str:
    """The way to an answer, from the fields that all methods share: queries, passages kept and dropped, cost."""
    kept = {passage.id for passage in prediction.evidence}
    lines = [_entry("query", query) for query in prediction.queries]
    lines += [_entry("kept" if passage.id in kept else "dropped", _name(passage)) for passage in prediction.passages]
    found = {passage.id for passage in prediction.passages}
    lines += [_entry("written", passage.text) for passage in prediction.evidence if passage.id not in found]
    calls = f"{cost.lm_calls} LM calls, {cost.searches} searches, {cost.seconds:.1f} s"
    return "\n".join([*lines, _entry("cost", calls)])


def no_answer(retriever: Retriever | None, spec: str, cost: Cost) -> str:
    """What to say where a prediction has no answer.

    Args:
        retriever: What there was to search; None for closed book.
        spec: Its name on the command line.
        cost: The question's.
    """
    if not cost.searches:
        return "no answer"
    if spec == "sample" and isinstance(retriever, Sized):
        tries = " or ".join(f'"{question}"' for question in QUESTIONS)
        return f"no answer in the packaged corpus; it knows {len(retriever)} abstracts, try: {tries}"
    return f"no answer in what {spec} found"


def _name(passage: Passage) -> str:
    return passage.title or passage.text


def _entry(label: str, text: str) -> str:
    """A line with a label in front; long texts are wrapped under each other and cut."""
    width = max(40, shutil.get_terminal_size().columns)
    first, rest = f"  {label:9}", " " * 11
    form = textwrap.TextWrapper(width, first, rest, max_lines=_LONGEST, placeholder=" …")
    return form.fill(" ".join(text.split()))
