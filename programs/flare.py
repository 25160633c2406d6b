"""FLARE: the next sentence is drafted first, and where the LM is not sure of it, it is searched with and written anew.

Jiang et al., "Active Retrieval Augmented Generation", EMNLP 2023: FLARE direct, with the query that leaves out the
words of low probability. The paper lets a few-shot prompt run on and cuts it behind the first sentence. Here an
instruction asks for one sentence, and the first new one of the reply counts.

question -> k passages -> (draft of a sentence -> (k other passages -> sentence) if unsure) until one has the answer
    -> answer over the last passages and the sentences
"""

from typing import ClassVar, Literal, NamedTuple

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.logprobs import Field, ask_with_logprobs
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import search_for
from programs.steps.settings import Count, Share, checked
from programs.steps.text import as_text, one_line
from programs.steps.thoughts import concludes, new_sentence
from retrieval import AnyRetriever, Passage, UsageError, as_retriever, number, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.write import WriteNextThought

__all__ = ["FLARE"]


_STAND_INS = ("extractive/", "oracle/", "stand-in/")  # how the names of those that are no language model begin


class _Draft(NamedTuple):
    """A sentence of which the LM may be unsure."""

    sentence: str
    query: str
    """What to search with before it is written anew; empty where the LM is sure of it."""


class FLARE(Method):
    """Draft the next sentence, search with it where the LM is not sure of it, and then write it over what was found.

    A draft says what the answer is about to need, which the question does not. What the LM is sure of needs no search,
    and the words that it is unsure of are left out of the query, because they may be wrong.

    Per question:
        LM calls: 1 per sentence, 1 more where the LM is unsure of it, and 1 for the answer, 17 at most.
        Searches: 1 for the question and 1 per sentence of which the LM is unsure, 9 at most.
        Depth: as many LM calls as are made.

    In the result:
        thoughts: the sentences.
        iterations: for each search the ids of the passages `retrieved`, which are all `kept`, and `shown` to the LM
            until the next search.
        ended: "answer" where a sentence has it; "limit" where the last step has none; "nothing" where the LM wrote no
            new sentence.
        reasoning: the reasoning that led to the answer.
        evidence: the passages of the last search, and the sentences with the id lm:thoughts.

    The LM has to give log-probabilities. With a theta of 1 and a beta of 0 it need not, and every sentence is searched
    with; so it is with the extractive reader, the oracle, and what plans are counted with, as these are no language
    models.

    Args:
        retriever: Finds the passages. Paper: BM25 over Wikipedia.
        k: Passages per search. Paper: 2 (2WikiMultiHopQA).
        steps: Number of sentences at most. The paper limits the text to 256 tokens.
        theta: A draft with a token less probable than this is searched with. Paper: 0.8 (2WikiMultiHopQA).
        beta: Tokens less probable than this are left out of the query. Paper: 0.4 (2WikiMultiHopQA).
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 2,
        steps: Count = 8,
        theta: Share = 0.8,
        beta: Share = 0.4,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.steps = steps
        self.theta = theta
        self.beta = beta
        self.sentence = dspy.Predict(WriteNextThought)
        self.answer = chain_of_thought(AnswerYesNo if style == "yesno" else AnswerShort, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # The question finds the passages of the first draft.
        searches = [search_for(self.retriever, question, self.k)]
        thoughts: list[str] = []
        ended = "limit"
        for _ in range(self.steps):
            # Draft of the next sentence, and the query from it (section 3.2, Eq. 3 and 4).
            draft = self._draft(question, searches[-1].found, thoughts)
            sentence = draft.sentence

            # Where the LM is unsure, what the draft finds takes the place of the passages, and the sentence is written
            # over them. The draft stays where the LM writes nothing new.
            if draft.query:
                searches.append(search_for(self.retriever, draft.query, self.k))
                said = ask(self.sentence, **_inputs(question, searches[-1].found, thoughts))
                sentence = new_sentence(said.sentence, thoughts) or sentence
            if not sentence:
                ended = "nothing"
                break
            thoughts.append(sentence)
            if concludes(sentence):
                ended = "answer"
                break

        evidence = [*searches[-1].found, *([Passage("lm:thoughts", " ".join(thoughts))] if thoughts else [])]
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            thoughts=thoughts,
            iterations=report_rounds((search.found for search in searches), growing=False),
            ended=ended,
            reasoning=as_text(reply.reasoning),
        )

    def _draft(self, question: str, found: list[Passage], thoughts: list[str]) -> _Draft:
        """The next sentence over the passages at hand, and what to search with.

        Raises:
            UsageError: the LM gives no log-probabilities, and theta or beta needs them.
        """
        inputs = _inputs(question, found, thoughts)
        lm = self.sentence.lm or dspy.settings.lm
        if (self.theta == 1 and self.beta == 0) or lm.model.startswith(_STAND_INS):
            sentence = new_sentence(ask(self.sentence, **inputs).sentence, thoughts)
            return _Draft(sentence, sentence)
        asked = ask_with_logprobs(self.sentence, "sentence", **inputs)
        if asked is None:
            raise UsageError(
                "FLARE needs log-probabilities, and this LM gives none: take another LM, or theta=1 and beta=0 to "
                "search with every sentence"
            )
        reply, field = asked
        sentence = new_sentence(reply.sentence, thoughts)
        if not sentence or field is None:  # without probabilities it counts as unsure
            return _Draft(sentence, sentence)
        tokens = _tokens(field, sentence)
        if all(probability >= self.theta for _, probability in tokens):
            return _Draft(sentence, "")
        return _Draft(sentence, one_line("".join(text for text, probability in tokens if probability >= self.beta)))


def _inputs(question: str, found: list[Passage], thoughts: list[str]) -> dict[str, str]:
    return {"context": number(found), "question": question, "history": "\n".join(thoughts)}


def _tokens(field: Field, sentence: str) -> list[tuple[str, float]]:
    """The tokens of the sentence with their probabilities; those of the whole field where it is not found as it is."""
    text = "".join(token.text for token in field.tokens)
    begin = text.find(sentence, field.start, field.end)
    start, end = (field.start, field.end) if begin < 0 else (begin, begin + len(sentence))
    tokens, at = [], 0
    for token in field.tokens:
        before, at = at, at + len(token.text)
        if before < end and at > start:
            tokens.append((token.text[max(start - before, 0) : max(end - before, 0)], token.probability))
    return tokens


if __name__ == "__main__":
    from programs.commands.method import main

    main(FLARE)
