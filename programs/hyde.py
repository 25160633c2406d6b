"""HyDE: the LM writes passages that could answer the question, and what is like them is searched for.

Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023. The paper averages the vectors of
the question and of the written passages. A passage's inner product with that average is the mean of its scores for the
texts, so here the scores of one search per text are added: that works with every retriever. Where one gives no scores,
reciprocal ranks are added.

question -> n passages from memory -> question and passages searched, scores added -> k passages -> answer
"""

from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.search import search_for
from programs.steps.settings import Count, Temperature, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import passage_or_nothing
from retrieval import AnyRetriever, as_retriever, number, union
from retrieval.ranking.fuse import interpolate, reciprocal_rank_fusion
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.write import WritePassage

__all__ = ["HyDE"]


class HyDE(Method):
    """Write passages that could answer the question, search for passages like them, and answer over what is found.

    A passage that answers a question shares more words and more meaning with a written answer than with the question.
    It need not be right: what is made up is not in the corpus, and only what is found is read.

    Per question:
        LM calls: 1 per written passage and 1 for the answer, which is 9.
        Searches: 1 for the question and 1 per written passage, which is 9.
        Depth: 2 LM calls.

    In the result:
        written: the written passages; one that the LM declined to write, or that could not be parsed, is left out.
        evidence: the k passages with the highest sum of scores, with that sum.

    Args:
        retriever: Finds the passages, best with scores. Paper: Contriever.
        k: Passages to read. The paper ranks and reads nothing.
        n: Number of passages to write. The authors' code: 8.
        sampling: Temperature of the LM for these. Paper: 0.7.
        m: Passages per search whose scores are added. The scores of a search are brought to 0 … 1; a passage that is
            not among its m best has 0 there.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        n: Count = 8,
        sampling: Temperature = 0.7,
        m: Count = 100,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.n = n
        self.sampling = sampling
        self.m = m
        self.write = dspy.Predict(WritePassage)
        self.answer = dspy.Predict(AnswerYesNoDirectly if style == "yesno" else AnswerShortDirectly)

    def forward(self, question: str) -> dspy.Prediction:
        # Generation (section 3.2): n hypothetical documents.
        replies = side_by_side(*(partial(self._write, question, sample) for sample in range(self.n)))
        written = [text for reply in replies if (text := passage_or_nothing(reply.passage))]

        # Encoding and search (Eq. 8): the documents nearest to the mean of the question and the written ones.
        searches = [search_for(self.retriever, text, self.m) for text in [question, *written]]
        lists = [search.found for search in searches if search.found]
        scored = all(passage.score is not None for found in lists for passage in found)
        evidence = (interpolate if scored else reciprocal_rank_fusion)(lists)[: self.k]

        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            written=written,
        )

    def _write(self, question: str, sample: int) -> dspy.Prediction:
        """One passage. The number of the sample keeps DSPy's cache from giving the same one every time."""
        return ask(self.write, config={"temperature": self.sampling, "rollout_id": sample}, question=question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(HyDE)
