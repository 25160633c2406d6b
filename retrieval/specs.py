"""Opening the retriever that a short text names, such as ``bm25:DIR``."""

import os
from collections.abc import Callable
from pathlib import Path

from odqa.errors import UsageError
from retrieval import known_item
from retrieval.base import Retriever
from retrieval.kinds import index_class

__all__ = ["FORMS", "load"]

_DESCRIPTIONS = (
    ("bm25", "bm25.json"),
    ("dense", "dense.json"),
    ("colbert", "colbert.json"),
    ("colbert", "metadata.json"),
    ("shards", "shards.json"),
    ("hipporag", "hipporag.json"),
    ("qdrant", "meta.json"),
)


def load(spec: str | Path) -> Retriever:
    """Open the retriever that `spec` names. An index is tried on a few of its passages: see `known_item.check_index`.

    Args:
        spec: `sample` (BM25 over the packaged sample corpus); `bm25:DIR`, `dense:DIR`, `colbert:DIR` or `hipporag:DIR`
            (an index that `odqa index` made; a ColBERT index may be one that colbert-ai made);
            `qdrant:PATH` or `qdrant:URL?collection=NAME` (a collection of Qdrant that the same command made, with
            `search=bm25`, `dense`, `colbert` or `hybrid` behind the question mark; the key of a server is in the
            environment variable QDRANT_API_KEY); `shards:DIR` (an index in parts,
            of `odqa shard`); `colbertv2:URL` (a server that speaks the ColBERTv2 protocol); or a
            TOML file that composes these (see `retrieval.compositions`). A path is that of a TOML file or of an index
            of any of these kinds.

    Raises:
        UsageError: there is no such form, or what the spec names is not there; the message says what to use.
        RetrievalError: the index is damaged.
    """
    if not isinstance(spec, str | Path):
        raise UsageError(f"there is no retriever {spec!r}: name one, such as 'sample' or 'bm25:DIR'")
    if isinstance(spec, Path):
        spec = str(spec) if spec.suffix == ".toml" else f"{_kind_of_index(spec)}:{spec}"
    if spec.endswith(".toml"):
        return _named(_composed(spec), spec)
    scheme, colon, rest = spec.partition(":")
    for form, opened in FORMS.items():
        if form.partition(":")[:2] == (scheme, colon) and bool(colon) == bool(rest):
            return _named(_checked(opened(rest), spec), spec)
    if kind := _kind(Path(spec)):
        raise UsageError(f"{spec} is an index, but not a retriever's name: use {kind}:{spec}")
    raise UsageError(f"there is no retriever {spec!r}: use {' or '.join(FORMS)}")


def _kind_of_index(directory: Path) -> str:
    if kind := _kind(directory):
        return kind
    raise UsageError(f"there is no index in {directory}: build one with `odqa index`")


def _kind(directory: Path) -> str | None:
    """The kind of the index in the directory, by the file that describes it; metadata.json is that of colbert-ai."""
    return next((kind for kind, description in _DESCRIPTIONS if os.path.isfile(directory / description)), None)


def _named(retriever: Retriever, spec: str) -> Retriever:
    retriever.opened_as, retriever.opened_by = spec, load
    return retriever


def _checked(retriever: Retriever, spec: str) -> Retriever:
    if isinstance(retriever, known_item.Index):
        known_item.check_index(retriever, spec)
    return retriever


def _opener(kind: str) -> Callable[[str], Retriever]:
    """A function that opens an index of that kind in a directory."""
    return lambda path: index_class(kind)(path)


def _sample(_: str) -> Retriever:
    from retrieval.sample import load_sample

    return load_sample()


def _shards(path: str) -> Retriever:
    from retrieval.shards import open_shards

    return open_shards(path, load)


def _qdrant(text: str) -> Retriever:
    from retrieval.qdrant import Qdrant
    from retrieval.qdrant.address import Address, api_key

    address = Address.parse(text)
    return Qdrant(address.location, collection=address.collection, search=address.search, api_key=api_key())


def _remote(url: str) -> Retriever:
    from retrieval.remote import ColBERTv2

    return ColBERTv2(url)


def _composed(path: str) -> Retriever:
    from retrieval.compositions import load_composition

    return load_composition(path, load)


FORMS: dict[str, Callable[[str], Retriever]] = {
    "sample": _sample,
    "bm25:DIR": _opener("bm25"),
    "dense:DIR": _opener("dense"),
    "colbert:DIR": _opener("colbert"),
    "shards:DIR": _shards,
    "hipporag:DIR": _opener("hipporag"),
    "qdrant:PATH or qdrant:URL?collection=NAME": _qdrant,
    "colbertv2:URL": _remote,
    "FILE.toml": _composed,
}
"""The forms that `load` takes; each maps to a function that opens what follows the colon."""
