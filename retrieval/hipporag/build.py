"""Building a HippoRAG 2 index: what the LM finds in the passages, the vectors, the synonyms, and the graph of them."""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from numpy.typing import NDArray

from odqa.errors import UsageError
from retrieval.dense.encoder import PROBE, LoadedEncoder
from retrieval.descriptions import write_description
from retrieval.hipporag.graph import Synonyms, collect, link
from retrieval.hipporag.openie import OpenIE, Replies, extract_all, identity, prompts
from retrieval.indexes import Corpus, LineWriter, checked_passages, store_passages
from retrieval.models import import_package
from retrieval.passage import Passage
from signatures.extract import ExtractTriples, NameEntities

__all__ = [
    "DESCRIPTION",
    "FACTS",
    "FACT_VECTORS",
    "FORMAT",
    "GRAPH",
    "OPENIE",
    "PASSAGE_VECTORS",
    "REPLIES",
    "Settings",
    "fact_text",
    "write_index",
]

DESCRIPTION = "hipporag.json"
FORMAT = 1
PASSAGE_VECTORS = "passages.npy"
FACT_VECTORS = "facts.npy"
FACTS = "facts.jsonl"
GRAPH = "graph.npz"
OPENIE = "openie.jsonl"
REPLIES = "replies.jsonl"  # in the working directory of a build
_MOST_SYNONYMS = 100  # of a phrase
_LEAST_LETTERS = 3  # of a phrase whose synonyms are looked for
_BLOCK = 1024  # texts that are encoded, and phrases whose neighbours are looked for, at a time


@dataclass(frozen=True)
class Settings:
    """How an index is built; see `retrieval.hipporag.HippoRAG.build`."""

    synonyms: float
    lm_calls: int
    max_calls: int | None
    batch_size: int

    def __post_init__(self) -> None:
        calls = self.lm_calls if self.max_calls is None else min(self.lm_calls, self.max_calls)
        if min(self.batch_size, calls) < 1 or not 0 < self.synonyms <= 1:
            raise UsageError(
                "a build needs batches of at least 1, an LM call at once and in all, and a cosine above 0 and up to 1, "
                f"not {self.batch_size}, {self.lm_calls}, {self.max_calls} and {self.synonyms}"
            )


def write_index(
    passages: Iterable[Passage],
    work: Path,
    encoder: LoadedEncoder,
    lm: dspy.LM,
    before: Path | None,
    settings: Settings,
    progress: Callable[..., Any],
) -> Path:
    """Write an index into `work`, the working directory of a build, where the LM's replies stay; see
    `retrieval.hipporag.HippoRAG.build`. The replies of the index `before`, which this one is to replace, are used too.

    Raises:
        UsageError: a passage cannot be indexed, or there is none.
        Unfinished: a limit is reached, or the LM's provider failed.
    """
    index = work / "index"
    shutil.rmtree(index, ignore_errors=True)
    index.mkdir()
    digest = store_passages(index, checked_passages(passages))
    corpus = Corpus(index)
    with Replies(work / REPLIES, before / OPENIE if before else None).writing() as replies:
        openie = OpenIE(lm, replies)
        found = extract_all(
            corpus,
            openie,
            at_once=settings.lm_calls,
            calls_before=replies.calls,
            max_calls=settings.max_calls,
            progress=progress,
        )
        _keep(replies, index / OPENIE, corpus, openie)
    facts = collect(one.triples or [] for one in found)

    def encode(out: Path, count: int, text: Callable[[int], Passage], what: str) -> NDArray[np.float32]:
        shown = partial(progress, desc=what, unit="block")
        return _encode(out, count, text, encoder, settings.batch_size, shown)

    encode(index / PASSAGE_VECTORS, len(corpus), corpus.passage, "passages")
    encode(index / FACT_VECTORS, len(facts.triples), lambda n: Passage("", fact_text(facts.triples[n])), "facts")
    vectors = encode(work / "phrases.npy", len(facts.phrases), lambda n: Passage("", facts.phrases[n]), "phrases")
    graph = link(facts, len(corpus), _synonyms(facts.phrases, vectors, settings.synonyms))
    np.savez(index / GRAPH, allow_pickle=False, ends=facts.ends, **graph.arrays())
    with LineWriter(index / FACTS) as fact_file:
        for triple in facts.triples:
            fact_file.write(json.dumps(triple, ensure_ascii=False).encode() + b"\n")
    np.save(index / PROBE, encoder.probe())
    about = {"format": FORMAT, "encoder": asdict(encoder.encoder), "lm": identity(lm)}
    about |= {"prompts": prompts(NameEntities, ExtractTriples), "corpus": digest, "synonyms": settings.synonyms}
    about |= {"phrases": len(facts.phrases), "facts": len(facts.triples)}
    about["unread"] = [corpus.passage(row).id for row, one in enumerate(found) if None in one]
    write_description(index, DESCRIPTION, about)
    return index


def fact_text(triple: Sequence[str]) -> str:
    """A fact as the encoder is shown it."""
    return " ".join(triple)


def _keep(replies: Replies, out: Path, corpus: Corpus, openie: OpenIE) -> None:
    """Write the replies that the index is made of: another build over it need not pay for them."""
    with Replies(out).writing() as kept:
        for row in range(len(corpus)):
            passage = corpus.passage(row)
            for key in openie.keys(passage):
                kept.add(key, passage.id, replies[key], 0)


def _encode(
    out: Path,
    count: int,
    text: Callable[[int], Passage],
    encoder: LoadedEncoder,
    batch_size: int,
    progress: Callable[[range], Iterable[int]],
) -> NDArray[np.float32]:
    """Write the vectors of so many texts to a file; `text` gives each by its number."""
    size = encoder.probe().shape[1]
    if not count:  # a file cannot be mapped to no memory
        np.save(out, np.empty((0, size), np.float32))
        return np.empty((0, size), np.float32)
    vectors = np.lib.format.open_memmap(out, "w+", np.dtype(np.float32), (count, size))
    for begin in progress(range(0, count, _BLOCK)):  # of which the encoder batches those of like length
        block = [text(n) for n in range(begin, min(begin + _BLOCK, count))]
        vectors[begin : begin + _BLOCK] = encoder.encode_passages(block, batch_size)
    vectors.flush()
    return vectors


def _synonyms(phrases: Sequence[str], vectors: NDArray[np.float32], threshold: float) -> Synonyms:
    """The neighbours of each phrase whose cosine is at least the threshold, `_MOST_SYNONYMS` of them at most."""
    faiss = import_package("faiss")
    asked = np.array([sum(map(str.isalnum, phrase)) >= _LEAST_LETTERS for phrase in phrases], bool).nonzero()[0]
    found: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    for begin in range(0, len(asked), _BLOCK):
        rows = asked[begin : begin + _BLOCK]
        most = min(_MOST_SYNONYMS + 1, len(phrases))  # one is the phrase itself
        cosines, near = faiss.knn(vectors[rows], np.asarray(vectors), most, faiss.METRIC_INNER_PRODUCT)
        close = (cosines >= threshold) & (near != rows[:, None])
        close[:, _MOST_SYNONYMS:] &= close[:, :_MOST_SYNONYMS].sum(axis=1, keepdims=True) < _MOST_SYNONYMS
        places = close.nonzero()
        found.append((rows[places[0]], near[places], cosines[places]))
    first, second, cosine = (np.concatenate(part) for part in zip(*found, strict=True)) if found else [np.empty(0)] * 3
    return Synonyms(first.astype(np.int64), second.astype(np.int64), cosine.astype(np.float64))
