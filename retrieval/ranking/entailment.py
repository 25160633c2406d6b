"""Judges of entailment: does one text follow from another?"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

from odqa.errors import UsageError
from retrieval.models import Classifier, LanguageModel, open_named, shared
from retrieval.ranking.words import content_words

__all__ = ["NLI", "TRUE", "Entailment", "LexicalEntailment", "load_entailment"]

_WORD = re.compile(r"\w+")


class Entailment(ABC):
    """Judges pairs of a premise and a hypothesis. Safe for many threads; deep copies share it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @abstractmethod
    def batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair (premise, hypothesis) the probability, from 0 to 1, that the premise entails the hypothesis."""

    def entails(self, premise: str, hypothesis: str) -> float:
        """The probability, from 0 to 1, that the premise entails the hypothesis."""
        return self.batch([(premise, hypothesis)])[0]

    def batch_answering(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """As `batch`, for hypotheses that were drawn from their premises to answer the question.

        A model judges them without the question.
        """
        return self.batch(pairs)


class LexicalEntailment(Entailment):
    """1.0 if the premise has every content word of the hypothesis, in any order, else 0.0.

    A stand-in for a model when there are no weights, and for tests. It rejects a paraphrase, and accepts a sentence
    that combines the premise's words wrongly. Words are compared by their stems (see `retrieval.ranking.words`); a
    hypothesis without content words is not entailed.

    What answers a question takes words over from it: "Ada Quill died on July 6" answers "When did Ada Quill die?" from
    "Ada Quill (26 August – 6 July)". So in `batch_answering` the question's words count as the premise's, if the
    premise names something that the question names, and the hypothesis says something that the question does not.
    """

    def batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self.batch_answering("", pairs)

    def batch_answering(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        asked = content_words(question)
        return [float(_covers(premise, content_words(hypothesis), asked)) for premise, hypothesis in pairs]


def _covers(premise: str, hypothesis: set[str], asked: set[str]) -> bool:
    words = content_words(premise)
    names = content_words(" ".join(word for word in _WORD.findall(premise) if word[0].isupper()))
    given = asked if asked & names and hypothesis - asked else set()
    return bool(hypothesis) and hypothesis <= words | given


class NLI(Entailment):
    """A sequence classifier trained on natural language inference.

    The model's configuration (`id2label`) says which label is entailment, because models differ in that.
    Pairs longer than the model can read are cut off.

    Args:
        model: Directory or hub name, such as "cross-encoder/nli-deberta-v3-base".
        batch_size: Pairs judged at a time.
        device: Such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed, the model cannot be loaded, or not exactly one of its labels is named
            entailment.
    """

    def __init__(self, model: str, *, batch_size: int = 32, device: str | None = None) -> None:
        self._model = Classifier(model, batch_size=batch_size, device=device)
        labels = self._model.labels
        entailment = [n for n, label in labels.items() if label.lower() in ("entailment", "entail", "entails")]
        if len(entailment) != 1 or len(labels) < 2:
            raise UsageError(f"the model {model!r} has no label named entailment but {', '.join(labels.values())}")
        self._entailment = entailment[0]

    def batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(row[self._entailment]) for row in self._model.read(pairs, softmax=True)]


class TRUE(Entailment):
    """The probability that a T5 model of the TRUE family writes 1, which means that the premise entails the
    hypothesis.

    Honovich et al., "TRUE: Re-evaluating Factual Consistency Evaluation", NAACL 2022. MIGRES's checkpoint is
    "google/t5_xxl_true_nli_mixture" (11 billion parameters). Arguments and errors are those of
    `retrieval.models.LanguageModel`; longer premises are cut off at their end.
    """

    def __init__(self, model: str, *, batch_size: int = 8, max_length: int = 512, device: str | None = None) -> None:
        self._model = LanguageModel(model, batch_size=batch_size, max_length=max_length, device=device)

    def batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        prompts = [("premise: ", premise, f" hypothesis: {hypothesis}") for premise, hypothesis in pairs]
        return [math.exp(values[0]) for values in self._model.log_probabilities(prompts, "1")]


@shared
def load_entailment(spec: str) -> Entailment:
    """Open the judge of entailment that `spec` names, or give the one that is open.

    Args:
        spec: `lexical`, `nli:MODEL` (a classifier) or `true:MODEL` (a T5 model of the TRUE family), where MODEL is a
            directory or a hub name.

    Raises:
        UsageError: no judge has that name, or it cannot be loaded.
    """
    forms: dict[str, Callable[..., Entailment]] = {"lexical": LexicalEntailment, "nli:MODEL": NLI, "true:MODEL": TRUE}
    return open_named(spec, "entailment", forms)
