"""ReAct: thoughts, searches and what they find, in turn, until the LM finishes with an answer.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023, as Wang et al., "BlendFilter",
EMNLP 2024, appendix C, take it up: an action is a search or the end. The loop is ours and not dspy.ReAct, which hands
the LM a traceback where a search fails, ends in an exception where a reply cannot be parsed, and always draws an answer
with a further call.

question -> (thought, search -> k passages) until thought, finish -> answer
"""

from typing import Literal

import dspy

from programs.steps.ask import ask
from programs.steps.result import result, say
from programs.steps.search import Search, search_for
from programs.steps.side_by_side import in_thread
from programs.steps.text import line
from retrieval import Retriever, UsageError, number, union
from signatures.act import NextStep, NextStepYesNo

__all__ = ["ReAct"]


class ReAct(dspy.Module):
    """Think and search in turns until the LM finishes with an answer.

    Per question with n steps: n LM calls and n - 1 searches, one after the other; at most 7 and 6. An unparsable reply
    costs one call more, in which DSPy asks for JSON.

    The result has these fields besides the common four: `thoughts`, one per step; `ended`, which is "finish", or
    "limit" where the last step was still a search (it is not made), or "unparsable" where a step could not be read. In
    the last two cases the answer is empty. `evidence` is everything found: the last step saw it all.

    Args:
        retriever: Finds the passages. BlendFilter's comparison uses ColBERTv2, and BM25 in Table 4.
        k: Passages per search. Paper: 5 (BlendFilter, appendix D).
        steps: How many steps at most, the finishing one included. Paper: 7 on HotPotQA (ReAct).
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    def __init__(
        self, retriever: Retriever, *, k: int = 5, steps: int = 7, style: Literal["short", "yesno"] = "short"
    ) -> None:
        super().__init__()
        if steps < 1:
            raise UsageError(f"steps must be at least 1, not {steps}")
        self.retriever = retriever
        self.k = k
        self.steps = steps
        self.step = dspy.Predict(NextStepYesNo if style == "yesno" else NextStep)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        thoughts: list[str] = []
        trajectory: list[str] = []
        for n in range(1, self.steps + 1):
            # Thought and action. A search in the last step would find what no step reads any more.
            step = ask(self.step, question=question, steps="\n".join(trajectory))
            thoughts.append(say(step.thought))
            if step.action != "search" or n == self.steps:
                break

            # Observation, which stands where the search was made.
            searches.append(search_for(self.retriever, line(step.query), self.k))
            trajectory += [
                f"Thought {n}: {line(step.thought)}",
                f"Action {n}: search for {searches[-1].query}",
                f"Observation {n}:\n{number(searches[-1].found) or 'nothing was found'}",
            ]

        found = union(*(search.found for search in searches))
        return result(
            answer=step.answer if step.action == "finish" else None,
            queries=[search.query for search in searches],
            passages=found,
            evidence=found,
            thoughts=thoughts,
            ended={"finish": "finish", "search": "limit", None: "unparsable"}[step.action],
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(ReAct)
