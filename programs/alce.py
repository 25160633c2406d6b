"""ALCE: the passages that the question finds, reranked and perhaps made shorter, and an answer that cites them.

Gao et al., "Enabling Large Language Models to Generate Text with Citations", EMNLP 2023, as Wang et al., "LLMs Know
What They Need" (MIGRES), 2024, section 4.2, compare with it in Table 3: zero-shot, over reranked passages.

question -> m passages, reranked -> k best, or k relevant ones made shorter -> answer with citations, or best of several
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import dspy

from programs.steps.citations import Cited, answer_citing, entailed, record
from programs.steps.filtering import Candidate, shortened
from programs.steps.result import result
from programs.steps.side_by_side import in_thread, side_by_side
from retrieval import Passage, Retriever, UsageError
from signatures.answer import AnswerCiting, AnswerCitingYesNo
from signatures.extract import ExtractSnippet, SummarizePassage

__all__ = ["ALCE"]

_COMPRESSORS = {"summ": SummarizePassage, "snippet": ExtractSnippet}
_MOST = 3  # citations of a sentence that count for its citation recall


class ALCE(dspy.Module):
    """Answer with citations over the best passages: whole, or as summaries or snippets; or take the best of several.

    Per question: 1 search. LM calls: 1 with mode "vanilla"; `samples` side by side with "rerank"; with "summ" and
    "snippet" 1, and before it one for each passage that is looked at, from k to m of them, until k are found that are
    not irrelevant: k side by side, then as many as are wanting. An unparsable reply costs one call more, in which DSPy
    asks for JSON.

    The result has these fields besides the common four: `known_facts`, the sentences of the reply, each with its text,
    `fact`, and the ids of the `passages` that it cites, unchecked; `samples`, for each reply its `answer` and its
    `citation_recall`, the share of its sentences that the passages cited for them entail (None where there is but one
    reply).

    The defaults of `reranker` and `entailment` compare words and need no model; the paper's kind needs the extra
    `dense`.

    Args:
        retriever: Finds the passages. Paper: BM25 with k1 0.9 and b 0.4 over Wikipedia of December 2017, 2018 or 2021.
        mode: "vanilla", or in MIGRES's Table 3 also "summ" (SUMM) and "snippet" (SNIPPET): what the LM reads of each
            passage; "rerank" (RERANK): several replies, of which the one with the highest citation recall is taken.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
        m: Passages to search for. Paper: 50 (MIGRES, Table 11).
        k: Passages to read. Paper: 5 (MIGRES, 4.4).
        reranker: Orders the passages: lexical (compares words), cross-encoder:MODEL or upr:MODEL. Paper:
            cross-encoder:BAAI/bge-reranker-base (MIGRES, 4.1 and 4.2).
        samples: Replies with "rerank". Paper: 4 (MIGRES, 4.2).
        sample_temperature: Of the LM for these replies. Paper: 0.5 (ALCE's released code).
        entailment: Judges the citations with "rerank": lexical (compares words), nli:MODEL or true:MODEL. Paper:
            true:google/t5_xxl_true_nli_mixture.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        mode: Literal["vanilla", "summ", "snippet", "rerank"] = "vanilla",
        style: Literal["short", "yesno"] = "short",
        m: int = 50,
        k: int = 5,
        reranker: str = "lexical",
        samples: int = 4,
        sample_temperature: float = 0.5,
        entailment: str = "lexical",
    ) -> None:
        super().__init__()
        for name, count in {"m": m, "k": k, "samples": samples}.items():
            if count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        from retrieval.ranking.entailment import load_entailment
        from retrieval.ranking.scorers import load_scorer

        self.retriever = retriever
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

        # Retrieval, and MIGRES's reranker on top (its section 4.2).
        found = self.retriever(question, self.m)
        evidence = self._choose(question, rerank(question, found, self.scorer))

        # VANILLA: one reply. RERANK: several, of which the one whose citations hold best is taken, the first of equals.
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
            known_facts=[record(fact) for fact in replies[best].facts],
            samples=[
                {"answer": reply.answer, "citation_recall": recall}
                for reply, recall in zip(replies, recalls, strict=True)
            ],
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _choose(self, question: str, ranked: Sequence[Passage]) -> list[Passage]:
        """The k best; with SUMM and SNIPPET the k best that the LM finds relevant, as it makes them shorter."""
        if not self.compress:
            return list(ranked[: self.k])
        shown, _ = shortened(self.compress, [Candidate(passage, question) for passage in ranked], self.k)
        return [candidate.passage for candidate in shown]

    def _sample(self, evidence: Sequence[Passage], question: str, n: int) -> Cited:
        """The n-th reply; the number keeps DSPy's cache from giving the first one for all."""
        return answer_citing(self.answer, evidence, question, temperature=self.sample_temperature, rollout_id=n)

    def _citation_recall(self, reply: Cited) -> float:
        """The share of the sentences that their citations, and not all passages, entail; 0 without sentences."""
        assert self.judge is not None
        held = entailed([fact._replace(passages=fact.passages[:_MOST]) for fact in reply.facts], self.judge)
        return sum(held) / len(held) if held else 0.0


if __name__ == "__main__":
    from programs.commands.method import main

    main(ALCE)
