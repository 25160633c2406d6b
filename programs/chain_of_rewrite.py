"""Chain-of-Rewrite: the question made explicit before the search, the documents rewritten towards it before the answer.

Xin et al., "Chain-of-Rewrite: Aligning Question and Documents for Open-Domain Question Answering", COLING 2025; section
2 and appendix A. The answers that the LM finds in the documents also rank these, and are searched with once more.

question -> clarifications -> + keywords -> N documents -> analysis, candidate each -> rank -> rewrite k -> answer
"""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.candidates import parse_answer, scorer_or_none
from programs.steps.logprobs import Stated, ask_with_probability, word_probability
from programs.steps.method import Method
from programs.steps.quotes import find_quoted
from programs.steps.result import PerPassage, Ranking, Reading, result
from programs.steps.search import score_of
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, blend, clean_list, one_line, simplify
from retrieval import AnyRetriever, Passage, as_retriever, number, union
from retrieval.ranking.fuse import reciprocal_rank_fusion
from signatures.answer import AnswerEntity
from signatures.extract import AnalyseDocument, NameCandidate
from signatures.query import ListExplicitQueries, ListRelatedQueries
from signatures.replies.texts import bare

__all__ = ["ChainOfRewrite"]

_CLARIFICATIONS = 5  # at most (3.1)
_KEYWORDS = (4, 8)  # least and most that are added to one clarification (2.2)
_CONSTANT = 60  # of reciprocal rank fusion; the usual value, because the paper names none
_UNKNOWN = "unknown"
_P_UNKNOWN = Stated(
    "unknown_probability", "probability, from 0 to 1, that the document has nothing to answer the question with"
)
# What stands between a related query and its keywords; the second only where the first is nowhere.
_BESIDE = (
    re.compile(r"(?<!\W)\W*\bkeywords?\s*[:=–—-]\W*|(?<!\s)\s*\|\s*", re.IGNORECASE),
    re.compile(r"\s[–—-]+>?\s|:\s|[(\[](?=[^()\[\]]*[)\]]\W*$)"),
)
_LONGEST_KEYWORD = 3  # words
_COMMAS = re.compile(r"[,;|]")
_MARKS = re.compile(r'["“”?]')  # of the query that a keyword was taken from: Italy"?


class _Analysis(NamedTuple):
    """What the LM found in one document."""

    evidence: list[str]  # sentences of the document
    candidate: str  # the answer in it, or _UNKNOWN
    relevance: float  # 1 - p(unknown)
    measured_by: str  # where p(unknown) comes from: "logprobs", "stated" or "binary"


class _Round(NamedTuple):
    """The documents of one turn. Analyses and likelihoods are by passage id, and the next turn takes them over."""

    documents: list[Passage]  # the n best by retrieval score
    ranked: list[Passage]
    shown: list[Passage]  # the k best, rewritten
    analyses: dict[str, _Analysis]
    likelihoods: dict[str, float]


