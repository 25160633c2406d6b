"""Retrievers put together or set by a TOML file, which is a spec itself: `--retriever hybrid.toml`.

    type = "rrf"                              or "interpolate"
    retrievers = ["bm25:idx", "dense:idx2"]   specs, or tables of the same form as the file
    constant = 60                             rrf: of the formula
    normalize = "minmax"                      interpolate: or "zscore"
    weights = [1, 1]                          both: one per retriever
    depth = 100                               both: how many passages each retriever is asked for

    type = "rerank"
    retriever = "hybrid.toml"                 a spec or a table
    scorer = "cross-encoder:BAAI/bge-reranker-base"    or "upr:MODEL", "lexical"
    depth = 50                                how many passages are scored

    type = "colbert"
    index = "wiki17.nbits.local"              the directory
    query_maxlen = 256                        this and what else `retrieval.colbert.search.ColBERT` takes: checkpoint,
                                              collection, device, ncells, centroid_score_threshold, ndocs

Everything but `type`, the retrievers, the scorer and the index can be left out. Paths in specs, of indexes, models and
files like this one, begin at the directory of the file that they stand in.
"""

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval import known_item
from retrieval.base import Retriever
from retrieval.errors import UsageError
from retrieval.ranking.fuse import Fused, interpolate, reciprocal_rank_fusion
from retrieval.ranking.scorers import Reranked, load_scorer

__all__ = ["load"]

Spec = str | dict[str, Any]


def load(path: str | Path, open_spec: Callable[[str], Retriever]) -> Retriever:
    """Open the retriever that a TOML file describes.

    Args:
        path: The file.
        open_spec: Opens the specs in it that are no such files, with paths already resolved.

    Raises:
        UsageError: the file cannot be read, or it is not of the form above, or it contains itself; names file and key.
            Or what `open_spec` raises.
    """
    return _File(Path(path), open_spec, ()).load()


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Fusion(_Form):
    retrievers: Annotated[list[Spec], Field(min_length=1)]
    weights: list[Annotated[float, Field(ge=0)]] | None = None
    depth: Annotated[int, Field(ge=1)] = 100


class _ReciprocalRank(_Fusion):
    type: Literal["rrf"]
    constant: Annotated[float, Field(ge=0)] = 60


class _Interpolation(_Fusion):
    type: Literal["interpolate"]
    normalize: Literal["minmax", "zscore"] = "minmax"


class _Reranking(_Form):
    type: Literal["rerank"]
    retriever: Spec
    scorer: str
    depth: Annotated[int, Field(ge=1)] = 50


class _ColBERT(_Form):
    """The settings are checked where they are used."""

    type: Literal["colbert"]
    index: str
    checkpoint: str | None = None
    collection: str | None = None
    device: str | None = None
    query_maxlen: int | None = None
    ncells: int | None = None
    centroid_score_threshold: float | None = None
    ndocs: int | None = None


_FORMS: dict[Any, type[_ReciprocalRank | _Interpolation | _Reranking | _ColBERT]] = {
    "rrf": _ReciprocalRank,
    "interpolate": _Interpolation,
    "rerank": _Reranking,
    "colbert": _ColBERT,
}
_PROBLEMS = {"extra_forbidden": "there is no such key", "missing": "this key is needed"}


class _File:
    """One file, and the files that it is part of."""

    def __init__(self, path: Path, open_spec: Callable[[str], Retriever], parents: tuple[Path, ...]) -> None:
        self.path = path
        self._open_spec = open_spec
        self._files = (*parents, path.resolve())
        if path.resolve() in parents:
            raise UsageError(f"{path} contains itself")

    def load(self) -> Retriever:
        try:
            table = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot read {self.path}: {error.strerror}") from error
        except ValueError as error:  # no TOML, or no UTF-8
            raise UsageError(f"{self.path} is no TOML file: {error}") from error
        return self._table(table, "")

    def _table(self, table: dict[str, Any], place: str) -> Retriever:
        """The retriever of a table that stands at `place`, the keys that lead to it with dots behind each."""
        kind = table.get("type")
        if not isinstance(kind, str) or kind not in _FORMS:
            raise UsageError(f"{self.path}: {place}type must be one of {', '.join(_FORMS)}, not {kind!r}")
        try:
            form = _FORMS[kind].model_validate(table)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(str(part) for part in first["loc"] if part not in ("str", "dict[str,any]"))
            problem = _PROBLEMS.get(first["type"], first["msg"])
            raise UsageError(f"{self.path}: {place}{key}: {problem}") from error
        if isinstance(form, _ColBERT):
            return self._colbert(form)
        if isinstance(form, _Reranking):
            retriever = self._open(form.retriever, f"{place}retriever.")
            name, _, model = form.scorer.partition(":")
            scorer = load_scorer(f"{name}:{self._model(model)}" if model else form.scorer)
            return Reranked(retriever, scorer, depth=form.depth)
        if form.weights and len(form.weights) != len(form.retrievers):
            raise UsageError(
                f"{self.path}: {place}weights: there must be one for each of {len(form.retrievers)} retrievers"
            )
        fuse = (
            partial(reciprocal_rank_fusion, constant=form.constant, weights=form.weights)
            if isinstance(form, _ReciprocalRank)
            else partial(interpolate, weights=form.weights, normalize=form.normalize)
        )
        retrievers = [self._open(spec, f"{place}retrievers.{n}.") for n, spec in enumerate(form.retrievers)]
        return Fused(retrievers, fuse=fuse, depth=form.depth)

    def _open(self, spec: Spec, place: str) -> Retriever:
        if isinstance(spec, dict):
            return self._table(spec, place)
        folder = self.path.parent
        if spec.endswith(".toml"):
            return _File(folder / spec, self._open_spec, self._files).load()
        name, colon, rest = spec.partition(":")
        return self._open_spec(f"{name}:{folder / rest}" if colon and "://" not in rest else spec)

    def _colbert(self, form: _ColBERT) -> Retriever:
        from retrieval.colbert.search import ColBERT

        folder = self.path.parent
        settings = form.model_dump(exclude={"type", "index"}, exclude_none=True)
        if form.checkpoint:
            settings["checkpoint"] = self._model(form.checkpoint)
        if form.collection:
            settings["collection"] = folder / form.collection
        index = ColBERT(folder / form.index, **settings)
        known_item.check(index, str(self.path))
        return index

    def _model(self, name: str) -> str:
        """The path of a model, if there is such a directory, or else its name on the hub."""
        path = self.path.parent / name
        return str(path) if path.is_dir() else name
