"""Compares the calls of a run with a question's gold: what was shown, said and searched with.

Passages are compared by title, as a prompt shows them. Nothing here knows a method.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from eval.metrics.gold import normalise
from retrieval import Passage
from retrieval.ranking.entailment import load_entailment

__all__ = [
    "field_of",
    "follows",
    "gold_titles",
    "is_right",
    "numbered",
    "passages_of",
    "searched_with",
    "title_of",
    "titles_of",
]

_SHORTEST = 3  # characters; a shorter text is in a query by chance
_ENTAILED = 0.5  # least probability, as in `programs.steps.citations`
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def gold_titles(example: dspy.Example) -> set[str]:
    """The titles of the passages that the answer follows from; empty if they are not known."""
    return set(example.get("gold_titles") or ())


def is_right(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer equals a gold one, apart from case, punctuation and articles."""
    return any(normalise(answer) == normalise(gold) for gold in golds)


def numbered(inputs: Mapping[str, Any]) -> dict[int, str]:
    """The numbered passages in a predictor's inputs, one line each as `retrieval.number` wrote it, by number."""
    return {int(n): text for value in map(str, inputs.values()) for n, text in _NUMBERED.findall(value)}


def title_of(line: str) -> str:
    """The title of a passage that `numbered` found."""
    return line.partition(" | ")[0]


def passages_of(reported: Any) -> list[Passage] | None:
    """The passages that a field of a result holds; None if it holds anything else."""
    ok = isinstance(reported, list) and all(isinstance(passage, Passage) for passage in reported)
    return reported if ok else None


def titles_of(reported: Any) -> set[str] | None:
    """The titles of the passages; None if no passages are reported, or only text that an LM wrote."""
    passages = passages_of(reported)
    if passages is None or (passages and all(passage.id.startswith("lm:") for passage in passages)):
        return None
    return {passage.title for passage in passages if not passage.id.startswith("lm:")}


def searched_with(outputs: dspy.Prediction, prediction: dspy.Prediction) -> bool:
    """Whether a query of the run begins or ends with something that the predictor wrote."""
    queries = [normalise(query) for query in prediction.get("queries") or ()]
    texts = [text for value in outputs.values() for text in (value if isinstance(value, list) else [value])]
    written = [normalise(text) for text in texts if isinstance(text, str)]
    ends = [text for text in written if len(text) >= _SHORTEST]
    return any(query.startswith(text) or query.endswith(text) for text in ends for query in queries)


def follows(statement: str, cited: Sequence[str], question: str) -> bool:
    """Whether the statement follows from the texts, by their words, as an answer to the question that the LM was asked
    when it drew the statement from them."""
    return load_entailment("lexical").batch_answering(question, [(" ".join(cited), statement)])[0] >= _ENTAILED


def field_of(statement: Any, name: str) -> Any:
    """A field of a statement that a predictor wrote: an object, or a dictionary if it came from a file."""
    return statement[name] if isinstance(statement, dict) else getattr(statement, name)
