"""Hop: per hop a query for what the notes lack, and notes on what it finds; the answer follows from the notes.

The multi-hop program of DSPy's own tutorial on HoVer (dspy.ai/tutorials/multihop_search), for questions: there it
gathers the titles of the pages that a claim rests on, and no answer is given. Here passages are named by their numbers,
and an answering call over the notes stands at the end.

question -> (query -> k passages -> notes, relevant passages) per hop -> answer over the notes
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Reading, Statements, Turns, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import as_text, clean_list, line_or_nothing, simplify, unless_declined
from retrieval import AnyRetriever, Passage, as_retriever, number, pick, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.extract import TakeNotes
from signatures.query import AskForHop

__all__ = ["Hop"]


class Hop(Method):
    """Search and take notes hop by hop, and answer from the notes.

    Notes are short, so that many passages can be searched without the LM having to read all of them again at each hop,
    and each next query starts from what is known.

    Per question:
        LM calls: 2 per hop and 1 for the answer, 9 at most; none for notes where a search finds nothing.
        Searches: 1 per hop, 4 at most; fewer where a hop has no query, or one that was searched before.
        Depth: as many LM calls as are made.

    In the result:
        notes: each note as a `fact`, with the ids of the `passages` that the LM found relevant in its hop.
        iterations: for each hop the ids of the passages `retrieved` and `shown` to the call that takes the notes, and
            of the relevant ones, which are `kept`.
        reasoning: the reasoning that led to the answer.
        evidence: the notes, with the ids lm:note-1, lm:note-2 …

    Args:
        retriever: Finds the passages. The tutorial uses BM25 over the abstracts of Wikipedia of 2017.
        k: Passages per hop. Tutorial: 10.
        hops: Number of hops at most. Tutorial: 4.
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"notes": Statements(), "iterations": Turns()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self, retriever: AnyRetriever, *, k: Count = 10, hops: Count = 4, style: Literal["short", "yesno"] = "short"
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.hops = hops
        self.query = chain_of_thought(AskForHop)
        self.note = chain_of_thought(TakeNotes)
        self.answer = chain_of_thought(AnswerYesNo if style == "yesno" else AnswerShort, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        searches: list[Search] = []
        notes: list[Passage] = []
        cited: list[list[str]] = []  # for each note
        iterations: list[dict[str, list[str]]] = []
        for _ in range(self.hops):
            # The query for what the notes lack; in the first hop the question itself where the LM has none.
            query = self._query(question, notes) or ("" if searches else question)
            if not query or query in [search.query for search in searches]:
                break
            searches.append(search_for(self.retriever, query, self.k))
            found = searches[-1].found

            # Notes on what it found, which join the others, and the passages that they rest on.
            new, relevant = self._notes(question, notes, found)
            kept = [passage.id for passage in relevant]
            known = {simplify(note.text) for note in notes}
            for text in new:
                if simplify(text) not in known:
                    notes.append(Passage(f"lm:note-{len(notes) + 1}", text))
                    cited.append(kept)
            ids = [passage.id for passage in found]
            iterations.append({"retrieved": ids, "kept": kept, "shown": ids})

        # The answer, from the notes.
        reply = ask(self.answer, context=number(notes), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=notes,
            notes=[{"fact": note.text, "passages": ids} for note, ids in zip(notes, cited, strict=True)],
            iterations=iterations,
            reasoning=as_text(reply.reasoning),
        )

    def _query(self, question: str, notes: list[Passage]) -> str:
        """The next query; empty where the LM wrote none, or a refusal."""
        query = line_or_nothing(ask(self.query, question=question, notes=number(notes)).query)
        return unless_declined(query)

    def _notes(self, question: str, notes: list[Passage], found: list[Passage]) -> tuple[list[str], list[Passage]]:
        """Notes on the passages, and the relevant ones of these; none where the reply could not be parsed."""
        if not found:
            return [], []
        reply = ask(self.note, question=question, notes=number(notes), context=number(found))
        return clean_list(reply.new_notes), pick(found, reply.relevant or [])


if __name__ == "__main__":
    from programs.commands.method import main

    main(Hop)
