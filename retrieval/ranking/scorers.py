"""Scorers: how well a text fits a query.

    scorer                what a score is                                                            needs
    Lexical               share of the query's words that the text has, from -6 to 6                 nothing
    CrossEncoder          the model's raw logit                                                      extra dense
    QuestionLikelihood    mean log-probability of the question's tokens given the text, below 0      extra dense

Texts are scored as the title followed by the text.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any, Self

from odqa.errors import UsageError
from retrieval.models import Classifier, LanguageModel, open_named, shared
from retrieval.ranking.words import content_words

__all__ = ["CrossEncoder", "Lexical", "QuestionLikelihood", "Scorer", "load_scorer"]


class Scorer(ABC):
    """Says how well texts fit a query. Safe for many threads; deep copies share it."""

    @abstractmethod
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order of the texts; higher is better, whatever the scale."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Lexical(Scorer):
    """The share of the query's words that the text has: a stand-in for a model, and for tests.

    Different content words count, by their stems (see `retrieval.ranking.words`). The score goes from -6 (none of the
    query's words) to 6 (all), so that the thresholds 0, 3 and 5 of MIGRES mean half, three quarters and eleven twelfths
    of the words. The scores are in the range of a cross-encoder's logits, but not the same numbers. A query without
    content words scores 0 with every text.
    """

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = content_words(query)
        if not words:
            return [0.0] * len(texts)
        return [12 * len(words & content_words(text)) / len(words) - 6 for text in texts]


class CrossEncoder(Scorer):
    """A model that reads query and text together; the score is its raw logit, without a sigmoid.

    Texts longer than the model can read are cut off.

    Args:
        model: Directory or hub name of a sequence classifier with one label.
        batch_size: Texts scored at a time.
        device: Such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed, or the model cannot be loaded or has several labels.
    """

    def __init__(self, model: str = "BAAI/bge-reranker-base", *, batch_size: int = 32, device: str | None = None):
        self._model = Classifier(model, batch_size=batch_size, device=device)
        if (count := len(self._model.labels)) != 1:
            raise UsageError(f"the model {model!r} has {count} labels; a reranker has one")

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(score) for score in self._model.read([(query, text) for text in texts])]


class QuestionLikelihood(Scorer):
    """UPR: how likely a language model would ask the question about the text.

    The score is the mean natural logarithm of the probabilities of the question's tokens, each given the text, the
    instruction and the tokens before it. The end-of-sequence token is not one of them; a blank question scores 0 with
    every text. Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation", EMNLP 2022.

    Args:
        model: Directory or hub name of a causal (GPT-2 …) or an encoder-decoder (T5 …) language model.
        batch_size: Texts scored at a time.
        max_length: Most tokens that the model is shown at once; longer texts are cut off at their end.
        device: Such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed or the model cannot be loaded.
    """

    def __init__(self, model: str, *, batch_size: int = 8, max_length: int = 512, device: str | None = None) -> None:
        self._model = LanguageModel(model, batch_size=batch_size, max_length=max_length, device=device)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        prompts = [
            ("Passage:\n", text, "\n\nAsk one question that this passage answers.\nQuestion:\n") for text in texts
        ]
        return [fmean(values or [0.0]) for values in self._model.log_probabilities(prompts, query)]


@shared
def load_scorer(spec: str) -> Scorer:
    """Open the scorer that `spec` names, or give the one that is open.

    Args:
        spec: `lexical`, `cross-encoder:MODEL` or `upr:MODEL`, where MODEL is a directory or a hub name.

    Raises:
        UsageError: no scorer has that name, or it cannot be loaded.
    """
    forms: dict[str, Callable[..., Scorer]] = {"lexical": Lexical}
    forms |= {"cross-encoder:MODEL": CrossEncoder, "upr:MODEL": QuestionLikelihood}
    return open_named(spec, "scorer", forms)
