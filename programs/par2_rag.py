"""PAR²-RAG: first a wide plan of searches, then one search at a time, until the evidence suffices for the answer.

Li et al., "PAR²-RAG: Planned Active Retrieval and Reasoning for Multi-Hop Question Answering", arXiv 2603.29085, 2026.
Written from its abstract and from what others write about its method; its text and prompts were not at hand.

question -> planned queries -> passages -> (answer -> is the evidence enough? -> query -> passages) -> answer
"""

from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, clean_list, line_or_nothing, unless_declined
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.query import PlanSearches
from signatures.verify import JudgeEvidence, analysis_of

__all__ = ["PAR2RAG"]


class PAR2RAG(Method):
    """Gather evidence widely by a plan, then answer, and search on as long as the evidence does not suffice.

    The plan keeps a loop from following the first thing that it finds, and the loop asks for what no plan can foresee,
    such as what another search must find first.

    Per question:
        LM calls: 1 for the plan, 2 per round and 1 for the last answer, 12 at most; 3 where the plan found enough.
        Searches: 1 per planned query and 1 per round, 8 at most.
        Depth: as many LM calls as are made; the planned searches are made side by side.

    In the result:
        plan: the planned queries that were searched; the question where the plan had none.
        drafts: the answer of each round, the last one included.
        iterations: for the plan and for each round the ids of the passages `retrieved` and `kept`, and of all passages
            `shown` to the LM.
        reasoning: the reasoning that led to the answer.

    Args:
        retriever: Finds the passages. The paper has a reranker behind its retriever.
        k: Passages per search. The paper's number is not known to us; 5 is ours.
        searches: Number of planned searches at most. Likewise; 3 is ours.
        rounds: Number of searches after the plan at most. Paper: 5, as somebody says who built it by the paper's text.
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        searches: Count = 3,
        rounds: Count = 5,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.searches = searches
        self.rounds = rounds
        self.plan = dspy.Predict(PlanSearches)
        self.answer = chain_of_thought(AnswerYesNo if style == "yesno" else AnswerShort, REASONING)
        self.judge = dspy.Predict(JudgeEvidence)

    def forward(self, question: str) -> dspy.Prediction:
        # Stage 1, coverage: the passages of all planned queries are the anchor, C_1.
        plan = clean_list(ask(self.plan, question=question).searches, self.searches) or [question]
        searches: list[Search] = side_by_side(*(partial(search_for, self.retriever, query, self.k) for query in plan))
        found = [union(*(search.found for search in searches))]

        # Stage 2, commitment: an answer r_t from C_t; where that does not suffice, C_(t+1) has a further search in it.
        drafts: list[str | bool | None] = []
        while True:
            passages = union(*found)
            reply = ask(self.answer, context=number(passages), question=question)
            drafts.append(reply.answer)
            query = self._next_query(question, passages, reply) if len(drafts) <= self.rounds else ""
            if not query or query in [search.query for search in searches]:
                break
            searches.append(search_for(self.retriever, query, self.k))
            found.append(searches[-1].found)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=passages,
            evidence=passages,
            plan=plan,
            drafts=[as_text(draft) for draft in drafts],
            iterations=report_rounds(found, growing=True),
            reasoning=as_text(reply.reasoning),
        )

    def _next_query(self, question: str, passages: list[Passage], reply: dspy.Prediction) -> str:
        """What to search for next; empty where the evidence suffices, or where the LM wrote no query or a refusal."""
        analysis = analysis_of(as_text(reply.reasoning), as_text(reply.answer))
        judged = ask(self.judge, context=number(passages), question=question, analysis=analysis)
        return "" if judged.sufficient == "yes" else unless_declined(line_or_nothing(judged.query))


if __name__ == "__main__":
    from programs.commands.method import main

    main(PAR2RAG)
