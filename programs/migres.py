"""MIGRES: what is still missing decides what is searched for next, until the facts found answer the question.

Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation", 2024; section 3 and Tables 11, 15 and 17. How often a passage is shown again, and what happens when the
rounds are used up, the paper leaves to its authors' code, and so does this.

question -> search -> filter -> facts with citations -> answer, or what is missing -> sub-queries -> search -> …
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.citations import Fact, record, supported
from programs.steps.filtering import Candidate, shortened, threshold_for
from programs.steps.items import items
from programs.steps.result import result, say
from programs.steps.side_by_side import in_thread, side_by_side
from programs.steps.text import blend, line, passage_or_nothing
from retrieval import Passage, Retriever, UsageError, number, union
from signatures.answer import AnswerShort, AnswerYesNo
from signatures.detect import DetectMissing, DetectMissingYesNo
from signatures.extract import ExtractSnippet, ExtractStatements, SummarizePassage
from signatures.query import AskForMissing
from signatures.write import WriteKnowledgeOrNone

__all__ = ["MIGRES"]

_ROUNDS = {"multihop": 5, "odqa": 3, "commonsense": 5}  # T in Table 11
_COMPRESSORS = {"summary": SummarizePassage, "snippet": ExtractSnippet}
_SUB_QUERIES = 3  # per round, at most (3.2)
_SPENT = 2  # rounds in which a passage is shown, at most; that it supported a fact counts as one more
_TOO_SHORT = 10  # characters: missing information with fewer says nothing


class _Search(NamedTuple):
    """A query, what it found, and what the knowledge filter left of that, best first."""

    query: str
    found: list[Passage]
    kept: list[Passage]


class _Verdict(NamedTuple):
    """What the main module says: the answer, or what is missing. The other one is empty."""

    answer: str
    explanation: str
    missing: str


class _Round(NamedTuple):
    """What one iteration asked, saw and found out."""

    searches: list[_Search]
    kept: list[Candidate]
    compressed: list[Passage]  # as they were before; those that turned out irrelevant too
    shown: list[Candidate]
    facts: list[Fact]  # new ones
    verdict: _Verdict | None  # None where the main module was skipped


class MIGRES(dspy.Module):
    """Gather facts with citations, ask for what is missing and search for it, until the facts answer the question.

    Per question with r rounds: 3r - 1 LM calls, for leaf and main in each round and for the query generator in all but
    the first; one more for each round in which no passage passes the filter, and one more at the end if no round gave
    an answer; one less for each round in which the leaf has nothing to read, and one less where it finds nothing new
    and main is skipped. So 2 at least (1 where there is nothing to read), 8 for three rounds that find passages, 20 at
    most with 5 rounds; each waits for the one before. Compression by the LM costs one call for each passage that it
    looks at, k of them side by side. Searches: 1 in the first round, up to 3 side by side in each other. An unparsable
    reply costs one call more, in which DSPy asks for JSON.

    The result has these fields besides the common four: `iterations`, one record per round with its `queries`, the ids
    of the passages `retrieved`, of those `kept` by the filter and of those `shown` to the leaf, the new `facts`, and
    main's `explanation` and the information that is `missing` by it (None where main was skipped); `known_facts`, the
    facts of all rounds; `unanswerable`, whether they did not suffice; `knowledge`, what the LM wrote from its own, with
    ids lm:knowledge- and the round; `external_tokens`, words between blanks of the passages that were shown to the
    leaf, and of those that the LM compressed for it. A fact is recorded with its text, `fact`, and the ids of the
    `passages` that support it; as `evidence` facts have the ids lm:fact-1, -2 …

    The defaults of `reranker` and `entailment` compare words and need no model: with them the method runs everywhere,
    but it is the paper's only with models of the paper's kind, which need the extra `dense`.

    Args:
        retriever: Finds the passages. Paper: BM25 with k1 0.9 and b 0.4 over Wikipedia of December 2017, 2018 or 2021.
        preset: Kind of questions, which sets rounds and threshold: "multihop", "odqa" or "commonsense". With
            "commonsense" the answers are yes or no.
        rounds: Rounds at most (the paper's T); by default the preset's: 5, 3 and 5 (Table 11).
        threshold: Least score of a passage and of a sentence (the paper's delta), on the reranker's scale; by default
            the preset's: 3.0, 5.0 and 0.0 for a cross-encoder (Table 11), 0.0, 2.0 and -1.5 for lexical (by the rule of
            appendix B); upr has none. Table 6 uses 1.0.
        m: Passages per query. Paper: 50 (Table 11).
        k: Passages per round that the leaf reads, at most. Paper: 5 (Table 11).
        reranker: Scores passages and sentences: lexical (compares words, on a scale like that of logits),
            cross-encoder:MODEL or upr:MODEL. Paper: cross-encoder:BAAI/bge-reranker-base (4.1).
        compression: What the leaf reads of a passage that passes the filter: "filter" for its relevant sentences, as in
            the paper (3.2); "summary" or "snippet" for what the LM makes of it, "off" for all of it (Table 5).
        entailment: Checks the citations: lexical (compares words), nli:MODEL, true:MODEL, or none to believe them.
            Paper: true:google/t5_xxl_true_nli_mixture (4.1).
        knowledge: Ask the LM for what it knows where no passage passes the filter. Table 6 leaves it out.
        answer_anyway: Where the rounds give no answer, have one given that may rest on what the LM knows, as the
            authors' code does. Without, the answer is empty.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        preset: Literal["multihop", "odqa", "commonsense"] = "multihop",
        rounds: int | None = None,
        threshold: float | None = None,
        m: int = 50,
        k: int = 5,
        reranker: str = "lexical",
        compression: Literal["filter", "summary", "snippet", "off"] = "filter",
        entailment: str = "lexical",
        knowledge: bool = True,
        answer_anyway: bool = True,
    ) -> None:
        super().__init__()
        for name, count in {"rounds": rounds, "m": m, "k": k}.items():
            if count is not None and count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        from retrieval.ranking.entailment import load_entailment
        from retrieval.ranking.scorers import load_scorer

        self.retriever = retriever
        self.rounds = _ROUNDS[preset] if rounds is None else rounds
        self.m = m
        self.k = k
        self.compression = compression
        self.scorer = load_scorer(reranker)
        self.threshold = threshold_for(reranker, preset) if threshold is None else threshold
        self.judge = None if entailment == "none" else load_entailment(entailment)
        self.yesno = preset == "commonsense"
        self.compress = dspy.Predict(_COMPRESSORS[compression]) if compression in _COMPRESSORS else None
        self.recall = dspy.Predict(WriteKnowledgeOrNone) if knowledge else None
        self.extract = dspy.Predict(ExtractStatements)
        self.detect = dspy.Predict(DetectMissingYesNo if self.yesno else DetectMissing)
        self.subquery = dspy.Predict(AskForMissing)
        self.answer = dspy.ChainOfThought(AnswerYesNo if self.yesno else AnswerShort) if answer_anyway else None

    def forward(self, question: str) -> dspy.Prediction:
        memory: list[_Round] = []  # the memory module (3.2)
        answer = ""
        while not answer and len(memory) < self.rounds:
            first, last = not memory, len(memory) + 1 == self.rounds
            known = _facts(memory)

            # Query generator (3.2); the first round searches with the question itself (3.1).
            queries = [question] if first else self._sub_queries(question, memory)

            # Retriever and knowledge filter (3.2), for each query by itself; then the best of what is left.
            spent = _spent(memory)
            searches = side_by_side(*(partial(self._search, query, spent) for query in queries))
            kept = _best(searches)
            shown, compressed = self._choose(kept)

            # LLM knowledge prompting (3.2), where nothing is left.
            if not shown:
                shown = self._recall(queries, f"lm:knowledge-{len(memory) + 1}")

            # Leaf module (3.2): facts that are new, with citations that hold.
            new = self._extract(shown, known)

            # Main module (3.2). Without new facts it would repeat itself; but it has the first word, and the last.
            verdict = self._detect(question, known + new) if new or first or last else None
            answer = verdict.answer if verdict else ""
            memory.append(_Round(searches, kept, compressed, shown, new, verdict))

        known = _facts(memory)
        searches = [search for turn in memory for search in turn.searches]
        return result(
            answer=answer or self._answer_anyway(question, known),
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=_evidence(known),
            iterations=[_record(turn) for turn in memory],
            known_facts=[record(fact) for fact in known],
            unanswerable=not answer,
            knowledge=[passage for turn in memory for passage in _shown(turn) if passage.id.startswith("lm:")],
            external_tokens=sum(_external_tokens(turn) for turn in memory),
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _sub_queries(self, question: str, memory: Sequence[_Round]) -> list[str]:
        """New queries that ask for what is missing; where the LM has none, the missing information itself."""
        verdicts = [turn.verdict.missing for turn in memory if turn.verdict]
        missing = next((said for said in reversed(verdicts) if said), "")
        before = [line(search.query) for turn in memory for search in turn.searches]
        facts = number(_evidence(_facts(memory)))
        reply = ask(self.subquery, question=question, history="\n".join(before), facts=facts, missing=missing)
        asked = {query.casefold() for query in before}
        new = [query for query in items(reply.queries) if query.casefold() not in asked]
        return new[:_SUB_QUERIES] or [missing or question]

    def _search(self, query: str, spent: Counter[str]) -> _Search:
        """What the query finds, and what passes the filter of that which has not been shown often enough."""
        from retrieval.ranking.filter import filter_sentences
        from retrieval.ranking.rerank import rerank

        found = self.retriever(query, self.m)
        fresh = [passage for passage in found if spent[passage.id] < _SPENT]
        if self.compression == "filter":
            return _Search(query, found, filter_sentences(query, fresh, self.scorer, self.threshold))
        ranked = rerank(query, fresh, self.scorer)
        return _Search(query, found, [passage for passage in ranked if _score(passage) >= self.threshold])

    def _choose(self, kept: list[Candidate]) -> tuple[list[Candidate], list[Passage]]:
        """The k best; where the LM compresses, the k best that it finds relevant, and what it looked at for them."""
        if not self.compress:
            return kept[: self.k], []
        shown, looked_at = shortened(self.compress, kept, self.k)
        return shown, [candidate.passage for candidate in kept[:looked_at]]

    def _recall(self, queries: Sequence[str], id: str) -> list[Candidate]:
        """What the LM knows about the queries, as one passage; nothing where it declines."""
        if not self.recall:
            return []
        questions = blend(*queries)
        text = passage_or_nothing(ask(self.recall, questions=questions).knowledge)
        return [Candidate(Passage(id, text), questions)] if text else []

    def _extract(self, shown: Sequence[Candidate], known: Sequence[Fact]) -> list[Fact]:
        """I', without what is known; the question for the leaf are the queries that the passages were found with."""
        if not shown:
            return []
        passages = [candidate.passage for candidate in shown]
        about = blend(*dict.fromkeys(candidate.query for candidate in shown))
        reply = ask(self.extract, context=number(passages), question=about)
        before = {fact.text.casefold() for fact in known}
        found = {fact.text.casefold(): fact for fact in supported(reply.statements, passages, self.judge)}
        return [fact for text, fact in found.items() if text not in before]

    def _detect(self, question: str, known: Sequence[Fact]) -> _Verdict:
        reply = ask(self.detect, facts=number(_evidence(known)), question=question)
        answer = _settled(reply.answer, self.yesno)
        explanation, missing = line(reply.explanation), line(reply.missing)
        if answer:
            return _Verdict(answer, explanation, "")
        return _Verdict("", explanation, explanation if len(missing) < _TOO_SHORT else missing)

    def _answer_anyway(self, question: str, known: Sequence[Fact]) -> str | bool | None:
        if not self.answer:
            return None
        return ask(self.answer, context=number(_evidence(known)), question=question).answer  # type: ignore[no-any-return]


def _settled(said: str | None, yesno: bool) -> str:
    """The answer that the main module gave; empty where it gave none, or for yes or no something else."""
    answer = say(said)
    if "unanswerable" in answer.casefold():
        return ""
    if not yesno:
        return answer
    word = re.match(r"\W*(?:(yes|true)|(?:no|false))\s*(?:[^\w\s]|$)", answer, re.IGNORECASE)
    return say(bool(word[1])) if word else ""


def _best(searches: Sequence[_Search]) -> list[Candidate]:
    """What any query kept, each passage with the query that it fits best, as that one cut it down; best first."""
    best: dict[str, Candidate] = {}
    for search in searches:
        for passage in search.kept:
            if passage.id not in best or _score(passage) > _score(best[passage.id].passage):
                best[passage.id] = Candidate(passage, search.query)
    return sorted(best.values(), key=lambda candidate: _score(candidate.passage), reverse=True)


def _spent(memory: Sequence[_Round]) -> Counter[str]:
    """In how many rounds each passage was shown to the LM; that it supported a fact counts as one more."""
    spent: Counter[str] = Counter()
    for turn in memory:
        spent.update({passage.id for passage in [*_shown(turn), *turn.compressed]})
        spent.update({passage.id for fact in turn.facts for passage in fact.passages})
    return spent


def _facts(memory: Sequence[_Round]) -> list[Fact]:
    """I, the facts known."""
    return [fact for turn in memory for fact in turn.facts]


def _evidence(known: Sequence[Fact]) -> list[Passage]:
    return [Passage(f"lm:fact-{n}", fact.text) for n, fact in enumerate(known, 1)]


def _shown(turn: _Round) -> list[Passage]:
    return [candidate.passage for candidate in turn.shown]


def _external_tokens(turn: _Round) -> int:
    """Words of the retrieved text that the round gave to the leaf, and to compression before it (Table 5)."""
    external = [passage for passage in _shown(turn) if not passage.id.startswith("lm:")]
    return sum(len(f"{passage.title} {passage.text}".split()) for passage in [*external, *turn.compressed])


def _record(turn: _Round) -> dict[str, Any]:
    return {
        "queries": [search.query for search in turn.searches],
        "retrieved": [passage.id for passage in union(*(search.found for search in turn.searches))],
        "kept": [candidate.passage.id for candidate in turn.kept],
        "shown": [passage.id for passage in _shown(turn)],
        "facts": [record(fact) for fact in turn.facts],
        "explanation": turn.verdict.explanation if turn.verdict else None,
        "missing": turn.verdict.missing if turn.verdict else None,
    }


def _score(passage: Passage) -> float:
    return -math.inf if passage.score is None else passage.score


if __name__ == "__main__":
    from programs.commands.method import main

    main(MIGRES)