class ChainOfRewrite(Method):
    """Search with clarified questions, analyse each document, rank and rewrite the documents by the analysis, answer.

    Questions are often vague and documents long. So the question is made explicit before the search, and the documents
    are reduced to what bears on it before the answer. The answers found in them are searched with once more.

    Per question:
        LM calls: about 200 with the paper's settings. With c clarifications (5 at most), d documents analysed (n at
            most, and with query feedback those that are new among the n best) and a different candidates among the k
            best: 2 + c + 2d, and with query feedback 1 more where there are candidates.
        Searches: 1 + c, and a more with query feedback.
        Depth: 7 LM calls; 5 without query feedback.

    In the result:
        clarifications: the explicit questions; the question itself where the LM lists none.
        keywords: the keywords of all clarifications. Those added to a clarification are drawn from them.
        retrieved: ids of the first n documents, by retrieval score.
        ranked: ids of the last n documents, in the order that decided.
        ranked_by: what ranked them: "relevance", "upr", both, or nothing for the order of retrieval.
        candidates: by document id, the answer in the document, or "unknown".
        relevance: by document id, 1 - p(unknown).
        measured_by: how often p(unknown) came from log-probabilities ("logprobs"), from a number that the LM gave
            ("stated"), and from the candidate alone ("binary").
        first_answer: the answer before query feedback.

    Args:
        retriever: Finds the documents. The paper uses BM25 over Wikipedia of 20 December 2018 in passages of 100 words.
        m: Documents per query. Paper: 30 (3.1).
        n: Documents kept of those that all queries find, the best by score (the paper's N). Paper: 100 (3.1).
        k: Documents that are rewritten and read. Paper: 5 (3.1).
        question_rewriting: "clarify" makes the question explicit and adds keywords; "direct" adds keywords to the
            question as it is (Table 3, direct expansion); "off" searches with the question alone (Table 2).
        document_rewriting: Show the reader evidence sentences and candidates; without, whole documents (Table 2).
        rerank_feedback: Rank by p(unknown). Without, only the k best by the other scores are analysed (Table 2).
        query_feedback: Search once more with the candidates, and answer again (Table 2 leaves it out).
        unknown: Where p(unknown) comes from: "logprobs" takes the probabilities of the candidate's tokens, as in the
            paper, and asks an LM that has none as "stated" does; "stated" asks the LM for a number; "binary" is 1 where
            the candidate is unknown and else 0, which also replaces a missing number, and log-probabilities where the
            LM says that there is no answer in other words than "unknown". A candidate with a missing number ranks
            behind the others.
        upr: Scorer that ranks too, fused with p(unknown) by reciprocal rank: upr:MODEL for a local language model, or
            none. Paper: UPR (2.3.2).
        analyse_top: Analyse at most this many documents for ranking, the best by retrieval score (section 6); all n by
            default.
        in_flight: How many documents are analysed at the same time, and how many clarifications expanded.
    """

    reads: ClassVar[dict[str, Reading]] = {
        "retrieved": Ranking(),
        "ranked": Ranking(),
        "candidates": PerPassage(),
        "relevance": PerPassage(),
    }

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        m: Count = 30,
        n: Count = 100,
        k: Count = 5,
        question_rewriting: Literal["clarify", "direct", "off"] = "clarify",
        document_rewriting: bool = True,
        rerank_feedback: bool = True,
        query_feedback: bool = True,
        unknown: Literal["logprobs", "stated", "binary"] = "logprobs",
        upr: str = "none",
        analyse_top: Count | None = None,
        in_flight: Count = 16,
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.m = m
        self.n = n
        self.k = k
        self.document_rewriting = document_rewriting
        self.rerank_feedback = rerank_feedback
        self.query_feedback = query_feedback
        self.unknown = unknown
        self.analyse_top = analyse_top
        self.in_flight = in_flight
        self.scorer = scorer_or_none(upr)
        analyse = document_rewriting or rerank_feedback or query_feedback
        self.clarify = dspy.Predict(ListExplicitQueries) if question_rewriting == "clarify" else None
        self.expand = dspy.Predict(ListRelatedQueries) if question_rewriting != "off" else None
        self.analyse = dspy.Predict(AnalyseDocument) if analyse else None
        self.candidate = dspy.Predict(NameCandidate) if analyse else None
        self.answer = dspy.Predict(AnswerEntity)

    def forward(self, question: str) -> dspy.Prediction:
        # Question rewriting: semantic analysis (2.1) and semantic augmentation (2.2).
        clarifications = self._clarify(question)
        keywords = self._expand(clarifications)
        expanded = _add_keywords(clarifications, keywords, question)

        # Retrieval (2.2): m documents for each query, the n best of all; then analysis, ranking and rewriting.
        searches = self._search([question, *expanded], {})
        first = self._rank_and_rewrite(question, searches, {}, {})

        # Reading (A.3), with query feedback (2.3.1) beside it. Where feedback searched again, the LM reads again.
        first_answer, (searches, last) = side_by_side(
            partial(self._read, question, first.shown), partial(self._search_again, question, searches, first)
        )
        answer = first_answer if last is first else self._read(question, last.shown)
        return result(
            answer=answer,
            queries=list(searches),
            passages=union(*searches.values()),
            evidence=last.shown,
            clarifications=clarifications,
            keywords=keywords,
            retrieved=[passage.id for passage in first.documents],
            ranked=[passage.id for passage in last.ranked],
            ranked_by=["relevance"] * self.rerank_feedback + ["upr"] * (self.scorer is not None),
            candidates={id: analysis.candidate for id, analysis in last.analyses.items()},
            relevance={id: analysis.relevance for id, analysis in last.analyses.items()},
            measured_by=dict(Counter(analysis.measured_by for analysis in last.analyses.values())),
            first_answer=first_answer,
        )

    def _clarify(self, question: str) -> list[str]:
        """The queries to add keywords to: explicit ones (q_c), or the question as it is; none with "off".

        It is the question too where the LM lists none, or its reply cannot be parsed.
        """
        explicit = clean_list(ask(self.clarify, question=question).queries, _CLARIFICATIONS) if self.clarify else []
        return explicit or ([question] if self.expand else [])

    def _expand(self, clarifications: list[str]) -> list[str]:
        """The keywords beside all the queries that are related to a clarification."""
        calls = (partial(ask, self.expand, query=clarification) for clarification in clarifications)
        replies = side_by_side(*calls, at_most=self.in_flight)
        return clean_list(
            bare(_MARKS.sub("", keyword))
            for reply in replies
            for line in reply.related or []
            for keyword in _keywords_beside(line)
        )

    def _search(self, queries: list[str], before: dict[str, list[Passage]]) -> dict[str, list[Passage]]:
        """Search with the new queries, and add what they find to what earlier ones found; none is sent twice."""
        new = [query for query in dict.fromkeys(queries) if query not in before]
        found = side_by_side(*(partial(self._find, query) for query in new))
        return before | dict(zip(new, found, strict=True))

    def _find(self, query: str) -> list[Passage]:
        return self.retriever(query, self.m)  # type: ignore[no-any-return]

    def _rank_and_rewrite(
        self,
        question: str,
        searches: dict[str, list[Passage]],
        analyses: dict[str, _Analysis],
        likelihoods: dict[str, float],
    ) -> _Round:
        """Rank and rewrite what was found. Documents that were analysed or scored before are not asked about again."""
        documents = _best(searches.values(), self.n)

        # The two measures of relevance, side by side: 1 - p(unknown) and UPR (2.3.2).
        analyses, likelihoods = side_by_side(
            partial(self._analyse, question, documents[: self.analyse_top] if self.rerank_feedback else [], analyses),
            partial(self._likelihoods, question, documents, likelihoods),
        )
        rankings = []
        if self.rerank_feedback:
            analysed = [passage for passage in documents if passage.id in analyses]
            rankings.append(_by_relevance(analysed, analyses))
        if self.scorer:
            rankings.append(sorted(documents, key=lambda passage: -likelihoods[passage.id]))
        ranked = union(reciprocal_rank_fusion(rankings, _CONSTANT), documents)

        # Document rewriting (2.2) of the k best; those that ranking did not need are analysed now.
        best = ranked[: self.k]
        if self.document_rewriting or self.query_feedback:
            analyses = self._analyse(question, best, analyses)
        shown = best
        if self.document_rewriting:
            shown = [_rewrite(question, passage, analyses[passage.id]) for passage in best]
        return _Round(documents, ranked, shown, analyses, likelihoods)

    def _search_again(
        self, question: str, searches: dict[str, list[Passage]], first: _Round
    ) -> tuple[dict[str, list[Passage]], _Round]:
        """Search with each candidate of the k best behind the question, then rank and rewrite anew (2.3.1)."""
        if not self.query_feedback:
            return searches, first
        found = [first.analyses[passage.id].candidate for passage in first.shown]
        candidates = clean_list(candidate for candidate in found if candidate != _UNKNOWN)
        if not candidates:
            return searches, first
        searches = self._search([blend(question, candidate) for candidate in candidates], searches)
        return searches, self._rank_and_rewrite(question, searches, first.analyses, first.likelihoods)

    def _analyse(
        self, question: str, documents: Sequence[Passage], known: dict[str, _Analysis]
    ) -> dict[str, _Analysis]:
        """What the LM finds in each document, added to what is known."""
        new = [passage for passage in documents if passage.id not in known]
        calls = (partial(self._analyse_one, question, passage) for passage in new)
        found = side_by_side(*calls, at_most=self.in_flight)
        return known | {passage.id: analysis for passage, analysis in zip(new, found, strict=True)}

    def _analyse_one(self, question: str, passage: Passage) -> _Analysis:
        """An analysis with evidence (2.1), then the candidate and p(unknown) (2.3.2)."""
        document = {"title": one_line(passage.title), "document": " ".join(passage.text.split())}
        reply = ask(self.analyse, **document, question=question)
        analysis = blend(one_line(reply.analysis), one_line(reply.evidence))
        candidate, p_unknown, measured_by = self._judge(question=question, **document, analysis=analysis)
        evidence = find_quoted(reply.evidence, passage.text, passage.title)
        return _Analysis(evidence, candidate, 1 - p_unknown, measured_by)

    def _judge(self, **inputs: str) -> tuple[str, float, str]:
        """The candidate, p(unknown), and where p(unknown) comes from."""
        measure = partial(word_probability, _UNKNOWN)
        reply, p, measured_by = ask_with_probability(
            self.candidate, "candidate", measure, _P_UNKNOWN, by=self.unknown, **inputs
        )
        candidate = parse_answer(reply.candidate) or _UNKNOWN
        # The tokens of a refusal in other words say nothing of the probability of the word itself.
        if measured_by == "logprobs" and candidate == _UNKNOWN != simplify(reply.candidate or ""):
            p = None
        if p is None:
            p, measured_by = float(candidate == _UNKNOWN), "binary"
        return candidate, p, measured_by

    def _likelihoods(self, question: str, documents: Sequence[Passage], known: dict[str, float]) -> dict[str, float]:
        """The likelihood of the question given each document, added to what is known; nothing without a scorer."""
        if not self.scorer:
            return {}
        from retrieval.ranking.rerank import rerank

        new = [passage for passage in documents if passage.id not in known]
        return known | {passage.id: score_of(passage) for passage in rerank(question, new, self.scorer)}

    def _read(self, question: str, shown: Sequence[Passage]) -> str:
        return as_text(ask(self.answer, context=number(shown), question=question).answer)


