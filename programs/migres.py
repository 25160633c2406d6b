"""MIGRES: the LM says what is still missing, and searches for that, until the facts found answer the question.

Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower Retrieval-Augmented
Generation", 2024; section 3 and Tables 11, 15 and 17. The paper does not say how often a passage is shown again, nor
what happens after the last round. There the authors' code decides.

question -> search -> filter -> facts with citations -> answer, or what is missing -> sub-queries -> search -> …
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.citations import Fact, keep_confirmed, keep_supported, report_fact
from programs.steps.filtering import Match, shorten, threshold_for
from programs.steps.method import Method
from programs.steps.result import Reading, Statements, Turns, result
from programs.steps.search import Search, score_of, search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import (
    as_text,
    blend,
    clean_list,
    line_or_nothing,
    one_line,
    passage_or_nothing,
    unless_declined,
)
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from signatures.answer import AnswerShort, AnswerYesNo
from signatures.detect import DetectMissing, DetectMissingYesNo
from signatures.extract import ExtractSnippet, ExtractStatements, SummarizePassage
from signatures.query import AskForMissing
from signatures.verify import CheckClaims
from signatures.write import WriteKnowledgeOrNone

__all__ = ["MIGRES"]

_ROUNDS = {"multihop": 5, "odqa": 3, "commonsense": 5}  # T in Table 11
_COMPRESSORS = {"summary": SummarizePassage, "snippet": ExtractSnippet}
_SUB_QUERIES = 3  # per round, at most (3.2)
_MAX_USES = 2  # of a passage: the rounds that show it, and those in which it supports a fact
_TOO_SHORT = 10  # characters; a shorter description of what is missing says nothing


class _Verdict(NamedTuple):
    """What the main module says: the answer or what is missing; the other of the two is empty."""

    answer: str
    explanation: str
    missing: str


class _Round(NamedTuple):
    """What one iteration searched for, read and found out."""

    searches: list[Search]
    kept: list[Match]
    compressed: list[Passage]  # whole, as they were before; also those that the LM found irrelevant
    shown: list[Match]
    facts: list[Fact]  # new ones
    verdict: _Verdict | None  # None where the main module was skipped


class MIGRES(Method):
    """Gather facts with citations, ask for what is missing and search for it, until the facts answer the question.

    An LM can say well what it still needs to know. So each round searches for what the last one found missing. Facts
    are kept instead of passages, which keeps the prompts short, and each fact is checked against its citations.

    Per question:
        LM calls: 8 for three rounds that find passages; 2 to 20 with 5 rounds (1 where there is nothing to read). Per
            round 1 to extract facts and 1 to detect what is missing, and in all but the first 1 for new queries. 1 more
            for each round in which no passage passes the filter; 1 more at the end where no round gave an answer. 1
            less for each round that has nothing to read, and 1 less where it finds no new facts. Compression by the LM
            adds 1 for each passage that it looks at, entailment by the LM 1 for each round with facts to check.
        Searches: 1 in the first round, up to 3 side by side in each other round.
        Depth: as many LM calls as are made; only compression works side by side, k passages at a time.

    In the result:
        iterations: for each round its `queries`, the ids of the passages `retrieved`, `kept` by the filter and `shown`
            to the LM, the new `facts`, and its `explanation` and what it finds `missing` (None where it was not asked).
        known_facts: the facts of all rounds, each with its text (`fact`) and the ids of the `passages` that support it.
        unanswerable: whether the facts did not suffice.
        knowledge: passages that the LM wrote from memory, with the ids lm:knowledge-1 …, by round.
        external_tokens: words, split at white space, of the retrieved passages that the LM was shown to extract facts
            from or to compress.
        evidence: the facts, with the ids lm:fact-1, lm:fact-2 …

    The defaults of `reranker` and `entailment` compare words and need no model, so the method runs everywhere. It is
    the paper's only with models of the paper's kind, which need the extra `dense`.

    Args:
        retriever: Finds the passages. Paper: BM25 with k1 0.9 and b 0.4 over Wikipedia of December 2017, 2018 or 2021.
        preset: Kind of questions, which sets rounds and threshold: "multihop", "odqa" or "commonsense". With
            "commonsense" the answers are yes or no.
        rounds: Rounds at most (the paper's T); by default the preset's: 5, 3 and 5 (Table 11).
        threshold: Least score of a passage and of a sentence (the paper's delta), on the reranker's scale; by default
            the preset's: 3.0, 5.0 and 0.0 for a cross-encoder (Table 11), 0.0, 2.0 and -1.5 for lexical (by the rule of
            appendix B); upr has none. Table 6 uses 1.0.
        m: Passages per query. Paper: 50 (Table 11).
        k: Passages per round that the LM reads, at most. Paper: 5 (Table 11).
        reranker: Scores passages and sentences: lexical (compares words, on a scale like that of logits),
            cross-encoder:MODEL or upr:MODEL. Paper: cross-encoder:BAAI/bge-reranker-base (4.1).
        compression: What the LM reads of a passage that passes the filter: "filter" for its relevant sentences, as in
            the paper (3.2); "summary" or "snippet" for what the LM makes of it, "off" for all of it (Table 5).
        entailment: Checks the citations: lexical (compares words, and takes over those of the query), nli:MODEL,
            true:MODEL, lm to ask the LM itself, or none to believe them. Paper: true:google/t5_xxl_true_nli_mixture
            (4.1).
        knowledge: Ask the LM for what it knows where no passage passes the filter. Table 6 leaves it out.
        answer_anyway: Where the rounds give no answer, ask for one that may rest on what the LM knows, as the authors'
            code does. Without, the answer is empty.
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns(), "known_facts": Statements()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        preset: Literal["multihop", "odqa", "commonsense"] = "multihop",
        rounds: Count | None = None,
        threshold: float | None = None,
        m: Count = 50,
        k: Count = 5,
        reranker: str = "lexical",
        compression: Literal["filter", "summary", "snippet", "off"] = "filter",
        entailment: str = "lexical",
        knowledge: bool = True,
        answer_anyway: bool = True,
    ) -> None:
        super().__init__()
        from retrieval.ranking.entailment import load_entailment
        from retrieval.ranking.scorers import load_scorer

        self.retriever = as_retriever(retriever)
        self.rounds = _ROUNDS[preset] if rounds is None else rounds
        self.m = m
        self.k = k
        self.compression = compression
        self.scorer = load_scorer(reranker)
        self.threshold = threshold_for(reranker, preset) if threshold is None else threshold
        self.judge = None if entailment in ("none", "lm") else load_entailment(entailment)
        self.yesno = preset == "commonsense"
        self.compress = dspy.Predict(_COMPRESSORS[compression]) if compression in _COMPRESSORS else None
        self.recall = dspy.Predict(WriteKnowledgeOrNone) if knowledge else None
        self.extract = dspy.Predict(ExtractStatements)
        self.check = dspy.Predict(CheckClaims) if entailment == "lm" else None
        self.detect = dspy.Predict(DetectMissingYesNo if self.yesno else DetectMissing)
        self.subquery = dspy.Predict(AskForMissing)
        self.answer = chain_of_thought(AnswerYesNo if self.yesno else AnswerShort) if answer_anyway else None

    def forward(self, question: str) -> dspy.Prediction:
        memory: list[_Round] = []  # the memory module (3.2)
        answer = ""
        while not answer and len(memory) < self.rounds:
            first, last = not memory, len(memory) + 1 == self.rounds
            known = _facts(memory)

            # Query generator (3.2). The first round searches with the question itself (3.1).
            queries = [question] if first else self._sub_queries(question, memory)

            # Retriever and knowledge filter (3.2): each query is compared with what any of them finds, and the k best
            # that pass are shown. Passages that were used often enough are left out.
            searches = side_by_side(*(partial(search_for, self.retriever, query, self.m) for query in queries))
            uses = _count_uses(memory)
            fresh = [passage for passage in _found(searches) if uses[passage.id] < _MAX_USES]
            kept = self._filter(queries, fresh)
            shown, compressed = self._choose(kept)

            # LLM knowledge prompting (3.2), where nothing passes.
            if not shown:
                shown = self._recall(queries, f"lm:knowledge-{len(memory) + 1}")

            # Leaf module (3.2): new facts with citations that hold.
            new = self._extract(queries, shown, known)

            # Main module (3.2). Without new facts it would repeat itself, so it is skipped, except in the first and the
            # last round.
            verdict = self._detect(question, known + new) if new or first or last else None
            answer = verdict.answer if verdict else ""
            memory.append(_Round(searches, kept, compressed, shown, new, verdict))

        known = _facts(memory)
        searches = [search for turn in memory for search in turn.searches]
        return result(
            answer=answer or self._answer_anyway(question, known),
            queries=[search.query for search in searches],
            passages=_found(searches),
            evidence=_evidence(known),
            iterations=[_report(turn) for turn in memory],
            known_facts=[report_fact(fact) for fact in known],
            unanswerable=not answer,
            knowledge=[passage for turn in memory for passage in _shown(turn) if passage.id.startswith("lm:")],
            external_tokens=sum(_external_tokens(turn) for turn in memory),
        )

    def _sub_queries(self, question: str, memory: Sequence[_Round]) -> list[str]:
        """New queries by the LM; the question once more where it writes none, as in the authors' code."""
        verdicts = [turn.verdict.missing for turn in memory if turn.verdict]
        missing = next((said for said in reversed(verdicts) if said), "")
        before = [one_line(search.query) for turn in memory for search in turn.searches]
        facts = number(_evidence(_facts(memory)))
        reply = ask(self.subquery, question=question, history="\n".join(before), facts=facts, missing=missing)
        asked = {query.casefold() for query in before}
        new = [query for query in clean_list(reply.queries) if query.casefold() not in asked]
        return new[:_SUB_QUERIES] or [question]

    def _filter(self, queries: Sequence[str], passages: Sequence[Passage]) -> list[Match]:
        """The passages that are relevant to a query, best first, each for the query that it fits best."""
        best: dict[str, Match] = {}
        for query in queries:
            for passage in self._relevant(query, passages):
                if passage.id not in best or score_of(passage) > score_of(best[passage.id].passage):
                    best[passage.id] = Match(passage, query)
        return sorted(best.values(), key=lambda match: score_of(match.passage), reverse=True)

    def _relevant(self, query: str, passages: Sequence[Passage]) -> list[Passage]:
        from retrieval.ranking.filter import filter_sentences
        from retrieval.ranking.rerank import rerank

        if self.compression == "filter":
            return filter_sentences(query, passages, self.scorer, self.threshold)
        return [passage for passage in rerank(query, passages, self.scorer) if score_of(passage) >= self.threshold]

    def _choose(self, kept: list[Match]) -> tuple[list[Match], list[Passage]]:
        """The k best; with compression by the LM, the k best that it finds relevant, and all that it looked at."""
        if not self.compress:
            return kept[: self.k], []
        shown, looked_at = shorten(self.compress, kept, self.k)
        return shown, [match.passage for match in kept[:looked_at]]

    def _recall(self, queries: Sequence[str], id: str) -> list[Match]:
        """One passage with what the LM knows about the queries; nothing where it declines."""
        if not self.recall:
            return []
        questions = blend(*queries)
        text = passage_or_nothing(ask(self.recall, questions=questions).knowledge)
        return [Match(Passage(id, text), questions)] if text else []

    def _extract(self, queries: Sequence[str], shown: Sequence[Match], known: Sequence[Fact]) -> list[Fact]:
        """New facts from the passages (I'). The leaf module is asked those of the queries that found the passages.

        What the LM wrote from memory is about all of them.
        """
        if not shown:
            return []
        passages = [match.passage for match in shown]
        found_by = {match.query for match in shown}
        about = blend(*(query for query in queries if query in found_by)) or blend(*queries)
        reply = ask(self.extract, context=number(passages), question=about)
        if self.check:
            supported = keep_confirmed(self.check, reply.statements, passages, about)
        else:
            supported = keep_supported(reply.statements, passages, self.judge, about)
        before = {fact.text.casefold() for fact in known}
        found = {fact.text.casefold(): fact for fact in supported}
        return [fact for text, fact in found.items() if text not in before]

    def _detect(self, question: str, known: Sequence[Fact]) -> _Verdict:
        reply = ask(self.detect, facts=number(_evidence(known)), question=question)
        answer = unless_declined(as_text(reply.answer))  # unanswerable, in whatever words, is no answer
        explanation, missing = one_line(reply.explanation), line_or_nothing(reply.missing)
        if answer:
            return _Verdict(answer, explanation, "")
        return _Verdict("", explanation, explanation if len(missing) < _TOO_SHORT else missing)

    def _answer_anyway(self, question: str, known: Sequence[Fact]) -> str | None:
        if not self.answer:
            return None
        return ask(self.answer, context=number(_evidence(known)), question=question).answer  # type: ignore[no-any-return]


