"""Self-verification: several answers by chain of thought, each checked backwards, and the one that stands up best.

Weng et al., "Large Language Models are Better Reasoners with Self-Verification", Findings of EMNLP 2023, which Kim et
al., "QPaug", Findings of EMNLP 2024, Table 2, compare with, closed book. Zero-shot here; the paper shows examples.

question -> n sampled answers with reasoning -> each different one verified P times -> the answer with the best score
"""

import re
from functools import partial
from typing import Any, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.logprobs import bare
from programs.steps.result import result, say
from programs.steps.side_by_side import in_thread, side_by_side
from programs.steps.text import line
from retrieval import Retriever, UsageError
from signatures.answer import AnswerShortFromMemory, AnswerYesNoFromMemory
from signatures.verify import CheckConclusion, ChooseCondition, RecoverCondition

__all__ = ["SelfVerification"]


class SelfVerification(dspy.Module):
    """Sample answers by chain of thought, verify each from its conclusion back, and give the one that is best verified.

    Per question with d different answers among the n sampled ones: n + dP LM calls (P is `verifications`), so 2n where
    all differ and each is verified once; n where all agree, for then there is nothing to choose. With `verify`
    "condition" one LM call more, beside the sampling, and none to verify where no part of the question could be hidden.
    2 LM calls deep, and no search. An unparsable reply costs one call more, in which DSPy asks for JSON.

    The result has these fields besides the common four: `candidates`, the different answers in the order in which they
    came; `votes`, how often each was sampled; `scores`, how many of its verifications each passed, empty where nothing
    was verified; `reasoning`, which first led to the answer.

    Args:
        retriever: None; whatever is given here is never searched.
        n: Answers to sample. Paper: 5 (4.4).
        verify: "statement" asks whether question and answer make a true statement, the paper's form for questions that
            are no arithmetic; "condition" hides a part of the question and has it worked out from the answer.
        verifications: How often each different answer is verified (P). Paper: 10 (4.4), so that fewer scores are equal.
        sampling: Temperature of the answers and verifications, above 0. Released code: 0.3 and 0.2.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    def __init__(
        self,
        retriever: Retriever | None,
        *,
        n: int = 5,
        verify: Literal["statement", "condition"] = "statement",
        verifications: int = 1,
        sampling: float = 0.3,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        for name, count in {"n": n, "verifications": verifications}.items():
            if count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        if not sampling > 0:
            raise UsageError(f"sampling must be above 0, not {sampling}: at 0 all answers would be the same")
        self.retriever = retriever
        self.n = n
        self.verifications = verifications
        self.sampling = sampling
        self.answer = dspy.ChainOfThought(AnswerYesNoFromMemory if style == "yesno" else AnswerShortFromMemory)
        self.choose = dspy.Predict(ChooseCondition) if verify == "condition" else None
        self.check = dspy.ChainOfThought(CheckConclusion if verify == "statement" else RecoverCondition)

    def forward(self, question: str) -> dspy.Prediction:
        # Forward reasoning (3.1): candidate answers by chain of thought. What to hide can be chosen beside it.
        condition, *replies = side_by_side(
            partial(self._choose, question),
            *(partial(ask, self.answer, config=self._sampled(i), question=question) for i in range(self.n)),
        )
        same: dict[str, list[dspy.Prediction]] = {}
        for reply in replies:
            if answer := bare(say(reply.answer)):
                same.setdefault(answer, []).append(reply)
        candidates = [line(say(replies[0].answer)) for replies in same.values()]
        votes = [len(replies) for replies in same.values()]

        # Backward verification (3.2), of each different candidate P times: how often the question agrees with it.
        scores = []
        if len(candidates) > 1:
            calls = [partial(self._passes, question, candidate, condition) for candidate in candidates]
            passed = side_by_side(*(partial(call, i) for i in range(self.verifications) for call in calls))
            scores = [sum(passed[n :: len(calls)]) for n in range(len(calls))]

        # The candidate with the highest score; of several, the one that was sampled most often, then the first.
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
            reasoning=say(best and best.reasoning),
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _sampled(self, i: int) -> dict[str, Any]:
        """What makes DSPy ask anew for another reply to the same prompt, and its cache keep the replies apart."""
        return {"rollout_id": i, "temperature": self.sampling}

    def _choose(self, question: str) -> str:
        """The part of the question that is hidden; empty where none is, or the reply is no part of it."""
        condition = line(ask(self.choose, question=question).condition) if self.choose else ""
        return condition if re.search(re.escape(condition), question, re.IGNORECASE) else ""

    def _passes(self, question: str, candidate: str, condition: str, i: int) -> bool:
        """Whether one verification agrees; not where its reply could not be parsed, or nothing could be hidden."""
        if not self.choose:
            return bool(ask(self.check, config=self._sampled(i), question=question, candidate=candidate).correct)
        if not condition:
            return False
        masked = re.sub(re.escape(condition), "X", question, count=1, flags=re.IGNORECASE)
        reply = ask(self.check, config=self._sampled(i), question=masked, candidate=candidate)
        return bare(line(reply.condition)) == bare(condition)


if __name__ == "__main__":
    from programs.commands.method import main

    main(SelfVerification)
