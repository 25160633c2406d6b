"""Scoring passages against a query, and what is built on scores: reranking and filtering.

    scorer                what a score is                                                            needs
    Lexical               share of the query's words that the text has, from -6 to 6                 nothing
    CrossEncoder          the model's raw logit                                                      extra dense
    QuestionLikelihood    mean log-probability of the question's tokens given the text, below 0      extra dense

Texts are scored as the title followed by the text.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from threading import Lock, local
from typing import Any, Self

import Stemmer

from retrieval.base import Retriever
from retrieval.errors import UsageError
from retrieval.models import LanguageModel, loading, package, readable
from retrieval.passage import Passage
from retrieval.ranking.sentences import split

__all__ = [
    "CrossEncoder",
    "Lexical",
    "QuestionLikelihood",
    "Reranked",
    "Scorer",
    "content_words",
    "filter_sentences",
    "load_scorer",
    "rerank",
]


# Words that carry no content. Negations are left out: a statement is another one without them.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also am an and any are as at be because been before being both but by can could did do does
        doing during each for from further had has have having he her here hers him his how i if in into is it its may
        me might more most must my of on once one only or other our ours out over own s same shall she should so some
        such t than that the their theirs them then there these they this those through to too under until up upon us
        very was we were what when where whether which while who whom whose why will with would you your yours
        """,
    )
)


_stemmers = local()  # stemmers are not for several threads at once, and take a while to make


class Scorer(ABC):
    """Says how well texts fit a query. Safe for many threads; shared by copies of what holds it, as a retriever is."""

    @abstractmethod
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in the order of the texts; higher is better, whatever the scale."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def rerank(query: str, passages: Sequence[Passage], scorer: Scorer) -> list[Passage]:
    """The passages with the scorer's scores, best first; equal scores keep their order."""
    scores = scorer.score(query, [_joined(passage.title, passage.text) for passage in passages])
    scored = [replace(passage, score=score) for passage, score in zip(passages, scores, strict=True)]
    return sorted(scored, key=_score, reverse=True)


def filter_sentences(query: str, passages: Sequence[Passage], scorer: Scorer, threshold: float) -> list[Passage]:
    """The passages that are relevant to the query, cut down to their relevant sentences; best first.

    Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower
    Retrieval-Augmented Generation", 2024, section 3.2. A passage is kept when its score reaches the threshold. Then
    its sentences, each behind the passage's title, are scored by the same scorer: a passage that scores above each of
    them stays whole, of any other the sentences remain that reach the threshold themselves, in their order.

    Args:
        query: What the passages were searched with.
        passages: In any order.
        scorer: The paper's is `CrossEncoder()`.
        threshold: The least score, on the scorer's scale. Paper: logits of 3.0 for multi-hop questions, 5.0 for
            open-domain questions, 0.0 for commonsense questions.

    Returns:
        Passages with their old ids, the scores of the whole passages and perhaps shorter texts.
    """
    kept = [passage for passage in rerank(query, passages, scorer) if _score(passage) >= threshold]
    sentences = [split(passage.text) for passage in kept]
    texts = [_joined(passage.title, s) for passage, part in zip(kept, sentences, strict=True) for s in part]
    scores = iter(scorer.score(query, texts))
    result = []
    for passage, part in zip(kept, sentences, strict=True):
        scored = [(sentence, next(scores)) for sentence in part]
        if any(score >= _score(passage) for _, score in scored):
            passage = replace(passage, text=" ".join(sentence for sentence, score in scored if score >= threshold))
        result.append(passage)
    return result


class Reranked(Retriever):
    """Searches deep with one retriever and orders what it finds by a scorer.

    Args:
        retriever: Finds the candidates.
        scorer: Scores them.
        depth: How many candidates to score per query, or as many as are asked for where that is more.
    """

    def __init__(self, retriever: Retriever, scorer: Scorer, *, depth: int = 50) -> None:
        if depth < 1:
            raise UsageError(f"depth is the number of candidates to rerank and must be at least 1, not {depth}")
        self._retriever = retriever
        self._scorer = scorer
        self._depth = depth

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        # Not by calling the retriever: callbacks count calls, and this is one search.
        found = self._retriever.search_batch(queries, max(k, self._depth))
        return [rerank(query, passages, self._scorer)[:k] for query, passages in zip(queries, found, strict=True)]


class Lexical(Scorer):
    """Counts the query's words in the text: a stand-in for a model where there are no weights, and for tests.

    Words are stemmed, and those that carry no content (as `content_words` has it) do not count. The share of the
    query's different words that the text has is stretched from -6 (none) to 6 (all), so that the thresholds 0, 3 and 5
    of MIGRES mean half, three quarters and eleven twelfths of the words: an order of the same kind as that of a
    cross-encoder's logits, not the same numbers. A query without content words scores 0 with every text.
    """

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = content_words(query)
        if not words:
            return [0.0] * len(texts)
        return [12 * len(words & content_words(text)) / len(words) - 6 for text in texts]


class CrossEncoder(Scorer):
    """A model that reads query and text together; the score is its logit as it comes, without a sigmoid.

    Texts longer than the model can read are cut off.

    Args:
        model: Directory or hub name of a sequence classifier with one label.
        batch_size: Texts scored at a time.
        device: Such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed, or the model cannot be loaded or has several labels.
    """

    def __init__(self, model: str = "BAAI/bge-reranker-base", *, batch_size: int = 32, device: str | None = None):
        library = package("sentence_transformers")
        with loading(model):
            self._model = library.CrossEncoder(model, device=device, activation_fn=package("torch").nn.Identity())
        if self._model.num_labels != 1:
            raise UsageError(f"the model {model!r} has {self._model.num_labels} labels; a reranker has one")
        self._batch_size = batch_size
        self._lock = Lock()  # tokenizers are not for several threads at once

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        pairs = [(readable(query), readable(text)) for text in texts]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False)
        return [float(score) for score in scores]


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


def load_scorer(spec: str) -> Scorer:
    """Open the scorer that `spec` names.

    Args:
        spec: `lexical`, `cross-encoder:MODEL` or `upr:MODEL`, where MODEL is a directory or a hub name.

    Raises:
        UsageError: no scorer has that name, or it cannot be loaded.
    """
    kinds: dict[str, Callable[[str], Scorer]] = {"cross-encoder": CrossEncoder, "upr": QuestionLikelihood}
    name, _, model = spec.partition(":")
    if spec == "lexical":
        return Lexical()
    if name in kinds and model:
        return kinds[name](model)
    raise UsageError(f"unknown scorer {spec!r}: use lexical, cross-encoder:MODEL or upr:MODEL")


def content_words(text: str) -> set[str]:
    """The different words of `text`, lower-cased and stemmed, without function and question words."""
    words = [word for word in re.findall(r"\w+", text.lower()) if word not in _FUNCTION_WORDS]
    if not hasattr(_stemmers, "english"):
        _stemmers.english = Stemmer.Stemmer("english")
    return set(_stemmers.english.stemWords(words))


def _joined(title: str, text: str) -> str:
    return f"{title} {text}".strip()


def _score(passage: Passage) -> float:
    assert passage.score is not None
    return passage.score
