"""ALCE: an answer whose sentences cite the passages, over the best passages that the question finds.

Gao et al., "Enabling Large Language Models to Generate Text with Citations", EMNLP 2023. It is the baseline of Wang et
al., "LLMs Know What They Need" (MIGRES), 2024, section 4.2 and Table 3, and is built as there: zero-shot, over reranked
passages.

question -> m passages, reranked -> k best, or k relevant ones shortened -> answer with citations, or best of several
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.citations import CitedAnswer, answer_citing, check_citations, report_fact
from programs.steps.filtering import Match, shorten
from programs.steps.method import Method
from programs.steps.result import Reading, Statements, result
from programs.steps.settings import Count, Temperature, checked
from programs.steps.side_by_side import side_by_side
from retrieval import AnyRetriever, Passage, UsageError, as_retriever
from signatures.answer import AnswerCiting, AnswerCitingYesNo
from signatures.extract import ExtractSnippet, SummarizePassage

__all__ = ["ALCE"]

_COMPRESSORS = {"summ": SummarizePassage, "snippet": ExtractSnippet}
_MAX_CITATIONS = 3  # of a sentence; more do not count for its citation recall


class ALCE(Method):
    """Answer with citations over the best passages: whole, or as summaries or snippets; or take the best of several.

    ALCE asks for sentences that each name the passages behind them, so that a reader can check an answer. Its four
    modes differ in what the LM reads and in how many replies it gives.

    Per question:
        LM calls: 1 with mode "vanilla"; `samples` with "rerank"; with "summ" and "snippet" 1 and one for each passage
            that is shortened, which are k to m passages: it stops at k relevant ones.
        Searches: 1.
        Depth: 1 LM call; with "summ" and "snippet" at least 2, because k passages are shortened side by side, then as
            many as are still missing.

    In the result:
        known_facts: the sentences of the reply, each with its text (`fact`) and the ids of the `passages` that it
            cites, unchecked.
        samples: for each reply its `answer` and its `citation_recall`, the share of its sentences that the passages
            cited for them entail (None with a single reply).

    The defaults of `reranker` and `entailment` compare words and need no model. The paper's kinds need the extra
    `dense`.

    Args:
        retriever: Finds the passages. Paper: BM25 with k1 0.9 and b 0.4 over Wikipedia of December 2017, 2018 or 2021.
        mode: "vanilla" reads whole passages, "summ" (SUMM) summaries of them and "snippet" (SNIPPET) snippets;
            "rerank" (RERANK) takes the reply with the highest citation recall of several. All are in MIGRES's Table 3.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
        m: Passages to search for. Paper: 50 (MIGRES, Table 11).
        k: Passages to read. Paper: 5 (MIGRES, 4.4).
        reranker: Orders the passages: lexical (compares words), cross-encoder:MODEL or upr:MODEL. Paper:
            cross-encoder:BAAI/bge-reranker-base (MIGRES, 4.1 and 4.2).
        samples: Number of replies with "rerank". Paper: 4 (MIGRES, 4.2).
        sample_temperature: Temperature of the LM for these replies. Paper: 0.5 (ALCE's released code).
        entailment: Judges the citations with "rerank": lexical (compares words), nli:MODEL or true:MODEL. Paper:
            true:google/t5_xxl_true_nli_mixture.
    """

    reads: ClassVar[dict[str, Reading]] = {"known_facts": Statements()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        mode: Literal["vanilla", "summ", "snippet", "rerank"] = "vanilla",
        style: Literal["short", "yesno"] = "short",
        m: Count = 50,
        k: Count = 5,
        reranker: str = "lexical",
        samples: Count = 4,
        sample_temperature: Temperature = 0.5,
        entailment: str = "lexical",
    ) -> None:
        super().__init__()
        if mode != "rerank" and entailment != "lexical":
            raise UsageError(
                f"entailment judges citations in mode 'rerank' alone: leave {entailment!r} out in {mode!r}"
            )
        from retrieval.ranking.entailment import load_entailment
        from retrieval.ranking.scorers import load_scorer

        self.retriever = as_retriever(retriever)
        self.m = m
        self.k = k
        self.samples = samples
        self.sample_temperature = sample_temperature
        self.scorer = load_scorer(reranker)
        self.judge = load_entailment(entailment) if mode == "rerank" else None
        self.compress = dspy.Predict(_COMPRESSORS[mode]) if mode in _COMPRESSORS else None
        self.answer = dspy.Predict(AnswerCitingYesNo if style == "yesno" else AnswerCiting)

    def forward(self, question: str) -> dspy.Prediction:
        from retrieval.ranking.rerank import rerank

        # Retrieval and reranking (MIGRES, 4.2); SUMM and SNIPPET shorten the passages.
        found = self.retriever(question, self.m)
        evidence = self._choose(question, rerank(question, found, self.scorer))

        # VANILLA: one reply. RERANK: several; the one with the best citation recall is taken, of equals
        # the first that answers.
        if self.judge:
            replies = side_by_side(*(partial(self._sample, evidence, question, n) for n in range(self.samples)))
            recalls: list[float | None] = [self._citation_recall(reply) for reply in replies]
        else:
            replies, recalls = [answer_citing(self.answer, evidence, question)], [None]
        best = max(range(len(replies)), key=lambda n: (recalls[n] or 0.0, bool(replies[n].answer)))
        return result(
            answer=replies[best].answer,
            queries=[question],
            passages=found,
            evidence=evidence,
            known_facts=[report_fact(fact) for fact in replies[best].facts],
            samples=[
                {"answer": reply.answer, "citation_recall": recall}
                for reply, recall in zip(replies, recalls, strict=True)
            ],
        )

    def _choose(self, question: str, ranked: Sequence[Passage]) -> list[Passage]:
        """The k best passages; with SUMM and SNIPPET the k best that the LM finds relevant, shortened by it."""
        if not self.compress:
            return list(ranked[: self.k])
        shown, _ = shorten(self.compress, [Match(passage, question) for passage in ranked], self.k)
        return [match.passage for match in shown]

    def _sample(self, evidence: Sequence[Passage], question: str, n: int) -> CitedAnswer:
        """The n-th reply. Without its number DSPy's cache would give the first reply every time."""
        return answer_citing(self.answer, evidence, question, temperature=self.sample_temperature, rollout_id=n)

    def _citation_recall(self, reply: CitedAnswer) -> float:
        """The share of the sentences that their citations (not all passages together) entail; 0 without sentences."""
        assert self.judge is not None
        held = check_citations(
            [fact._replace(passages=fact.passages[:_MAX_CITATIONS]) for fact in reply.facts], self.judge
        )
        return sum(held) / len(held) if held else 0.0


if __name__ == "__main__":
    from programs.commands.method import main

    main(ALCE)
