"""HippoRAG 2: from the facts that fit a query, a walk over the graph of phrases and passages to the passages.

Gutiérrez et al., "From RAG to Memory: Non-Parametric Continual Learning for Large Language Models", ICML 2025.

    DIR/hipporag.json             what the index is: format, encoder, LM, hashes of prompts and corpus, the passages
                                  with a reply that could not be read, size of each file; written last
        corpus.jsonl …            the passages
        openie.jsonl              the LM's replies, for another build over this index
        facts.jsonl …             the triples, normalised, one per line
        passages.npy, facts.npy   their vectors, of length 1, one row each
        graph.npz                 the graph, and the phrases of each triple
        probe.npy                 the encoder's vectors of a fixed text, as a query and as a passage

A search: the facts nearest to the query; of these, those that the LM finds helpful; their phrases, and all passages by
nearness, as the places where walks begin; the passages by how often walks come by. Without a helpful fact: the passages
by nearness alone.
"""

import contextvars
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from numpy.typing import NDArray

from odqa.errors import RetrievalError, UsageError
from odqa.files import replace_directory, undamaged
from retrieval.asking import ask
from retrieval.base import BatchRetriever
from retrieval.dense.encoder import Encoder, LoadedEncoder, encoder_of_index
from retrieval.descriptions import read_description
from retrieval.hipporag.build import (
    DESCRIPTION,
    FACT_VECTORS,
    FACTS,
    FORMAT,
    GRAPH,
    PASSAGE_VECTORS,
    REPLIES,
    Settings,
    write_index,
)
from retrieval.hipporag.graph import Graph, Triple
from retrieval.indexes import Corpus, Lines, OnDisk, building, check_target, read_array
from retrieval.known_item import is_checking
from retrieval.passage import Passage, number
from signatures.select import SelectFacts

__all__ = ["HippoRAG"]

_AT_ONCE = 16  # queries of a batch


class FactFilter(dspy.Predict):
    """Recognition memory: a predictor of its own class, by whose name a run's cost has its calls."""


