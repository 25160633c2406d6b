"""Self-Ask: follow-up questions, each searched and answered, until the question itself can be answered.

Press et al., "Measuring and Narrowing the Compositionality Gap in Language Models", Findings of EMNLP 2023, as a
baseline of Wang et al., "BlendFilter", EMNLP 2024, appendix C: the prompt gathers all retrieved passages. The papers
let one completion run on; here asking and answering are calls of their own.

question -> (follow-up question -> k passages -> intermediate answer) until none is needed -> answer over all of them
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import line_or_nothing, one_line
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.query import AskFollowUp

__all__ = ["SelfAsk"]


class SelfAsk(Method):
    """Ask follow-up questions, search and answer each, and answer the question over everything gathered.

    A question with several steps is easier one step at a time, and each step is a question that a search can answer.

    Per question:
        LM calls: 2 per follow-up question and 2 more, 11 at most: at the limit the LM is not asked whether another one
            is needed.
        Searches: 1 per follow-up question, 5 at most.
        Depth: as many LM calls as are made.

    In the result:
        steps: for each follow-up question the `question` and its `answer`.
        iterations: for each follow-up question the ids of the passages `retrieved` and `kept`, and of all passages
            `shown` to the LM; the last one is the answer to the question itself.
        evidence: the passages, and behind those of each follow-up question its answer, titled with the question, with
            the ids lm:answer-1, lm:answer-2 …

    Args:
        retriever: Finds the passages. BlendFilter's comparison uses ColBERTv2, and BM25 in Table 4.
        k: Passages per follow-up question. Paper: 5 (BlendFilter, appendix D).
        follow_ups: Number of follow-up questions at most. The papers leave it to the LM; 5 is ours.
        style: Form of the last answer: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        follow_ups: Count = 5,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.follow_ups = follow_ups
        self.follow_up = dspy.Predict(AskFollowUp)
        self.intermediate = dspy.Predict(AnswerShortDirectly)
        self.answer = dspy.Predict(AnswerYesNoDirectly if style == "yesno" else AnswerShortDirectly)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        steps: list[dict[str, str]] = []
        evidence: list[Passage] = []
        for n in range(1, self.follow_ups + 1):
            # Is a follow-up question needed, and which? A repeated one ends the loop, because it would find the same.
            follow_up = self._follow_up(question, evidence)
            if not follow_up or follow_up in [step["question"] for step in steps]:
                break

            # Retrieval for the follow-up question. The context grows.
            searches.append(search_for(self.retriever, follow_up, self.k))
            evidence = union(evidence, searches[-1].found)

            # Its answer, which joins the context.
            answer = one_line(ask(self.intermediate, context=number(evidence), question=follow_up).answer)
            steps.append({"question": follow_up, "answer": answer})
            evidence.append(Passage(f"lm:answer-{n}", answer or "unknown", title=follow_up))

        # The answer to the question itself.
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            steps=steps,
            iterations=report_rounds([*(search.found for search in searches), []], growing=True),
        )

    def _follow_up(self, question: str, evidence: list[Passage]) -> str:
        """The next follow-up question; empty where none is needed or the reply could not be parsed."""
        reply = ask(self.follow_up, context=number(evidence), question=question)
        return line_or_nothing(reply.follow_up) if reply.needed == "yes" else ""


if __name__ == "__main__":
    from programs.commands.method import main

    main(SelfAsk)
