"""Chain-of-Rewrite: the question made explicit before the search, the documents rewritten towards it before the answer.

Xin et al., "Chain-of-Rewrite: Aligning Question and Documents for Open-Domain Question Answering", COLING 2025; section
2 and appendix A. What the LM finds in the documents also ranks them, and is searched with once more.

question -> clarifications -> + keywords -> N documents -> analysis, candidate each -> rank -> rewrite k -> answer
"""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.items import items
from programs.steps.logprobs import ask_scored, bare, probability
from programs.steps.result import result, say
from programs.steps.scorer import scorer_or_none
from programs.steps.side_by_side import in_thread, side_by_side
from programs.steps.text import blend, line
from retrieval import Passage, Retriever, UsageError, number, union
from retrieval.ranking.fuse import reciprocal_rank_fusion
from retrieval.ranking.sentences import split_sentences
from signatures.answer import AnswerEntity
from signatures.extract import AnalyseDocument, NameCandidate
from signatures.query import ListExplicitQueries, ListRelatedQueries

__all__ = ["ChainOfRewrite"]

_CLARIFICATIONS = 5  # at most (3.1)
_KEYWORDS = (4, 8)  # least and most that are added to one clarification (2.2)
_CONSTANT = 60  # of reciprocal rank fusion: the usual one, the paper names none
_UNKNOWN = "unknown"


class _Reading(NamedTuple):
    """What the LM found in one document."""

    evidence: list[str]  # sentences of the document
    candidate: str  # the answer in it, or _UNKNOWN
    relevance: float  # 1 - p(unknown)
    measure: str  # where p(unknown) comes from: "logprobs", "stated" or "binary"


class _Round(NamedTuple):
    """The documents of one turn of reading. Readings and likelihoods are by passage id, and carried along."""

    documents: list[Passage]  # the N best by retrieval score
    ranked: list[Passage]
    shown: list[Passage]  # the k best, rewritten
    readings: dict[str, _Reading]
    likelihoods: dict[str, float]