def _add_keywords(clarifications: Sequence[str], keywords: Sequence[str], question: str) -> list[str]:
    """q_r: each clarification with 4 to 8 keywords behind it, or all keywords where there are fewer.

    They are drawn at random, but always the same for the same question.
    """
    seed = hashlib.sha256(question.encode("utf-8", "replace")).digest()
    chance = random.Random(int.from_bytes(seed))
    draws = [chance.sample(keywords, min(chance.randint(*_KEYWORDS), len(keywords))) for _ in clarifications]
    return [blend(clarification, *drawn) for clarification, drawn in zip(clarifications, draws, strict=True)]


def _keywords_beside(line: str) -> list[str]:
    """The keywords beside a related query: behind a bar, "keywords:", a dash or a colon, or in brackets.

    A line of a few words that has none of these is a keyword itself.
    """
    parts = (pattern.split(line, maxsplit=1) for pattern in _BESIDE)
    alone = line if len(line.split()) <= _LONGEST_KEYWORD else ""
    keywords = next((part[1] for part in parts if len(part) > 1), alone)
    return _COMMAS.split(keywords.strip("()[]. "))


def _best(lists: Iterable[Sequence[Passage]], n: int) -> list[Passage]:
    """The n passages with the highest scores; of several copies of one id the copy with the highest score counts.

    Where scores are equal or missing, the first one counts.
    """
    best: dict[str, Passage] = {}
    for passage in (passage for passages in lists for passage in passages):
        if passage.id not in best or score_of(passage) > score_of(best[passage.id]):
            best[passage.id] = passage
    return sorted(best.values(), key=score_of, reverse=True)[:n]


