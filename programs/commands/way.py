"""Shows how an answer came about, and says what to do where no language model was asked."""

import shutil
import textwrap

import dspy

from programs.instruments.cost import Cost
from programs.instruments.words import spent
from retrieval import Passage

__all__ = ["NEXT", "way"]

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
    return "\n".join([*lines, _entry("cost", spent(cost))])


def _name(passage: Passage) -> str:
    return passage.title or passage.text


def _entry(label: str, text: str) -> str:
    """A line with a label in front; long texts are wrapped under each other and cut."""
    width = max(40, shutil.get_terminal_size().columns)
    first, rest = f"  {label:9}", " " * 11
    form = textwrap.TextWrapper(width, first, rest, max_lines=_LONGEST, placeholder=" …")
    return form.fill(" ".join(text.split()))