class ChainOfRewrite(dspy.Module):
    """Search with clarified questions, analyse each document, rank and rewrite them by what was found, answer.

    Per question, with c clarifications (at most 5), d documents analysed (at most N, and with query feedback those that
    come new among the N best) and a different candidates among the k best: 2 + c + 2d LM calls and 1 + c searches; with
    query feedback one LM call and a searches more. So about 200 LM calls with the paper's settings, 7 LM calls deep
    (5 without query feedback). An unparsable reply costs one call more, in which DSPy asks for JSON.

    The result has these fields besides the common four: `clarifications`; `keywords`, which those added to them were
    drawn from; `retrieved`, ids of the first N documents by retrieval score; `ranked`, ids of the last N in the order
    that decided; `ranked_by`, what made it: "relevance", "upr", both, or neither, for the order of retrieval;
    `candidates` and `relevance`, the answer in a document or "unknown" and 1 - p(unknown), by id of all documents
    analysed; `measured_by`, how often p(unknown) came from log-probabilities ("logprobs"), from what the LM said
    ("stated"), and from nothing but the candidate ("binary"); `first_answer`, which was given before query feedback.

    Args:
        retriever: Finds the documents. The paper uses BM25 over Wikipedia of 20 December 2018 in passages of 100 words.
        m: Documents per query. Paper: 30 (3.1).
        n: Documents kept of what all the queries found, the best by score (the paper's N). Paper: 100 (3.1).
        k: Documents that are rewritten and read. Paper: 5 (3.1).
        question_rewriting: "clarify" makes the question explicit and adds keywords; "direct" adds keywords to the
            question as it is (Table 3, direct expansion); "off" searches with the question alone (Table 2).
        document_rewriting: Show the reader sentences and candidates; without, the documents as they are (Table 2).
        rerank_feedback: Rank by p(unknown). Without, only the k best by the other scores are analysed (Table 2).
        query_feedback: Search once more with the candidates, and answer again (Table 2 leaves it out).
        unknown: Where p(unknown) comes from: "logprobs" takes the probabilities of the candidate's tokens, as in the
            paper, and where the LM has none does as "stated", which asks the LM for a number; "binary" is 1 where the
            candidate is unknown and else 0, as is done where there is no number either.
        upr: Scorer that ranks too, fused with p(unknown) by reciprocal rank: upr:MODEL for a local language model, or
            none. Paper: UPR (2.3.2).
        analyse_top: Analyse no more than this many documents for ranking, the best by retrieval score (section 6);
            all N by default.
        in_flight: Documents analysed at the same time, and clarifications expanded.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        m: int = 30,
        n: int = 100,
        k: int = 5,
        question_rewriting: Literal["clarify", "direct", "off"] = "clarify",
        document_rewriting: bool = True,
        rerank_feedback: bool = True,
        query_feedback: bool = True,
        unknown: Literal["logprobs", "stated", "binary"] = "logprobs",
        upr: str = "none",
        analyse_top: int | None = None,
        in_flight: int = 16,
    ) -> None:
        super().__init__()
        counts = {"m": m, "n": n, "k": k, "analyse_top": analyse_top, "in_flight": in_flight}
        for name, count in counts.items():
            if count is not None and count < 1:
                raise UsageError(f"{name} must be at least 1, not {count}")
        self.retriever = retriever
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

        # Retrieval (2.2): m documents for each query, the best N of all; then analysis, ranking and rewriting.
        searches = self._search([question, *expanded], {})
        first = self._round(question, searches, {}, {})

        # Reading (A.3), and beside it query feedback (2.3.1): where that had something to search for, another reading.
        first_answer, (searches, last) = side_by_side(
            partial(self._read, question, first.shown), partial(self._feedback, question, searches, first)
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
            candidates={id: reading.candidate for id, reading in last.readings.items()},
            relevance={id: reading.relevance for id, reading in last.readings.items()},
            measured_by=dict(Counter(reading.measure for reading in last.readings.values())),
            first_answer=first_answer,
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)

    def _clarify(self, question: str) -> list[str]:
        """What keywords are added to: q_c, explicit queries; or the question, or nothing."""
        if self.clarify:
            return items(ask(self.clarify, question=question).queries, _CLARIFICATIONS)
        return [question] if self.expand else []

    def _expand(self, clarifications: list[str]) -> list[str]:
        """Keywords of all the queries that are related to a clarification."""
        calls = (partial(ask, self.expand, query=clarification) for clarification in clarifications)
        replies = side_by_side(*calls, at_most=self.in_flight)
        return items(keyword for reply in replies for keyword in reply.keywords or [])

    def _search(self, queries: list[str], before: dict[str, list[Passage]]) -> dict[str, list[Passage]]:
        """What each query finds, behind what earlier ones found; no query is searched with twice."""
        new = [query for query in dict.fromkeys(queries) if query not in before]
        found = side_by_side(*(partial(self._find, query) for query in new))
        return before | dict(zip(new, found, strict=True))

    def _find(self, query: str) -> list[Passage]:
        return self.retriever(query, self.m)  # type: ignore[no-any-return]

    def _round(
        self,
        question: str,
        searches: dict[str, list[Passage]],
        readings: dict[str, _Reading],
        likelihoods: dict[str, float],
    ) -> _Round:
        """Rank and rewrite what was found; what is known of a document already is not asked for again."""
        documents = _best(searches.values(), self.n)

        # The two measures of relevance do not wait for each other: 1 - p(unknown) and UPR (2.3.2).
        readings, likelihoods = side_by_side(
            partial(self._analyse, question, documents[: self.analyse_top] if self.rerank_feedback else [], readings),
            partial(self._likelihoods, question, documents, likelihoods),
        )
        rankings = []
        if self.rerank_feedback:
            analysed = [passage for passage in documents if passage.id in readings]
            rankings.append(sorted(analysed, key=lambda passage: -readings[passage.id].relevance))
        if self.scorer:
            rankings.append(sorted(documents, key=lambda passage: -likelihoods[passage.id]))
        ranked = union(reciprocal_rank_fusion(rankings, _CONSTANT), documents)

        # Document rewriting (2.2) of the k best, which ranking may not have needed the analysis of.
        best = ranked[: self.k]
        if self.document_rewriting or self.query_feedback:
            readings = self._analyse(question, best, readings)
        shown = best
        if self.document_rewriting:
            shown = [_rewrite(question, passage, readings[passage.id]) for passage in best]
        return _Round(documents, ranked, shown, readings, likelihoods)

    def _feedback(
        self, question: str, searches: dict[str, list[Passage]], first: _Round
    ) -> tuple[dict[str, list[Passage]], _Round]:
        """Search with the candidates of the k best, each behind the question, and rank and rewrite anew (2.3.1)."""
        if not self.query_feedback:
            return searches, first
        found = [first.readings[passage.id].candidate for passage in first.shown]
        candidates = items(candidate for candidate in found if candidate != _UNKNOWN)
        if not candidates:
            return searches, first
        searches = self._search([blend(question, candidate) for candidate in candidates], searches)
        return searches, self._round(question, searches, first.readings, first.likelihoods)

    def _analyse(self, question: str, documents: Sequence[Passage], known: dict[str, _Reading]) -> dict[str, _Reading]:
        """What the LM finds in each document, beside what is known already."""
        new = [passage for passage in documents if passage.id not in known]
        calls = (partial(self._read_one, question, passage) for passage in new)
        found = side_by_side(*calls, at_most=self.in_flight)
        return known | {passage.id: reading for passage, reading in zip(new, found, strict=True)}

    def _read_one(self, question: str, passage: Passage) -> _Reading:
        """Analysis with evidence (2.1), then the candidate and p(unknown) (2.3.2)."""
        document = number([passage])
        reply = ask(self.analyse, document=document, question=question)
        analysis = blend(line(reply.analysis), line(reply.evidence))
        candidate, p_unknown, measure = self._judge(question=question, document=document, analysis=analysis)
        return _Reading(_quoted(reply.evidence, passage.text), candidate, 1 - p_unknown, measure)

    def _judge(self, **inputs: str) -> tuple[str, float, str]:
        """The candidate, p(unknown), and where that comes from."""
        p, measure = None, "binary"
        scored = ask_scored(self.candidate, **inputs) if self.unknown == "logprobs" else None
        if scored:
            reply, tokens = scored
            p, measure = probability(_UNKNOWN, "candidate", tokens), "logprobs"
        elif self.unknown == "binary":
            reply = ask(self.candidate, **inputs)
        else:
            reply = ask(self.candidate, signature=_with_probability(self.candidate), **inputs)
            p, measure = reply.get("unknown_probability"), "stated"
        candidate = line(reply.candidate)
        if not candidate or bare(candidate) == _UNKNOWN:
            candidate = _UNKNOWN
        if p is None or not 0 <= p <= 1:
            p, measure = float(candidate == _UNKNOWN), "binary"
        return candidate, p, measure

    def _likelihoods(self, question: str, documents: Sequence[Passage], known: dict[str, float]) -> dict[str, float]:
        """How likely the question is, given each document, beside what is known already; nothing without a scorer."""
        if not self.scorer:
            return {}
        from retrieval.ranking.rerank import rerank

        new = [passage for passage in documents if passage.id not in known]
        return known | {passage.id: _score(passage) for passage in rerank(question, new, self.scorer)}

    def _read(self, question: str, shown: Sequence[Passage]) -> str:
        return say(ask(self.answer, context=number(shown), question=question).answer)


def _add_keywords(clarifications: Sequence[str], keywords: Sequence[str], question: str) -> list[str]:
    """q_r: each clarification with 4 to 8 of the keywords behind it, drawn at random, but for one question always the
    same; with all of them where there are fewer."""
    seed = hashlib.sha256(question.encode("utf-8", "replace")).digest()
    chance = random.Random(int.from_bytes(seed))
    draws = [chance.sample(keywords, min(chance.randint(*_KEYWORDS), len(keywords))) for _ in clarifications]
    return [blend(clarification, *drawn) for clarification, drawn in zip(clarifications, draws, strict=True)]


def _best(lists: Iterable[Sequence[Passage]], n: int) -> list[Passage]:
    """The n passages with the highest scores, of each id the copy with the highest; the first where scores are equal or
    missing."""
    best: dict[str, Passage] = {}
    for passage in (passage for passages in lists for passage in passages):
        if passage.id not in best or _score(passage) > _score(best[passage.id]):
            best[passage.id] = passage
    return sorted(best.values(), key=_score, reverse=True)[:n]


def _score(passage: Passage) -> float:
    return -math.inf if passage.score is None else passage.score


def _quoted(evidence: str | None, document: str) -> list[str]:
    """The sentences of the evidence that the document has, whatever the case and the white space: LMs also write some
    that it does not have."""
    has = " ".join(document.casefold().split())
    sentences = [sentence.strip('"“”') for item in items((evidence or "").splitlines()) for sentence in split_sentences(item)]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence and sentence.casefold() in has]


def _rewrite(question: str, passage: Passage, reading: _Reading) -> Passage:
    """The evidence and a sentence that says what the answer is, instead of the document; the whole document where the
    LM cited nothing that is in it. A document without a candidate stays as it is (2.2)."""
    if reading.candidate == _UNKNOWN:
        return passage
    statement = f'The answer to the question "{line(question)}" is: {reading.candidate}.'
    return replace(passage, text=" ".join([*(reading.evidence or [passage.text]), statement]))


def _with_probability(predictor: dspy.Module) -> type[dspy.Signature]:
    """The predictor's signature with a number behind the candidate, for LMs without log-probabilities."""
    field = dspy.OutputField(desc="probability, from 0 to 1, that the document has nothing to answer the question with")
    return predictor.signature.append("unknown_probability", field, float)  # type: ignore[no-any-return]


if __name__ == "__main__":
    from programs.commands.method import main

    main(ChainOfRewrite)
