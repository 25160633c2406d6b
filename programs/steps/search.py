"""External augmentation: drafting an answer over what was found, and searching again with the draft.

It makes BlendFilter's second query, and repeated it is ITER-RETGEN.
"""

from typing import NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.result import say
from programs.steps.text import blend, line
from retrieval import Passage, Retriever, number

__all__ = ["Search", "external_searches", "search_for"]


class Search(NamedTuple):
    """A query and what it found."""

    query: str
    found: list[Passage]


def search_for(retriever: Retriever, query: str, k: int) -> Search:
    """Search for one query and keep the two together."""
    return Search(query, retriever(query, k))


def external_searches(retriever: Retriever, draft: dspy.Module, question: str, k: int, turns: int) -> list[Search]:
    """Search with the question; then, `turns` times, draft an answer over what the last search found and search with
    the draft in front of the question.

    Args:
        retriever: Finds the passages.
        draft: Predictor that reasons over a context and answers a question.
        question: The question.
        k: Passages per search.
        turns: How many drafts are made, 0 or more.
    """
    searches = [search_for(retriever, question, k)]
    for _ in range(turns):
        reply = ask(draft, context=number(searches[-1].found), question=question)
        searches.append(search_for(retriever, blend(line(reply.reasoning), line(say(reply.answer)), question), k))
    return searches
