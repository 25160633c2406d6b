"""IRCoT: each sentence of a chain of thought is the next query, and what it finds stands before the next sentence.

Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions",
ACL 2023. The paper lets a few-shot prompt run on and cuts it behind the first new sentence. Here an instruction asks
for one sentence, and the first new one of the reply counts.

question -> k passages -> (sentence -> k more passages) until a sentence has the answer -> answer over all passages
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.text import as_text
from programs.steps.thoughts import concludes, new_sentence
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.write import WriteNextThought

__all__ = ["IRCoT"]


class IRCoT(Method):
    """Reason sentence by sentence, search with each sentence, and answer over everything gathered.

    What has to be looked up next often depends on what was just found out. A sentence that states it, or guesses it,
    shares words with the passage that has the next fact, which the question itself does not.

    Per question:
        LM calls: 1 per sentence and 1 for the answer, 9 at most.
        Searches: 1 for the question and 1 per sentence but the last, 8 at most; none once `passages` are gathered.
        Depth: as many LM calls as are made.

    In the result:
        thoughts: the sentences.
        iterations: for each sentence asked for the ids of the passages `retrieved` by the search before it, of those
            `kept` within the limit, and of all passages `shown` to the LM.
        ended: "answer" where a sentence has it; "limit" where the last step has none; "nothing" where the LM wrote no
            new sentence.
        reasoning: the reasoning that led to the answer.
        evidence: the passages in the order in which they were found: those of the question first.

    Args:
        retriever: Finds the passages. The paper uses BM25, with an index for each data set.
        k: Passages per search. Paper: chosen for each data set and LM; 6 in the settings that are published with it.
        steps: Number of sentences at most. Paper: 8.
        passages: Number of passages gathered at most. Paper: 15.
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 6,
        steps: Count = 8,
        passages: Count = 15,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.steps = steps
        self.passages = passages
        self.thought = dspy.Predict(WriteNextThought)
        self.answer = chain_of_thought(AnswerYesNo if style == "yesno" else AnswerShort, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # The first passages are those that the question finds.
        searches: list[Search] = []
        evidence: list[Passage] = []
        thoughts: list[str] = []
        iterations: list[dict[str, list[str]]] = []
        ended = "limit"
        query = question
        for _ in range(self.steps):
            # Retrieve step: with the last sentence. What it finds goes behind what there is, up to the limit.
            found: list[Passage] = []
            if len(evidence) < self.passages:
                searches.append(search_for(self.retriever, query, self.k))
                found = searches[-1].found
                evidence = union(evidence, found)[: self.passages]
            iterations.append(_round(found, evidence))

            # Reason step: the next sentence. The one with the answer is the last.
            said = ask(self.thought, context=number(evidence), question=question, history="\n".join(thoughts))
            query = new_sentence(said.sentence, thoughts)
            if not query:
                ended = "nothing"
                break
            thoughts.append(query)
            if concludes(query):
                ended = "answer"
                break

        # The reader answers over all passages gathered; it is not shown the sentences.
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            thoughts=thoughts,
            iterations=iterations,
            ended=ended,
            reasoning=as_text(reply.reasoning),
        )


def _round(found: list[Passage], evidence: list[Passage]) -> dict[str, list[str]]:
    shown = [passage.id for passage in evidence]
    retrieved = [passage.id for passage in found]
    return {"retrieved": retrieved, "kept": [id_ for id_ in retrieved if id_ in shown], "shown": shown}


if __name__ == "__main__":
    from programs.commands.method import main

    main(IRCoT)
