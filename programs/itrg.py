"""ITRG: write a document from what was found, search with it, write it anew from what that finds; then read it.

Feng et al., "Retrieval-Generation Synergy Augmented Large Language Models", ICASSP 2024; a row of Wang et al.,
"MIGRES", 2024, Table 3. From the paper, because there is no official code. ITER-RETGEN searches with its last answer,
ITRG with a document, and answers from that alone. Zero-shot, which is one of the paper's settings.

question -> k passages -> document -> (question + document -> k passages -> document) T - 1 times -> answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Lists, Reading, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import blend, one_line
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.write import UpdateDocument, WriteDocument

__all__ = ["ITRG"]


class ITRG(Method):
    """Write a document in turns, each from the passages that the question and the last document find; answer from it.

    The document gathers what the searches find, and makes each next query more precise.

    Per question:
        LM calls: 1 per turn and 1 for the answer, which is 6.
        Searches: 1 per turn, which is 5.
        Depth: as many LM calls as are made. With strategy "refine" the turns end early where a search finds nothing
            but what the last one found.

    In the result:
        found: passage ids of each turn.
        documents: the document after each turn; the same as before where a reply could not be parsed.
        evidence: the last document, with the id lm:document.

    Args:
        retriever: Finds the passages. The paper uses a dense one over Wikipedia of December 2018.
        k: Passages per turn. Paper: 5 (3.3).
        turns: How often to search and write (T), at most. Paper: 5 (3.3).
        strategy: "refresh" writes each document from all passages of its turn, and from nothing else; "refine" improves
            the last document with the passages that the last turn did not find. The paper has both (2.3).
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"found": Lists()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        turns: Count = 5,
        strategy: Literal["refresh", "refine"] = "refresh",
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.turns = turns
        self.refine = strategy == "refine"
        self.write = dspy.Predict(UpdateDocument if self.refine else WriteDocument)
        self.answer = dspy.Predict(AnswerYesNoDirectly if style == "yesno" else AnswerShortDirectly)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        documents = [""]
        for _ in range(self.turns):
            # Generation augmented retrieval (2.2): the question, and behind it the last document.
            search = search_for(self.retriever, blend(question, documents[-1]), self.k)
            last = searches[-1] if self.refine and searches else None
            searches.append(search)

            # Retrieval augmented generation (2.3): from R_t; to refine, from R_t - R_t-1 (Eqs 1 and 2). Where that is
            # empty, the document would stay as it is, and all later searches would find the same.
            shown = [passage for passage in search.found if not (last and passage in last.found)]
            if last and not shown:
                break
            documents.append(self._write(question, documents[-1], shown))

        # The answer, from the last document.
        evidence = [Passage("lm:document", documents[-1])] if documents[-1] else []
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            found=[[passage.id for passage in search.found] for search in searches],
            documents=documents[1:],
        )

    def _write(self, question: str, last: str, shown: list[Passage]) -> str:
        """The next document; the last one again where the reply is empty or could not be parsed."""
        draft = {"draft": last} if self.refine else {}
        return one_line(ask(self.write, context=number(shown), question=question, **draft).document) or last


if __name__ == "__main__":
    from programs.commands.method import main

    main(ITRG)
