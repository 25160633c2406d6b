"""A few passages of the sample corpus, and ColBERT indexes of them."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from retrieval import Passage
from retrieval.colbert import ColBERT
from retrieval.corpora import SAMPLE, read

__all__ = ["DOC_MAXLEN", "PASSAGES", "build", "text"]

PASSAGES = list(islice(read(SAMPLE), 36))
DOC_MAXLEN = 36


def build(passages: Iterable[Passage], out: Path, checkpoint: Path, **settings: Any) -> ColBERT:
    """`ColBERT.build` on the CPU, with short passages."""
    return ColBERT.build(passages, out, checkpoint=checkpoint, **{"doc_maxlen": DOC_MAXLEN, "device": "cpu"} | settings)


def text(passage: Passage) -> str:
    """What ColBERT encodes of a passage."""
    return f"{passage.title} | {passage.text}"
