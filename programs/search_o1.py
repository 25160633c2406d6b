"""Search-o1: a chain of reasoning that stops to search, and goes on with what another call makes of the passages.

Li et al., "Search-o1: Agentic Search-Enhanced Large Reasoning Models", 2025, arXiv 2501.05366. The paper
interrupts one completion of a reasoning model by tokens of its own and searches the web. Here each stretch of reasoning
is a call with typed fields, so that any LM can do it and each call can be optimised.

question -> (reasoning, query -> k passages -> what they say that helps, into the reasoning) until reasoning, answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import as_text, line_or_nothing, one_line, unless_declined
from programs.steps.trajectory import answer_of, query_of, turn
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.act import ReasonOn, ReasonOnYesNo
from signatures.extract import CondensePassages

__all__ = ["SearchO1"]


class SearchO1(Method):
    """Reason, search where a fact is not sure, condense what was found, and reason on.

    Passages are long and mostly beside the point, and would break the chain of reasoning. So a call of its own reads
    them, and only what helps comes into the chain.

    Per question:
        LM calls: 1 per turn and 1 per search that finds anything, 21 at most.
        Searches: 1 per turn but the last, 10 at most; none for a query that was searched before or that is none.
        Depth: as many LM calls as are made.

    In the result:
        thoughts: the reasoning of each turn.
        information: for each search the `query` and the `text` that came into the reasoning; empty where the passages
            are no help.
        iterations: for each search the ids of the passages `retrieved`, `kept` and `shown` to the call that condenses
            them.
        ended: "finish"; "limit" where the LM still searched when no searches were left; "unparsable" where a turn could
            not be parsed. In the last two cases the answer is empty.
        evidence: what came into the reasoning, with the ids lm:information-1, lm:information-2 …

    Args:
        retriever: Finds the passages. The paper uses Bing, and fetches the pages.
        k: Passages per search. Paper: 10.
        searches: Number of searches at most. Its authors' code: 10 for multi-hop data sets, 5 for NQ and TriviaQA.
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 10,
        searches: Count = 10,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.searches = searches
        self.reason = dspy.Predict(ReasonOnYesNo if style == "yesno" else ReasonOn)
        self.condense = dspy.Predict(CondensePassages)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        thoughts: list[str] = []
        chain: list[str] = []
        brought: dict[str, Passage | None] = {}  # by query
        for n in range(1, self.searches + 2):
            # Reason up to the next search or the answer.
            left = self.searches + 1 - n
            step = ask(self.reason, question=question, chain="\n".join(chain), searches_left=str(left))
            thoughts.append(as_text(step.thought))
            if step.action != "search" or not left:
                break

            # Search. A query that was searched before brings what it brought then, and a refusal brings nothing.
            query = unless_declined(query_of(step))
            if query and query not in brought:
                searches.append(search_for(self.retriever, query, self.k))

                # Reason in documents: what they say that helps goes into the chain, and nothing else of them.
                so_far = [*chain, f"Thought {n}: {one_line(step.thought)}"]
                text = self._condense(question, "\n".join(so_far), searches[-1])
                brought[query] = Passage(f"lm:information-{len(searches)}", text) if text else None
            information = brought.get(query)
            chain += turn(n, one_line(step.thought), query, [information] if information else [])

        return result(
            answer=answer_of(step) if step.action == "finish" else None,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=[information for information in brought.values() if information],
            thoughts=thoughts,
            information=[{"query": query, "text": found.text if found else ""} for query, found in brought.items()],
            iterations=report_rounds([search.found for search in searches], growing=False),
            ended={"finish": "finish", "search": "limit", None: "unparsable"}[step.action],
        )

    def _condense(self, question: str, chain: str, search: Search) -> str:
        """What the passages say that takes the reasoning further; empty where that is nothing."""
        if not search.found:
            return ""
        context = number(search.found)
        reply = ask(self.condense, question=question, chain=chain, query=search.query, context=context)
        return unless_declined(line_or_nothing(reply.information))


if __name__ == "__main__":
    from programs.commands.method import main

    main(SearchO1)
