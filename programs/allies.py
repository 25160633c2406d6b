"""ALLIES: a beam of answers, each over evidence of its own, which grows with the sub-questions that the LM asks.

Sun et al., "Allies: Prompting Large Language Model with Beam Search", Findings of EMNLP 2023; a row of Xin et al.,
"Chain-of-Rewrite", COLING 2025, Table 1. Where the paper leaves something open, the released code decides. Its loop
that sends every prompt 200 times is a fault and is not taken over.

question -> beam of (queries, evidence, answer, score) -> (sub-questions -> evidence -> answer, score) D times -> best
"""

from functools import partial
from typing import Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.search import Search, search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, clean_list, one_line
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import AnswerShortDirectly
from signatures.query import ListSubQuestions
from signatures.verify import RateAnswer
from signatures.write import WritePassage

__all__ = ["ALLIES"]


class _State(NamedTuple):
    """An element of the beam: an answer and what it was drawn from."""

    queries: list[str]
    evidence: list[Passage]  # found for all the queries
    answer: str
    score: float  # probability of the answer by the LM's estimate, 0 to 1
    search: Search | None  # for the last query


_NOTHING = _State([], [], "", 0.0, None)


class ALLIES(Method):
    """Answer with and without evidence, then widen the evidence of the best answers by sub-questions until one is sure.

    One search often does not find everything that an answer needs. So the best answers so far are kept as a beam. The
    LM asks sub-questions around each of them, each sub-question adds evidence, and each new answer is scored anew.

    Per question:
        LM calls: 24 at most; 14 where the first expansion gives a sure answer. With other settings at most
            4 + N * (1 + 2 * sub_questions), where N = 2 + (expansions - 1) * beam answers are expanded. Closed book
            each search is an LM call too.
        Searches: 9 at most; 5 where the first expansion gives a sure answer. With other settings at most
            1 + N * sub_questions; none closed book.
        Depth: 2 LM calls and 3 per expansion, which is 8; closed book 3 and 4 per expansion, which is 11.

    In the result:
        beams: the two answers that are expanded first, then the beam after each expansion, best first; of each answer
            its `queries`, `answer` and `score`.
        evidence: that of the given answer. Closed book its passages have the ids lm:passage-1, lm:passage-2 … and the
            queries for titles.

    Args:
        retriever: Finds the passages; None for closed book, where the LM writes a passage for each query instead.
        k: Passages per query; 5 is ours.
        beam: How many answers are kept and expanded (B); 2 is ours. The first beam has two, whatever the width.
        expansions: How often the beam is expanded, at most: the paper's depth (D); 2 is ours.
        sub_questions: New queries per answer and expansion, at most (Q); 2 is ours.
        threshold: Score from which on an answer is sure, so that nothing more is expanded. Released code: 0.8.
    """

    @checked
    def __init__(
        self,
        retriever: AnyRetriever | None,
        *,
        k: Count = 5,
        beam: Count = 2,
        expansions: Count = 2,
        sub_questions: Count = 2,
        threshold: float = 0.8,
    ) -> None:
        super().__init__()
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.k = k
        self.beam = beam
        self.expansions = expansions
        self.sub_questions = sub_questions
        self.threshold = threshold
        self.recall = dspy.Predict(WritePassage) if retriever is None else None
        self.answer = dspy.Predict(AnswerShortDirectly)
        self.rate = dspy.Predict(RateAnswer)
        self.expand = dspy.Predict(ListSubQuestions)

    def forward(self, question: str) -> dspy.Prediction:
        # Beam initialization: an answer without evidence, and one over the evidence that the question finds.
        beam = side_by_side(
            partial(self._assess, question, [], [], None), partial(self._widen, question, _NOTHING, question)
        )
        beams, made = [beam], beam
        for _ in range(self.expansions):
            # Beam expansion: new queries for each answer, and for each query an answer over more evidence.
            asked = side_by_side(*(partial(self._sub_questions, question, state) for state in beam))
            new = side_by_side(
                *(
                    partial(self._widen, question, state, query)
                    for state, queries in zip(beam, asked, strict=True)
                    for query in queries
                )
            )
            if not new:
                break

            # Beam pruning: the best new answers. Beam termination: one of them is sure.
            made = made + new
            beam = sorted(new, key=lambda state: state.score, reverse=True)[: self.beam]
            beams.append(beam)
            if beam[0].score >= self.threshold:
                break

        best = max(beam, key=lambda state: state.score)
        searches = [state.search for state in made if state.search]
        return result(
            answer=best.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=best.evidence,
            beams=[[_report(state) for state in beam] for beam in beams],
        )

    def _sub_questions(self, question: str, state: _State) -> list[str]:
        """At most Q new queries: none that the evidence of this answer was gathered for already."""
        before = [one_line(query) for query in state.queries]
        reply = ask(self.expand, question=question, history="\n".join(before), context=number(state.evidence))
        known = {query.casefold() for query in before}
        return [query for query in clean_list(reply.queries) if query.casefold() not in known][: self.sub_questions]

    def _widen(self, question: str, state: _State, query: str) -> _State:
        """The state with the evidence for one more query, and with a new answer."""
        queries = [*state.queries, query]
        if self.retriever is None:
            written = one_line(ask(self.recall, question=query).passage)
            found = [Passage(f"lm:passage-{len(queries)}", written, title=one_line(query))]
            return self._assess(question, queries, [*state.evidence, *found], None)
        search = search_for(self.retriever, query, self.k)
        return self._assess(question, queries, union(state.evidence, search.found), search)

    def _assess(self, question: str, queries: list[str], evidence: list[Passage], search: Search | None) -> _State:
        """A state with an answer over the evidence, and the answer's score."""
        context = number(evidence)
        answer = as_text(ask(self.answer, context=context, question=question).answer)
        rated = ask(self.rate, context=context, question=question, candidate=one_line(answer)).correct_probability
        score = 0.0 if rated is None else rated  # None is from a reply that could not be parsed
        return _State(queries, evidence, answer, score, search)


def _report(state: _State) -> dict[str, Any]:
    return {"queries": state.queries, "answer": state.answer, "score": state.score}


if __name__ == "__main__":
    from programs.commands.method import main

    main(ALLIES)
