"""Filtering: of what was retrieved, the passages and sentences that a scorer finds relevant."""

from collections.abc import Sequence
from dataclasses import replace

from retrieval.passage import Passage
from retrieval.ranking.rerank import rerank
from retrieval.ranking.scorers import Scorer
from retrieval.ranking.sentences import split_sentences

__all__ = ["filter_sentences"]


def filter_sentences(query: str, passages: Sequence[Passage], scorer: Scorer, threshold: float) -> list[Passage]:
    """The passages that are relevant to the query, cut down to their relevant sentences; best first.

    A passage is kept when its score reaches the threshold. Then each of its sentences is scored by the same scorer,
    with the title in front, because a sentence often has a pronoun for what the title names. A passage that scores
    above all its sentences stays whole. Any other keeps the sentences that reach the threshold, in their order.

    Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower
    Retrieval-Augmented Generation", 2024, section 3.2; the title as in the authors' code.

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
    sentences = [split_sentences(passage.text) for passage in kept]
    texts = [
        f"{passage.title} {sentence}".strip()
        for passage, part in zip(kept, sentences, strict=True)
        for sentence in part
    ]
    scores = iter(scorer.score(query, texts))
    result = []
    for passage, part in zip(kept, sentences, strict=True):
        scored = [(sentence, next(scores)) for sentence in part]
        if any(score >= _score(passage) for _, score in scored):
            passage = replace(passage, text=" ".join(sentence for sentence, score in scored if score >= threshold))
        result.append(passage)
    return result


def _score(passage: Passage) -> float:
    assert passage.score is not None
    return passage.score
