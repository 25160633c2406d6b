"""Self-verification: sample answers by chain of thought, check each backwards, take the one that passes best.

Weng et al., "Large Language Models are Better Reasoners with Self-Verification", Findings of EMNLP 2023; a closed-book
row of Kim et al., "QPaug", Findings of EMNLP 2024, Table 2. Zero-shot here; the paper shows examples.

question -> n sampled answers with reasoning -> each different one verified P times -> the answer with the best score
"""

import re
from functools import partial
from typing import Any, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, one_line, simplify
from retrieval import AnyRetriever, UsageError, as_retriever
from signatures.answer import AnswerInThreeWordsFromMemory, AnswerShortFromMemory, AnswerYesNoFromMemory
from signatures.verify import CheckConclusion, ChooseCondition, RecoverCondition

__all__ = ["SelfVerification"]

_PROMPTS = {
    "short": AnswerShortFromMemory,
    "yesno": AnswerYesNoFromMemory,
    "three-words": AnswerInThreeWordsFromMemory,
}


class SelfVerification(Method):
    """Sample answers by chain of thought, verify each from its conclusion back, and give the one that is best verified.

    Reasoning can go wrong unnoticed. An answer that is right also makes sense backwards: with it, the question becomes
    a true statement, and a hidden part of the question can be worked out.

    Per question:
        LM calls: 5 where all samples agree, because there is nothing to choose; 10 where all differ. With other
            settings n, and `verifications` for each different answer. With verify "condition" 1 more, and no
            verification where no part of the question can be hidden.
        Searches: none.
        Depth: 2 LM calls.

    In the result:
        candidates: the different answers, in the order in which they came.
        votes: how often each candidate was sampled.
        scores: how many of its verifications each candidate passed; empty where nothing was verified.
        reasoning: the reasoning that first led to the answer.

    Args:
        retriever: None; a retriever given here is never searched.
        n: Answers to sample. Paper: 5 (4.4).
        verify: "statement" asks whether question and answer make a true statement, the paper's form for questions
            without arithmetic; "condition" hides a part of the question and has it worked out from the answer.
        verifications: How often each different answer is verified (P). Paper: 10 (4.4), so that fewer scores are equal.
        sampling: Temperature of the answers and verifications, above 0. Released code: 0.3 and 0.2.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA), "three-words" with
            the limit of QPaug's prompts (its Table 2).
    """

    @checked
    def __init__(
        self,
        retriever: AnyRetriever | None,
        *,
        n: Count = 5,
        verify: Literal["statement", "condition"] = "statement",
        verifications: Count = 1,
        sampling: float = 0.3,
        style: Literal["short", "yesno", "three-words"] = "short",
    ) -> None:
        super().__init__()
        if not sampling > 0:
            raise UsageError(
                f"sampling is a temperature and must be above 0, not {sampling}: at 0 all answers would be the same"
            )
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.n = n
        self.verifications = verifications
        self.sampling = sampling
        self.answer = chain_of_thought(_PROMPTS[style])
        self.choose = dspy.Predict(ChooseCondition) if verify == "condition" else None
        self.check = chain_of_thought(CheckConclusion if verify == "statement" else RecoverCondition)

    def forward(self, question: str) -> dspy.Prediction:
        # Forward reasoning (3.1): candidate answers by chain of thought. The condition to hide is chosen beside it.
        condition, *replies = side_by_side(
            partial(self._choose, question),
            *(partial(ask, self.answer, config=self._sampled(i), question=question) for i in range(self.n)),
        )
        same: dict[str, list[dspy.Prediction]] = {}
        for reply in replies:
            if answer := simplify(as_text(reply.answer)):
                same.setdefault(answer, []).append(reply)
        candidates = [one_line(as_text(replies[0].answer)) for replies in same.values()]
        votes = [len(replies) for replies in same.values()]

        # Backward verification (3.2): how many of its P verifications each different candidate passes.
        scores = []
        if len(candidates) > 1:
            calls = [partial(self._passes, question, candidate, condition) for candidate in candidates]
            passed = side_by_side(*(partial(call, i) for i in range(self.verifications) for call in calls))
            scores = [sum(passed[n :: len(calls)]) for n in range(len(calls))]

        # The candidate with the highest score; of equals the one that was sampled most often, then the first.
        ranking = zip(scores or votes, votes, same.values(), strict=True)
        best = max(ranking, key=lambda row: row[:2])[2][0] if candidates else None
        return result(
            answer=best and best.answer,
            queries=[],
            passages=[],
            evidence=[],
            candidates=candidates,
            votes=votes,
            scores=scores,
            reasoning=as_text(best and best.reasoning),
        )

    def _sampled(self, i: int) -> dict[str, Any]:
        """The settings of the i-th sample. Its number keeps DSPy's cache from giving the same reply every time."""
        return {"rollout_id": i, "temperature": self.sampling}

    def _choose(self, question: str) -> str:
        """The part of the question to hide; empty where the reply is no part of the question."""
        condition = one_line(ask(self.choose, question=question).condition) if self.choose else ""
        return condition if re.search(re.escape(condition), question, re.IGNORECASE) else ""

    def _passes(self, question: str, candidate: str, condition: str, i: int) -> bool:
        """Whether one verification passes; it fails where its reply cannot be parsed or nothing could be hidden."""
        if not self.choose:
            reply = ask(self.check, config=self._sampled(i), question=question, candidate=candidate)
            return reply.correct == "yes"  # type: ignore[no-any-return]
        if not condition:
            return False
        masked = re.sub(re.escape(condition), "X", question, count=1, flags=re.IGNORECASE)
        reply = ask(self.check, config=self._sampled(i), question=masked, candidate=candidate)
        return simplify(one_line(reply.condition)) == simplify(condition)


if __name__ == "__main__":
    from programs.commands.method import main

    main(SelfVerification)
