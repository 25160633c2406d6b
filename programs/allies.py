"""ALLIES: a beam of answers, each over evidence of its own, which grows by questions that the LM asks around the first.

Sun et al., "Allies: Prompting Large Language Model with Beam Search", Findings of EMNLP 2023, which Xin et al.,
"Chain-of-Rewrite", COLING 2025, Table 1, compare with. Where the paper leaves something open, the released code
decides; its loop that sends every prompt 200 times is a fault, and is not taken over.

question -> beam of (queries, evidence, answer, score) -> (sub-questions -> evidence -> answer, score) D times -> best
"""

from functools import partial
from typing import Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.items import items
from programs.steps.result import result, say
from programs.steps.search import Search, search_for
from programs.steps.side_by_side import in_thread, side_by_side
from programs.steps.text import line
from retrieval import Passage, Retriever, UsageError, number, union
from signatures.answer import AnswerShortDirectly
from signatures.query import ListSubQuestions
from signatures.verify import RateAnswer
from signatures.write import WritePassage

__all__ = ["ALLIES"]


class _State(NamedTuple):
    """An element of the beam."""

    queries: list[str]
    evidence: list[Passage]  # for all the queries
    answer: str
    score: float  # how probable the LM holds the answer, 0 to 1
    search: Search | None  # the one that was made for the last query


_NOTHING = _State([], [], "", 0.0, None)


class ALLIES(dspy.Module):
    """Answer with and without evidence, then widen the evidence of the best answers by sub-questions until one is sure.

    Per question, with a beam of B, Q sub-questions and D expansions: at most 4 + (2 + (D - 1)B)(1 + 2Q) LM calls and
    1 + (2 + (D - 1)B)Q searches, which is 24 LM calls and 9 searches; 14 LM calls and 5 searches where the first
    expansion is sure. 2 + 3D LM calls deep. Closed book each search is an LM call instead. An unparsable reply costs
    one call more, in which DSPy asks for JSON.

    The result has `beams` besides the common four: the two answers that are expanded first, and then the beam after
    each expansion, best first; of each answer its `queries`, `answer` and `score`. `evidence` is that of the answer
    given; closed book its passages have the ids lm:passage-1, lm:passage-2 …, and the queries for titles.

    Args:
        retriever: Finds the passages; None for closed book, where the LM writes a passage for each query instead.
        k: Passages per query; 5 is ours.
        beam: How many answers are kept and expanded (B); 2 is ours. The first beam has two, whatever the width.
        expansions: How often to expand the beam, at most: the paper's depth (D); 2 is ours.
        sub_questions: New queries per answer and expansion, at most (Q); 2 is ours.
        threshold: Score from which on an answer is sure, and no more is expanded. Released code: 0.8.
    """

    def __init__(
        self,
        retriever: Retriever | None,
        *,
        k: int = 5,
        beam: int = 2,
        expansions: int = 2,
        sub_questions: int = 2,
        threshold: float = 0.8,
    ) -> None:
        super().__init__()
        for name, count in {"beam": beam, "expansions": expansions, "sub_questions": sub_questions}.items():
            if count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        self.retriever = retriever
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
        # Beam initialization: an answer without evidence, and one over that for the question itself.
        beam = side_by_side(
            partial(self._answered, question, [], [], None), partial(self._follow, question, _NOTHING, question)
        )
        beams, made = [beam], beam
        for _ in range(self.expansions):
            # Beam expansion: new queries for each answer, and for each query an answer over more evidence.
            asked = side_by_side(*(partial(self._sub_questions, question, state) for state in beam))
            new = side_by_side(
                *(
                    partial(self._follow, question, state, query)
                    for state, queries in zip(beam, asked, strict=True)
                    for query in queries
                )
            )
            if not new:
                break

            # Beam pruning: the best of the new ones. Beam termination: one of them is sure.
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
            beams=[[_shown(state) for state in beam] for beam in beams],
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _sub_questions(self, question: str, state: _State) -> list[str]:
        """At most Q queries that the answer's evidence was not gathered for."""
        before = [line(query) for query in state.queries]
        reply = ask(self.expand, question=question, history="\n".join(before), context=number(state.evidence))
        known = {query.casefold() for query in before}
        return [query for query in items(reply.queries) if query.casefold() not in known][: self.sub_questions]

    def _follow(self, question: str, state: _State, query: str) -> _State:
        """The state with the query's evidence added to its own, and answered anew."""
        queries = [*state.queries, query]
        if self.retriever is None:
            written = line(ask(self.recall, question=query).passage)
            found = [Passage(f"lm:passage-{len(queries)}", written, title=line(query))]
            return self._answered(question, queries, [*state.evidence, *found], None)
        search = search_for(self.retriever, query, self.k)
        return self._answered(question, queries, union(state.evidence, search.found), search)

    def _answered(self, question: str, queries: list[str], evidence: list[Passage], search: Search | None) -> _State:
        """An answer over the evidence, and how probable it is."""
        context = number(evidence)
        answer = say(ask(self.answer, context=context, question=question).answer)
        rated = ask(self.rate, context=context, question=question, candidate=line(answer)).correct_probability
        # No number, or one that is no probability, counts as none.
        score = rated if rated is not None and 0 <= rated <= 1 else 0.0
        return _State(queries, evidence, answer, score, search)


def _shown(state: _State) -> dict[str, Any]:
    return {"queries": state.queries, "answer": state.answer, "score": state.score}


if __name__ == "__main__":
    from programs.commands.method import main

    main(ALLIES)
