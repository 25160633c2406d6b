"""A chain of thought that is written one sentence at a time, as IRCoT and FLARE do."""

import re
from collections.abc import Sequence

from programs.steps.text import as_text, line_or_nothing, simplify
from retrieval.ranking.sentences import split_sentences

__all__ = ["concludes", "new_sentence"]

_CONCLUDES = re.compile(
    r"\banswer(?: to (?:the|this) question)? (?:is|would be)\b|^\W*(?:final |short )?answer\W*:", re.IGNORECASE
)


def concludes(sentence: str) -> bool:
    """Whether the sentence says what the answer is, and so is the last."""
    return _CONCLUDES.search(sentence) is not None


def new_sentence(reply: str | None, thoughts: Sequence[str]) -> str:
    """The first sentence of the reply that is none of the thoughts before; empty where there is none."""
    said = {simplify(thought) for thought in thoughts}
    sentences = map(line_or_nothing, split_sentences(as_text(reply)))
    return next((text for text in sentences if text and simplify(text) not in said), "")