def _by_relevance(documents: Sequence[Passage], analyses: dict[str, _Analysis]) -> list[Passage]:
    """The most relevant documents first, equal ones in order.

    A candidate whose p(unknown) was not measured ranks behind the last measured one: nothing says how sure the LM is.
    """
    found = [analyses[passage.id] for passage in documents]
    least = min(
        (one.relevance for one in found if one.measured_by != "binary" and one.candidate != _UNKNOWN), default=1.0
    )

    def key(passage: Passage) -> tuple[float, bool]:
        unmeasured = (analysis := analyses[passage.id]).measured_by == "binary"
        return -min(analysis.relevance, least if unmeasured else 1.0), unmeasured

    return sorted(documents, key=key)


def _rewrite(question: str, passage: Passage, analysis: _Analysis) -> Passage:
    """The evidence and a sentence that states the answer, in place of the document's text (2.2).

    Without evidence that is in the document, the whole text is kept beside that sentence. A document without a
    candidate stays as it is.
    """
    if analysis.candidate == _UNKNOWN:
        return passage
    statement = f'The answer to the question "{one_line(question)}" is: {analysis.candidate}.'
    return replace(passage, text=" ".join([*(analysis.evidence or [passage.text]), statement]))


if __name__ == "__main__":
    from programs.commands.method import main

    main(ChainOfRewrite)
