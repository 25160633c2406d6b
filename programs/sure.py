"""SuRe: two candidate answers, a summary of the passages in favour of each, and the candidate with the better summary.

Kim et al., "SuRe: Summarizing Retrievals using Answer Candidates for Open-domain QA of LLMs", ICLR 2024; a row of Kim
et al., "QPaug", Findings of EMNLP 2024, Table 2. Zero-shot, as in the paper.

question -> k passages -> two candidates -> a summary for each -> is it valid, which is better, both ways -> answer
"""

from functools import partial

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import one_line, simplify
from retrieval import AnyRetriever, Passage, as_retriever, number
from signatures.answer import ProposeTwoAnswers
from signatures.verify import CompareSummaries, SummarizeForCandidate, SupportsCandidate

__all__ = ["SuRe"]


class SuRe(Method):
    """Propose two answers, summarize the passages in favour of each, and give the answer whose summary holds better.

    An LM that has to argue for each of two answers sees more of the passages than one that settles on the first.

    Per question:
        LM calls: 7; 1 where fewer than two different answers are proposed.
        Searches: 1.
        Depth: 3 LM calls.

    In the result:
        candidates: the proposed answers, in order.
        valid: for each candidate, whether its summary supports it; empty where there is nothing to choose from.
        rank: for each candidate, the share of the comparisons that its summary won; empty in the same case.
        evidence: the passages, and behind them the summaries, titled with their candidates, with the ids lm:summary-1
            and lm:summary-2.

    Args:
        retriever: Finds the passages. QPaug's comparison uses Contriever.
        k: Passages to read. Paper: 10.
    """

    @checked
    def __init__(self, retriever: AnyRetriever, *, k: Count = 10) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.propose = dspy.Predict(ProposeTwoAnswers)
        self.summarize = dspy.Predict(SummarizeForCandidate)
        self.validate = dspy.Predict(SupportsCandidate)
        self.compare = dspy.Predict(CompareSummaries)

    def forward(self, question: str) -> dspy.Prediction:
        # Candidate generation, over all passages. A single candidate is the answer.
        found = self.retriever(question, self.k)
        context = number(found)
        proposed = ask(self.propose, context=context, question=question)
        candidates = _different(one_line(proposed.answer), one_line(proposed.alternative))
        if len(candidates) < 2:
            return result(
                answer="".join(candidates),
                queries=[question],
                passages=found,
                evidence=found,
                candidates=candidates,
                valid=[],
                rank=[],
            )

        # Conditional summarization: one summary for each candidate.
        first, second = candidates
        summaries = side_by_side(
            partial(self._summarize, context, question, first, second),
            partial(self._summarize, context, question, second, first),
        )

        # Instance-wise validation, v(s), and pair-wise ranking in both orders, r(s).
        *valid, forth, back = side_by_side(
            partial(self._valid, question, first, summaries[0]),
            partial(self._valid, question, second, summaries[1]),
            partial(self._better, question, *summaries),
            partial(self._better, question, *reversed(summaries)),
        )
        rank = _rank(forth, None if back is None else 1 - back)

        # The candidate with the highest v(s) + r(s); the first one where they are equal.
        best = 0 if valid[0] + rank[0] >= valid[1] + rank[1] else 1
        written = [
            Passage(f"lm:summary-{n}", summary, title=candidate)
            for n, (candidate, summary) in enumerate(zip(candidates, summaries, strict=True), 1)
        ]
        return result(
            answer=candidates[best],
            queries=[question],
            passages=found,
            evidence=[*found, *written],
            candidates=candidates,
            valid=valid,
            rank=rank,
        )

    def _summarize(self, context: str, question: str, candidate: str, rival: str) -> str:
        reply = ask(self.summarize, context=context, question=question, candidate=candidate, rival=rival)
        return one_line(reply.summary)

    def _valid(self, question: str, candidate: str, summary: str) -> bool:
        """Whether the summary supports the candidate; False where the reply could not be parsed."""
        reply = ask(self.validate, question=question, candidate=candidate, summary=summary)
        return reply.supported == "yes"  # type: ignore[no-any-return]

    def _better(self, question: str, first: str, second: str) -> int | None:
        """0 for the first summary, 1 for the second; None where the reply could not be parsed."""
        better = ask(self.compare, question=question, first=first, second=second).better
        return None if better is None else int(better == "second")


def _different(*answers: str) -> list[str]:
    """The answers that are not blank; of those that say the same, the first."""
    kept: dict[str, str] = {}
    for answer in answers:
        if simplify(answer):
            kept.setdefault(simplify(answer), answer)
    return list(kept.values())


def _rank(*winners: int | None) -> list[float]:
    """For each of the two, the share of the decided comparisons that it won; half each where none was decided."""
    decided = [winner for winner in winners if winner is not None]
    return [decided.count(n) / len(decided) if decided else 0.5 for n in (0, 1)]


if __name__ == "__main__":
    from programs.commands.method import main

    main(SuRe)