class HippoRAG(OnDisk, BatchRetriever):
    """Searches an index that `HippoRAG.build` made. Safe for many threads; the vectors stay on disk.

    A search is one LM call, of DSPy's current LM, to choose among the facts. A run records, counts and prices it like
    the program's own calls. It is not part of the program: optimizers do not compile it.

    Args:
        path: Directory of the index.
        model: Where the encoder's model is now, if it has moved since the index was built; it must be the same
            model. Also says that you trust it, if it brings code of its own.
        facts: How many facts the LM chooses from, and in how many phrases walks begin at most. Paper's code: 5.
        passage_weight: How much walks that begin in passages count, against those that begin in phrases. Paper: 0.05.
        damping: The probability that a walk goes on. Paper: 0.5.
        filter: Whether the LM chooses among the facts; else all are taken, and no LM is asked.
        device: Where to encode queries, such as "cpu" or "cuda:1"; by default the best one there is.

    Attributes:
        unread: The ids of the passages of which the LM's replies could not all be read.
        facts: How many there are.

    Raises:
        UsageError: the extra is not installed, `path` holds no finished index or one of another format, a setting is
            out of range, or the model cannot be loaded or is not the one that the passages were encoded with.
        RetrievalError: the index is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        model: str | None = None,
        facts: int = 5,
        passage_weight: float = 0.05,
        damping: float = 0.5,
        filter: bool = True,
        device: str | None = None,
    ) -> None:
        if facts < 1 or not passage_weight > 0 or not 0 < damping < 1:
            raise UsageError(
                "a search needs a fact, a passage weight above 0 and a damping between 0 and 1, "
                f"not {facts}, {passage_weight} and {damping}"
            )
        self.path = Path(path)
        description = read_description(self.path, DESCRIPTION, "HippoRAG", FORMAT)
        with undamaged(self.path / DESCRIPTION):
            self.unread = [str(id) for id in description["unread"]]
            self.facts = int(description["facts"])
        self._corpus = Corpus(self.path)
        self._most, self._passage_weight, self._damping = facts, passage_weight, damping
        self._filter = FactFilter(SelectFacts) if filter else None
        self.asks_lm = filter
        self._triples: Sequence[bytes] = Lines(self.path / FACTS) if self.facts else ()
        self._encoder, width = encoder_of_index(self.path / DESCRIPTION, description, model, device)
        size = len(self._corpus), width
        self._passage_vectors = read_array(self.path / PASSAGE_VECTORS, np.float32, size, mapped=True)
        size = len(self._triples), width
        self._fact_vectors = read_array(self.path / FACT_VECTORS, np.float32, size, mapped=len(self._triples) > 0)
        with undamaged(self.path / GRAPH), np.load(self.path / GRAPH) as arrays:
            self._graph, self._ends = Graph.of_arrays(arrays), arrays["ends"]
            phrases = len(self._graph.holders)
            if len(self._graph) != phrases + len(self._corpus):
                raise ValueError("it has other nodes")
            whole = self._ends.shape == (len(self._triples), 2) and self._ends.dtype == np.int32
            if not whole or not ((self._ends >= 0) & (self._ends < phrases)).all():
                raise ValueError("the phrases of its triples are not there")

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        vectors = self._encoder.encode_queries(queries)
        if len(queries) == 1 or self._filter is None:
            return [self._search(query, vector, k) for query, vector in zip(queries, vectors, strict=True)]
        with ThreadPoolExecutor(min(_AT_ONCE, len(queries))) as pool:
            begun = [
                pool.submit(contextvars.copy_context().run, self._search, query, vector, k)
                for query, vector in zip(queries, vectors, strict=True)
            ]
            return [one.result() for one in begun]

    def _search(self, query: str, vector: NDArray[np.float32], k: int) -> list[Passage]:
        near = _scaled(self._passage_vectors @ vector)
        scores = near
        if kept := self._helpful(query, vector):
            scores = self._graph.pagerank(self._reset(kept, near), self._damping)[len(self._graph.holders) :]
        best = np.argsort(-scores, kind="stable")[:k]
        return [self._corpus.passage(int(row), float(scores[row])) for row in best]

    def _helpful(self, query: str, vector: NDArray[np.float32]) -> list[tuple[int, float]]:
        """The facts where the walks begin, by their numbers, and how near they are to the query.

        None if the LM finds none helpful, or its reply cannot be read, or the index is only tried out.
        """
        if not len(self._triples) or is_checking():
            return []
        near = _scaled(self._fact_vectors @ vector)
        best = [int(n) for n in np.argsort(-near, kind="stable")[: self._most]]
        if self._filter is not None:
            if dspy.settings.lm is None:
                raise UsageError(
                    f"hipporag:{self.path} asks an LM which facts help: name one (--lm, or dspy.configure(lm=…)), or "
                    "set filter to false in a TOML file of type hipporag"
                )
            with dspy.context(trace=None):  # which optimizers look for the program's own predictors in
                reply = ask(self._filter, facts=number([_as_passage(self._triple(n)) for n in best]), question=query)
            chosen = set(reply.relevant or ())
            best = [n for place, n in enumerate(best, 1) if place in chosen]
        return [(n, float(near[n])) for n in best]

    def _reset(self, facts: Iterable[tuple[int, float]], near: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per node the weight with which walks begin there.

        A phrase has the mean score of its facts, divided by the number of passages that have the phrase, so that a
        phrase that is everywhere counts little. The `facts` best phrases have a weight.
        """
        scores: dict[int, list[float]] = {}
        for n, score in facts:
            for phrase in self._ends[n]:
                scores.setdefault(int(phrase), []).append(score / self._graph.holders[phrase])
        means = {phrase: sum(each) / len(each) for phrase, each in scores.items()}
        reset = np.zeros(len(self._graph.holders) + len(near))
        for phrase in sorted(means, key=means.__getitem__, reverse=True)[: self._most]:
            reset[phrase] = means[phrase]
        reset[len(self._graph.holders) :] = self._passage_weight * near
        return reset

    def _triple(self, n: int) -> Triple:
        with undamaged(self.path / FACTS):
            subject, relation, object = map(str, json.loads(self._triples[n]))
        return subject, relation, object

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        out: str | Path,
        *,
        encoder: str | Encoder,
        lm: dspy.LM | None = None,
        synonyms: float = 0.8,
        lm_calls: int = 32,
        max_calls: int | None = None,
        batch_size: int = 32,
        resume: bool = True,
        overwrite: bool = False,
        device: str | None = None,
        progress: Callable[..., Any] = lambda items, **_: items,
    ) -> "HippoRAG":
        """Ask the LM for the facts in the passages, encode these, link them, and open the index.

        Two LM calls per passage: one for its names, one for its facts. Every reply is on disk as it comes, in
        `OUT.building`; an unfinished build goes on from there, with the same passages, LM and settings. What cannot be
        read in a reply is counted: see `unread`. An index that replaces one of these pays only for passages that are
        new, and for replies that could not be read; with another LM or other prompts for all.

        In memory are the facts, the phrases' vectors and the graph: some 10 kB per passage. Looking for synonyms takes
        time by the square of the number of phrases.

        Args:
            passages, out, batch_size, overwrite, device: See `retrieval.dense.Dense.build`.
            encoder: Likewise; its vectors are scaled to length 1. Paper: NV-Embed-v2.
            lm: The LM; by default DSPy's current one. Paper: Llama-3.3-70B-Instruct at temperature 0.
            synonyms: The least cosine of two phrases that are linked as synonyms. Paper: 0.8.
            lm_calls: LM calls under way at the same time.
            max_calls: Stop after so many LM calls, those of earlier sittings included.
            resume: Use the replies that an unfinished build or the index to be replaced has; if false, ask again.
            progress: Shows how it goes; called like `tqdm.tqdm`.

        Raises:
            UsageError: the extra is not installed, there is no LM, the model cannot be loaded, a passage cannot be
                indexed, there is none, a setting is out of range, `out` exists, or another process is building it.
            Unfinished: `max_calls` is reached, or the LM's provider failed for some passages.
        """
        out = Path(out)
        check_target(out, DESCRIPTION, "HippoRAG", overwrite)
        settings = Settings(synonyms, lm_calls, max_calls, batch_size)
        if (lm := lm or dspy.settings.lm) is None:
            raise UsageError("the facts of the passages are asked of an LM: name one (--lm, or dspy.configure(lm=…))")
        loaded = LoadedEncoder(replace(Encoder.named(encoder), normalize=True), device)
        with building(out) as work:
            if not resume:
                (work / REPLIES).unlink(missing_ok=True)
            before = out if resume else None
            replace_directory(out, write_index(passages, work, loaded, lm, before, settings, progress))
        return cls(out, model=loaded.encoder.model, device=device)


def _as_passage(triple: Triple) -> Passage:
    """A fact in the form in which prompts number what was found: its subject is the title."""
    return Passage("", f"{triple[1]} {triple[2]}", triple[0])


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """The scores brought to 0 … 1; all 1 where they are equal.

    Raises:
        RetrievalError: one is no number.
    """
    exact = scores.astype(np.float64)
    low, high = exact.min(), exact.max()
    if not np.isfinite(high - low):
        raise RetrievalError("the vectors of the index are damaged, some values are no numbers: build it again")
    return (exact - low) / (high - low) if high > low else np.ones_like(exact)
