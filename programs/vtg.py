"""VTG: a text written sentence by sentence, each with citations that are verified before the next one is written.

Sun et al., "Towards Verifiable Text Generation with Evolving Memory and Self-Reflection", EMNLP 2024, from its abstract
and from what Wang et al., "LLMs Know What They Need" (MIGRES), 2024, section 4.2, say of it: the authors' code is not
public, and what they leave open is decided here.

question -> k passages -> (sentence with citations -> verify -> look in memory -> new queries -> keep, drop) … -> answer
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.citations import Fact, cited, entailed, record, supporting
from programs.steps.items import items
from programs.steps.result import Reading, Statements, result
from programs.steps.search import Search, search_for
from programs.steps.side_by_side import in_thread, side_by_side
from retrieval import Passage, Retriever, UsageError, number, union
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.query import AskForEvidence
from signatures.write import WriteNextSentence

__all__ = ["VTG"]

_QUERIES = 3  # for one sentence, at most
_MOST = 3  # citations of a sentence


class VTG(dspy.Module):
    """Write sentences with citations, keep those that passages entail, search for what lacks evidence, answer.

    Per question with s sentences written, of which u are supported by nothing in memory: s + u + 2 LM calls, one after
    the other (the last sentence is empty, or as many as are allowed are written, which saves a call), and 1 + up to 3u
    searches, those of one sentence side by side. 2 LM calls and 1 search at least. An unparsable reply costs one call
    more, in which DSPy asks for JSON.

    The result has these fields besides the common four: `known_facts`, the sentences that were kept, each with its
    text, `fact`, and the ids of the `passages` that support it; `unsupported`, the sentences that were dropped. As
    `evidence` the sentences have the ids lm:sentence-1, -2 …; where none is left, the answer is from what the LM knows.

    The default of `entailment` compares words and needs no model; the paper's kind needs the extra `dense`.

    Args:
        retriever: Finds the passages.
        k: Passages per query. 5 is the default, as for the other methods.
        sentences: Sentences to be written, at most, the dropped ones included; 5 is the default.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
        entailment: Verifies the sentences: lexical (compares words), nli:MODEL or true:MODEL. Paper: a model for
            natural language inference.
    """

    reads: ClassVar[dict[str, Reading]] = {"known_facts": Statements()}

    def __init__(
        self,
        retriever: Retriever,
        *,
        k: int = 5,
        sentences: int = 5,
        style: Literal["short", "yesno"] = "short",
        entailment: str = "lexical",
    ) -> None:
        super().__init__()
        for name, count in {"k": k, "sentences": sentences}.items():
            if count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        from retrieval.ranking.entailment import load_entailment

        self.retriever = retriever
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
            support = self._verified(sentence, memory)

            # Evidence finder: new queries for it. What supports it stays in memory for the sentences to come.
            if not support:
                found = self._find_evidence(question, sentence.text)
                searches += found
                support = supporting(sentence.text, union(*(search.found for search in found)), self.judge)[:_MOST]
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
            known_facts=[record(fact) for fact in kept],
            unsupported=dropped,
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _write(
        self, question: str, memory: Sequence[Passage], kept: Sequence[Fact], dropped: Sequence[str]
    ) -> Fact | None:
        """The first sentence of the reply that was not written before; None where there is none: the text is finished.

        Its passages are those that it cites, the first three.
        """
        reply = ask(
            self.write,
            context=number(memory),
            question=question,
            history="\n".join(fact.text for fact in kept),
            rejected_history="\n".join(dropped),
        )
        written = {text.casefold() for text in (*(fact.text for fact in kept), *dropped)}
        new = (fact for fact in cited(reply.statements, memory) if fact.text.casefold() not in written)
        return next((Fact(text, passages[:_MOST]) for text, passages in new), None)

    def _verified(self, sentence: Fact, memory: Sequence[Passage]) -> list[Passage]:
        """What supports the sentence: the passages that it cites taken together, else others in memory, each by itself;
        nothing where neither do."""
        (held,) = entailed([sentence], self.judge)
        return sentence.passages if held else supporting(sentence.text, memory, self.judge)[:_MOST]

    def _find_evidence(self, question: str, sentence: str) -> list[Search]:
        """Searches for evidence of the sentence; with the sentence itself where the LM has no query."""
        reply = ask(self.queries, question=question, statement=sentence)
        queries = items(reply.queries, _QUERIES) or [sentence]
        return side_by_side(*(partial(search_for, self.retriever, query, self.k) for query in queries))


if __name__ == "__main__":
    from programs.commands.method import main

    main(VTG)
