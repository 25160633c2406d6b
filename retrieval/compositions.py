"""Retrievers that a TOML file composes of others, or gives settings: `--retriever hybrid.toml`.

    type = "rrf"                              or "interpolate"
    retrievers = ["bm25:idx", "dense:idx2"]   specs, or tables of the same form as this file
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
    query_maxlen = 256                        this and the other settings of `retrieval.colbert.ColBERT`: checkpoint,
                                              collection, device, ncells, centroid_score_threshold, ndocs, exact

    type = "hipporag"
    index = "my-graph"                        the directory
    filter = false                            this and the other settings of `retrieval.hipporag.HippoRAG`: model,
                                              device, facts, passage_weight, damping

Only `type`, the retrievers, the scorer and the index are needed. Paths of indexes, models and other TOML files are
relative to the directory of the file that names them.
"""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from odqa.errors import UsageError
from odqa.files import resolved
from odqa.reading import read_toml
from retrieval import known_item
from retrieval.base import Retriever
from retrieval.kinds import index_class
from retrieval.ranking.fuse import Fused, interpolate, reciprocal_rank_fusion
from retrieval.ranking.rerank import Reranked
from retrieval.ranking.scorers import load_scorer

__all__ = ["load_composition", "with_path"]

Spec = str | dict[str, Any]


def load_composition(path: str | Path, open_spec: Callable[[str], Retriever]) -> Retriever:
    """Open the retriever that a TOML file describes. `open_spec` opens the specs in it that name no TOML files.

    Raises:
        UsageError: the file cannot be read, is not of the form above or contains itself; the message names the file and
            the key.
        OdqaError: whatever `open_spec` raises.
    """
    return _File(Path(path), open_spec, ()).load()


def with_path(spec: str, change: Callable[[str], str]) -> str:
    """The spec of a retriever with the path in it, if there is one, changed."""
    if spec.endswith(".toml"):
        return change(spec)
    name, colon, rest = spec.partition(":")
    return f"{name}:{change(rest)}" if colon and "://" not in rest else spec


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Fusion(_Table):
    retrievers: Annotated[list[Spec], Field(min_length=1)]
    weights: list[Annotated[float, Field(ge=0)]] | None = None
    depth: Annotated[int, Field(ge=1)] = 100


class _ReciprocalRank(_Fusion):
    type: Literal["rrf"]
    constant: Annotated[float, Field(ge=0)] = 60


class _Interpolation(_Fusion):
    type: Literal["interpolate"]
    normalize: Literal["minmax", "zscore"] = "minmax"


class _Reranking(_Table):
    type: Literal["rerank"]
    retriever: Spec
    scorer: str
    depth: Annotated[int, Field(ge=1)] = 50


class _Index(_Table):
    """The settings are those of the class that opens the index, which checks them."""

    type: str
    index: str


_TABLES: dict[Any, type[_ReciprocalRank | _Interpolation | _Reranking]] = {
    "rrf": _ReciprocalRank,
    "interpolate": _Interpolation,
    "rerank": _Reranking,
}
_INDEXES = "colbert", "hipporag"
_PROBLEMS = {"extra_forbidden": "there is no such key", "missing": "this key is needed"}


class _File:
    """One file, and the files that contain it."""

    def __init__(self, path: Path, open_spec: Callable[[str], Retriever], parents: tuple[Path, ...]) -> None:
        self.path = path
        self._open_spec = open_spec
        self._files = (*parents, resolved(path))
        if resolved(path) in parents:
            raise UsageError(f"{path} contains itself")

    def load(self) -> Retriever:
        try:
            return self._open_table(read_toml(self.path), "")
        except RecursionError:
            raise UsageError(f"{self.path} is nested too deeply") from None

    def _open_table(self, table: dict[str, Any], place: str) -> Retriever:
        """The retriever that a table describes. `place` is the path of keys to the table, with a dot after each key."""
        kind = table.get("type")
        if not isinstance(kind, str) or kind not in (*_TABLES, *_INDEXES):
            kinds = ", ".join((*_TABLES, *_INDEXES))
            raise UsageError(f"{self.path}: {place}type must be one of {kinds}, not {kind!r}")
        opened = index_class(kind) if kind in _INDEXES else None
        try:
            settings = (_settings_of(opened) if opened else _TABLES[kind]).model_validate(table)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(str(part) for part in first["loc"] if part not in ("str", "dict[str,any]"))
            problem = _PROBLEMS.get(first["type"], first["msg"])
            raise UsageError(f"{self.path}: {place}{key}: {problem}") from error
        if opened:
            return self._open_index(opened, settings)
        if isinstance(settings, _Reranking):
            retriever = self._open(settings.retriever, f"{place}retriever.")
            name, _, model = settings.scorer.partition(":")
            scorer = load_scorer(f"{name}:{self._model(model)}" if model else settings.scorer)
            return Reranked(retriever, scorer, depth=settings.depth)
        if settings.weights and len(settings.weights) != len(settings.retrievers):
            raise UsageError(
                f"{self.path}: {place}weights: there must be one for each of {len(settings.retrievers)} retrievers"
            )
        fuse = (
            partial(reciprocal_rank_fusion, constant=settings.constant, weights=settings.weights)
            if isinstance(settings, _ReciprocalRank)
            else partial(interpolate, weights=settings.weights, normalize=settings.normalize)
        )
        retrievers = [self._open(spec, f"{place}retrievers.{n}.") for n, spec in enumerate(settings.retrievers)]
        return Fused(retrievers, fuse=fuse, depth=settings.depth)

    def _open(self, spec: Spec, place: str) -> Retriever:
        if isinstance(spec, dict):
            return self._open_table(spec, place)
        folder = self.path.parent
        if spec.endswith(".toml"):
            return _File(folder / spec, self._open_spec, self._files).load()
        return self._open_spec(with_path(spec, lambda path: str(folder / path)))

    def _open_index(self, opened: Any, settings: Any) -> Retriever:
        folder, options = self.path.parent, settings.model_dump(exclude={"type", "index"}, exclude_unset=True)
        options |= {name: self._model(options[name]) for name in ("checkpoint", "model") if options.get(name)}
        if options.get("collection"):
            options["collection"] = folder / options["collection"]
        index: Any = opened(folder / settings.index, **options)
        known_item.check_index(index, str(self.path))
        return index  # type: ignore[no-any-return]

    def _model(self, name: str) -> str:
        """The path of a model if that is a directory, else its name on the hub."""
        path = self.path.parent / name
        return str(path) if path.is_dir() else name


def _settings_of(opened: Any) -> type[Any]:
    """The table of an index: its directory, and the settings that its class takes by name."""
    parameters = inspect.signature(opened).parameters.values()
    settings: dict[str, Any] = {p.name: (p.annotation, p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
    return create_model("Index", __base__=_Index, **settings)
