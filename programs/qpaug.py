"""QPaug: a plan of simpler questions for the search, a passage of the LM's own beside the retrieved ones.

Kim, Park and Baek, "QPaug: Question and Passage Augmentation for Open-Domain Question Answering of LLMs", Findings of
EMNLP 2024; sections 3.2 and 3.3 and appendix A. Here a refusal in plain words counts as [NONE] too, so that the
answering call never reads one.

question -> plan -> [passages for question + plan, passage from memory or none] -> answer over both, labelled apart
"""

from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.search import search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import blend, passage_or_nothing
from retrieval import AnyRetriever, Passage, UsageError, as_retriever, number
from signatures.answer import AnswerInThreeWords, AnswerInThreeWordsFromBoth
from signatures.query import PlanQuestion
from signatures.write import WritePassageOrNone

__all__ = ["QPaug"]


class QPaug(Method):
    """Search with the question and a plan of simpler questions, add a passage from memory, answer over both.

    The plan makes a question with several steps easier to search for. The passage from memory fills gaps of the corpus.
    It is labelled as the LM's own knowledge, so that the LM can weigh it against the retrieved passages.

    Per question:
        LM calls: 3.
        Searches: 1.
        Depth: 3 LM calls, with the search beside the second; 2 where the passage is written from the question alone.

    In the result:
        plan: the plan; empty where none was asked for, the LM declined to write one or its reply could not be parsed.
        knowledge: the generated passage; empty where the LM declined to write one.
        evidence: the retrieved passages, and behind them the generated one, with the id lm:passage.

    Args:
        retriever: Finds the passages. The paper uses SBERT, ANCE and Contriever, over the 21,015,324 Wikipedia passages
            of DPR.
        k: Passages to retrieve. Paper: 9 beside the generated one, 10 without it (4.1), which is what None stands for;
            10, 50 and 100 in Fig. 2.
        augment: Augment the question with a plan (Qaug). Tables 5 to 7 leave it out.
        generate: Add a generated passage (Pgen). Table 4 leaves it out.
        query: What to search with: the question and its plan, as in Eq. 4, or the plan alone, as in the released code.
        generate_from: What the passage is written from: the question and its plan, as in Eq. 6, or the question alone,
            as in the released code.
    """

    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count | None = None,
        augment: bool = True,
        generate: bool = True,
        query: Literal["question+plan", "plan"] = "question+plan",
        generate_from: Literal["question+plan", "question"] = "question+plan",
    ) -> None:
        super().__init__()
        if query == "plan" and not augment:
            raise UsageError('without augment there is no plan to search with: set query to "question+plan"')
        self.retriever = as_retriever(retriever)
        self.k = (9 if generate else 10) if k is None else k
        self.query = query
        self.generate_from = generate_from
        self.plan = dspy.Predict(PlanQuestion) if augment else None
        self.recall = dspy.Predict(WritePassageOrNone) if generate else None
        self.answer = dspy.Predict(AnswerInThreeWordsFromBoth if generate else AnswerInThreeWords)

    def forward(self, question: str) -> dspy.Prediction:
        # Question augmentation (3.2, Eqs 3 and 4). A passage written from the question alone is asked for beside it.
        alone = self.generate_from == "question"
        plan, early = side_by_side(partial(self._plan, question), partial(self._recall, question if alone else ""))
        augmented = blend(question, plan)

        # Retrieval (Eq. 5), and beside it passage self-generation (3.3, Eq. 6).
        query = plan if plan and self.query == "plan" else augmented
        search, late = side_by_side(
            partial(search_for, self.retriever, query, self.k), partial(self._recall, "" if alone else augmented)
        )
        found: list[Passage] = search.found
        knowledge: str = early or late

        # Answer prediction (Eq. 7). Where the passage was declined the whole prompt is that of the retrieved ones: an
        # instruction about both, compiled or not, does not fit.
        both = {"knowledge": knowledge} if knowledge else {"signature": AnswerInThreeWords} if self.recall else {}
        reply = ask(self.answer, context=number(found), question=question, **both)
        return result(
            answer=reply.answer,
            queries=[search.query],
            passages=found,
            evidence=[*found, Passage("lm:passage", knowledge)] if knowledge else found,
            plan=plan,
            knowledge=knowledge,
        )

    def _plan(self, question: str) -> str:
        """q_aug = M(P_aug(q))."""
        return passage_or_nothing(ask(self.plan, question=question).plan) if self.plan else ""

    def _recall(self, question: str) -> str:
        """The generated passage, M(P_gen(question)); empty without a question, or where the LM declines."""
        if not (self.recall and question):
            return ""
        return passage_or_nothing(ask(self.recall, question=question).passage)


if __name__ == "__main__":
    from programs.commands.method import main

    main(QPaug)
