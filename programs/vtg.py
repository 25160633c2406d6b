"""VTG: a text written sentence by sentence, each with citations that are verified before the next one is written.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection", EMNLP 2024. From its abstract
and from the description in Wang et al., "LLMs Know What They Need" (MIGRES), 2024, section 4.2, because the authors'
code is not public. What these leave open is decided here.

question -> k passages -> (sentence with citations -> verify -> look in memory -> new queries -> keep, drop) … -> answer
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.citations import Fact, check_citations, find_support, report_fact, resolve_citations
from programs.steps.method import Method
from programs.steps.result import Reading, Statements, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import clean_list
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.query import AskForEvidence
from signatures.write import WriteNextSentence

__all__ = ["VTG"]

_MAX_QUERIES = 3  # for one sentence
_MAX_CITATIONS = 3  # of a sentence


class VTG(Method):
    """Write sentences with citations, keep those that passages entail, search for what lacks evidence, answer.

    Citations that an LM writes often do not hold. Here each sentence is checked before the next one is written, and a
    sentence without support is searched for before it is dropped.

    Per question:
        LM calls: 2 at least; 1 per sentence written, 1 for queries for each sentence that nothing in memory supports, 1
            that ends the text (unless as many sentences as allowed are written), and 1 for the answer.
        Searches: 1, and up to 3 side by side for each sentence that nothing in memory supports.
        Depth: as many LM calls as are made.

    In the result:
        known_facts: the sentences that were kept, each with its text (`fact`) and the ids of the `passages` that
            support it.
        unsupported: the sentences that were dropped.
        evidence: the sentences that were kept, with the ids lm:sentence-1, lm:sentence-2 …; where none is left, the
            answer is from what the LM knows.

    The default of `entailment` compares words and needs no model. The paper's kind needs the extra `dense`.

    Args:
        retriever: Finds the passages.
        k: Passages per query. Ours: 5, as for the other methods.
        sentences: Sentences to be written, at most, the dropped ones included. Ours: 5.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
        entailment: Verifies the sentences: lexical (compares words), nli:MODEL or true:MODEL. Paper: a model for
            natural language inference.
    """

    reads: ClassVar[dict[str, Reading]] = {"known_facts": Statements()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        sentences: Count = 5,
        style: Literal["short", "yesno"] = "short",
        entailment: str = "lexical",
    ) -> None:
        super().__init__()
        from retrieval.ranking.entailment import load_entailment

        self.retriever = as_retriever(retriever)
        self.k = k
        self.sentences = sentences
        self.judge = load_entailment(entailment)
        self.write = dspy.Predict(WriteNextSentence)
        self.queries = dspy.Predict(AskForEvidence)
        self.answer = dspy.Predict(AnswerYesNoDirectly if style == "yesno" else AnswerShortDirectly)

    def forward(self, question: str) -> dspy.Prediction:
        searches = [search_for(self.retriever, question, self.k)]
        memory = searches[0].found
        kept: list[Fact] = []
        dropped: list[str] = []
        for _ in range(self.sentences):
            # Generation with memory: the next sentence, with citations of passages in memory.
            sentence = self._write(question, memory, kept, dropped)
            if sentence is None:
                break

            # Generation verifier: do its citations entail it? Memory verifier: does anything else in memory?
            support = self._verify(sentence, memory)

            # Evidence finder: search for support. What is found to support it stays in memory for later sentences.
            if not support:
                found = self._find_evidence(question, sentence.text)
                searches += found
                support = find_support(sentence.text, union(*(search.found for search in found)), self.judge)[
                    :_MAX_CITATIONS
                ]
                memory = union(memory, support)

            # A sentence that nothing supports is dropped.
            if support:
                kept.append(Fact(sentence.text, support))
            else:
                dropped.append(sentence.text)

        # The short answer, from the text.
        evidence = [Passage(f"lm:sentence-{n}", fact.text) for n, fact in enumerate(kept, 1)]
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            known_facts=[report_fact(fact) for fact in kept],
            unsupported=dropped,
        )

    def _write(
        self, question: str, memory: Sequence[Passage], kept: Sequence[Fact], dropped: Sequence[str]
    ) -> Fact | None:
        """The first new sentence of the reply, with the first three passages that it cites.

        None where there is no new sentence: the text is finished.
        """
        reply = ask(
            self.write,
            context=number(memory),
            question=question,
            history="\n".join(fact.text for fact in kept),
            rejected_history="\n".join(dropped),
        )
        written = {text.casefold() for text in (*(fact.text for fact in kept), *dropped)}
        new = (fact for fact in resolve_citations(reply.statements, memory) if fact.text.casefold() not in written)
        return next((Fact(text, passages[:_MAX_CITATIONS]) for text, passages in new), None)

    def _verify(self, sentence: Fact, memory: Sequence[Passage]) -> list[Passage]:
        """The passages that support the sentence: those it cites, taken together, or else others in memory, one by one.

        Empty where none do.
        """
        (held,) = check_citations([sentence], self.judge)
        return sentence.passages if held else find_support(sentence.text, memory, self.judge)[:_MAX_CITATIONS]

    def _find_evidence(self, question: str, sentence: str) -> list[Search]:
        """Search for evidence of the sentence, with the LM's queries or, where it has none, with the sentence."""
        reply = ask(self.queries, question=question, statement=sentence)
        queries = clean_list(reply.queries, _MAX_QUERIES) or [sentence]
        return side_by_side(*(partial(search_for, self.retriever, query, self.k) for query in queries))


if __name__ == "__main__":
    from programs.commands.method import main

    main(VTG)
