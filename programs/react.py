"""ReAct: thoughts, searches and what they find, in turn, until the LM finishes with an answer.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023, as a baseline of Wang et al.,
"BlendFilter", EMNLP 2024, appendix C: an action is a search or the end. The loop is our own, because dspy.ReAct shows
the LM a traceback when a search fails, raises when a reply cannot be parsed, and always asks once more for the answer.

question -> (thought, search -> k passages) until thought, finish -> answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import as_text, one_line
from programs.steps.trajectory import answer_of, query_of, turn
from retrieval import AnyRetriever, as_retriever, union
from signatures.act import NextStep, NextStepYesNo

__all__ = ["ReAct"]


class ReAct(Method):
    """Think and search in turns until the LM finishes with an answer.

    The LM sees what each search found before it decides on the next one, so that it can follow a chain of facts.

    Per question:
        LM calls: 1 per step, 7 at most.
        Searches: 1 per step but the last, 6 at most.
        Depth: as many LM calls as are made.

    In the result:
        thoughts: the thought of each step.
        iterations: for each step the ids of the passages `retrieved` and `kept` by the search before it, and of all
            passages `shown` to the LM.
        ended: "finish"; "limit" where the last step was still a search, which is not made; "unparsable" where a step
            could not be parsed. In the last two cases the answer is empty.
        evidence: everything found, because the last step saw all of it.

    Args:
        retriever: Finds the passages. BlendFilter's comparison uses ColBERTv2, and BM25 in Table 4.
        k: Passages per search. Paper: 5 (BlendFilter, appendix D).
        steps: Number of steps at most, the finishing one included. Paper: 7 on HotPotQA (ReAct).
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}

    @checked
    def __init__(
        self, retriever: AnyRetriever, *, k: Count = 5, steps: Count = 7, style: Literal["short", "yesno"] = "short"
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.steps = steps
        self.step = dspy.Predict(NextStepYesNo if style == "yesno" else NextStep)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        thoughts: list[str] = []
        trajectory: list[str] = []
        for n in range(1, self.steps + 1):
            # Thought and action. A search in the last step is not made, because no step would read what it finds.
            step = ask(self.step, question=question, steps="\n".join(trajectory))
            thoughts.append(as_text(step.thought))
            if step.action != "search" or n == self.steps:
                break

            # Observation, which joins the trajectory.
            searches.append(search_for(self.retriever, query_of(step), self.k))
            trajectory += turn(n, one_line(step.thought), searches[-1].query, searches[-1].found)

        found = union(*(search.found for search in searches))
        return result(
            answer=answer_of(step) if step.action == "finish" else None,
            queries=[search.query for search in searches],
            passages=found,
            evidence=found,
            thoughts=thoughts,
            iterations=report_rounds([[], *(search.found for search in searches)], growing=True),
            ended={"finish": "finish", "search": "limit", None: "unparsable"}[step.action],
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(ReAct)
