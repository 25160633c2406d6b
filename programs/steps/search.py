"""A search that keeps its query, and searches with a draft answer in front of the question.

The draft is BlendFilter's external augmentation. Repeated, it is ITER-RETGEN.
"""

import math
from typing import NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.text import as_text, blend, one_line, simplify
from retrieval import Passage, Retriever, number

__all__ = ["Search", "score_of", "search_for", "search_with_drafts"]


class Search(NamedTuple):
    """A query and the passages that it found."""

    query: str
    found: list[Passage]


def search_for(retriever: Retriever, query: str, k: int) -> Search:
    """Search for k passages and keep the query with them."""
    return Search(query, retriever(query, k))


def score_of(passage: Passage) -> float:
    """The passage's score; one without a score comes behind all others."""
    return -math.inf if passage.score is None else passage.score


def search_with_drafts(retriever: Retriever, draft: dspy.Module, question: str, k: int, turns: int) -> list[Search]:
    """Search with the question, then `turns` times with a draft answer in front of the question.

    The LM writes each draft from the passages that the last search found.

    Args:
        retriever: Finds the passages.
        draft: Predictor that reasons over a context and answers a question.
        question: The question.
        k: Passages per search.
        turns: Number of drafts, 0 or more.
    """
    searches = [search_for(retriever, question, k)]
    for _ in range(turns):
        reply = ask(draft, context=number(searches[-1].found), question=question)
        reasoning, answer = one_line(reply.reasoning), one_line(as_text(reply.answer))
        # Demonstrations end their reasoning as the papers' do: "So the answer is Lund." It is not said a second time.
        concluded = simplify(reasoning).endswith(f"answer is {simplify(answer)}")
        searches.append(search_for(retriever, blend(reasoning, "" if concluded else answer, question), k))
    return searches