def _found(searches: Sequence[Search]) -> list[Passage]:
    return union(*(search.found for search in searches))


def _count_uses(memory: Sequence[_Round]) -> Counter[str]:
    """By passage id, the rounds that showed the passage, plus the rounds in which it supported a fact."""
    uses: Counter[str] = Counter()
    for turn in memory:
        uses.update({passage.id for passage in [*_shown(turn), *turn.compressed]})
        uses.update({passage.id for fact in turn.facts for passage in fact.passages})
    return uses


def _facts(memory: Sequence[_Round]) -> list[Fact]:
    """All facts so far (I)."""
    return [fact for turn in memory for fact in turn.facts]


def _evidence(known: Sequence[Fact]) -> list[Passage]:
    return [Passage(f"lm:fact-{n}", fact.text) for n, fact in enumerate(known, 1)]


def _shown(turn: _Round) -> list[Passage]:
    return [match.passage for match in turn.shown]


def _external_tokens(turn: _Round) -> int:
    """Words of retrieved text that the leaf module and the compression before it were shown (Table 5)."""
    external = [passage for passage in _shown(turn) if not passage.id.startswith("lm:")]
    return sum(len(f"{passage.title} {passage.text}".split()) for passage in [*external, *turn.compressed])


def _report(turn: _Round) -> dict[str, Any]:
    return {
        "queries": [search.query for search in turn.searches],
        "retrieved": [passage.id for passage in _found(turn.searches)],
        "kept": [match.passage.id for match in turn.kept],
        "shown": [passage.id for passage in _shown(turn)],
        "facts": [report_fact(fact) for fact in turn.facts],
        "explanation": turn.verdict.explanation if turn.verdict else None,
        "missing": turn.verdict.missing if turn.verdict else None,
    }


if __name__ == "__main__":
    from programs.commands.method import main

    main(MIGRES)
