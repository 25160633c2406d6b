"""My method: search, ask what is still missing and search for that, and answer from everything that was found.

AUTHORS, "TITLE", VENUE YEAR; SECTIONS. What differs from the paper, and why.

question -> k passages -> (query for what is missing -> k passages) turns - 1 times -> reasoning and answer
"""

from typing import ClassVar

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import search_for
from programs.steps.settings import Count, checked
from programs.steps.text import as_text, line_or_nothing, unless_declined
from retrieval import AnyRetriever, as_retriever, number, union
from signatures.answer import REASONING, AnswerShort
from signatures.query import AskForHop

__all__ = ["MyMethod"]


class MyMethod(Method):
    """Search for what is missing turn by turn, and answer from the passages of all turns.

    Why that helps, in a sentence or two: what one search finds names things that the next one can ask for.

    Per question:
        LM calls: 1 per turn, which is 2.
        Searches: 1 per turn, which is 2; fewer where a turn has no query, or one that was searched before.
        Depth: 1 LM call per turn.

    In the result:
        iterations: for each turn the ids of the passages `retrieved`, which are all `kept`, and of those of all turns
            so far, which are `shown` to the LM.
        reasoning: the reasoning that led to the answer.

    Args:
        retriever: Finds the passages. Paper: RETRIEVER OVER CORPUS.
        k: Passages per turn. Paper: NUMBER (TABLE).
        turns: Number of searches at most. Paper: NUMBER (TABLE).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}
    writes: ClassVar[str | None] = "answer"  # the predictor whose reply is told while it is written; None for none

    @checked
    def __init__(self, retriever: AnyRetriever, *, k: Count = 5, turns: Count = 2) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.turns = turns
        self.query = dspy.Predict(AskForHop)
        self.answer = chain_of_thought(AnswerShort, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # SECTION: the question finds the first passages.
        searches = [search_for(self.retriever, question, self.k)]
        evidence = searches[0].found

        # SECTION: each further turn searches for what these lack. Without a new query the loop ends.
        for _ in range(self.turns - 1):
            reply = ask(self.query, question=question, notes=number(evidence))
            query = unless_declined(line_or_nothing(reply.query))
            if not query or query in [search.query for search in searches]:
                break
            searches.append(search_for(self.retriever, query, self.k))
            evidence = union(evidence, searches[-1].found)

        # EQUATION: the answer, from the passages of all turns.
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=evidence,
            evidence=evidence,
            iterations=report_rounds((search.found for search in searches), growing=True),
            reasoning=as_text(reply.reasoning),
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(MyMethod)
