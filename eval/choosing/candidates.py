"""The candidates of a race: from names of methods, settings to be tried and a TOML file, each combination once."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.choosing.record import Candidate
from eval.runs.request import Request
from eval.runs.sets import combinations, make_set
from odqa.errors import UsageError, there_are
from odqa.reading import read_toml
from odqa.secrets import public

__all__ = ["USUAL", "candidates_of", "request_of"]

USUAL = (
    *("direct", "cot", "iter_retgen", "qpaug", "par2_rag"),
    *("self_ask", "ircot", "search_o1", "blendfilter", "migres"),
)
"""The methods that are raced where none is named: each of another kind, with one LM call for a question to ten."""

_FIELDS = ("programs", "retrievers", "adapters", "settings")  # of a set of runs, that make candidates


def candidates_of(
    base: Request,
    *,
    methods: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Sequence[Any]]] = {},
    retrievers: Sequence[str] = (),
    file: str | Path | None = None,
) -> tuple[Candidate, ...]:
    """All candidates, each with a short name of its own.

    Args:
        base: The task, and the retriever and the adapter where nothing else is said.
        methods: Names of programs; `USUAL` if there are none here and none in the file.
        settings: By method and setting the values to be tried.
        retrievers: To be tried with each method.
        file: A TOML file with `programs`, `retrievers`, `adapters` and `settings` as in a set of runs; see
            `eval.runs.sets.RunSet`.

    Raises:
        UsageError: there is no such program or setting, a value does not fit, the file is not of this form, or there
            are fewer than two candidates.
    """
    content = {} if file is None else read_toml(file)
    if unknown := [name for name in content if name not in _FIELDS]:
        raise UsageError(f"{file}: candidates have no {unknown[0]!r}; {there_are(unknown[0], _FIELDS)}")
    if methods:
        content["programs"] = list(methods)
    if retrievers:
        content["retrievers"] = list(retrievers)
    named = content.get("programs", list(USUAL))
    entries: list[Any] = [
        {"program": entry} if isinstance(entry, str) else entry
        for entry in (named if isinstance(named, list) else [named])
    ]
    by_name = {entry.get("program"): entry for entry in entries if isinstance(entry, dict)}
    if missing := [method for method in settings if method not in by_name]:
        raise UsageError(f"{missing[0]} is no candidate here, and so has no settings to be tried")
    for method, tried in settings.items():
        entry = by_name[method]
        entry["settings"] = {**entry.get("settings", {}), **{name: list(values) for name, values in tried.items()}}
    made = make_set({**content, "programs": entries, "tasks": [base.task]}, str(file or "the candidates"))
    usual = {"retriever": base.retriever, "adapter": base.adapter, "structured": base.structured}
    requests = list({repr(request): request for request in combinations(made, usual)}.values())
    if len(requests) < 2:
        raise UsageError("a race needs at least two candidates: name more methods, settings or retrievers")
    names = _names(requests)
    return tuple(
        Candidate(
            name=name,
            program=request.program,
            settings=dict(request.settings),
            retriever=request.retriever,
            state=request.state,
            demonstrations=request.demonstrations,
            adapter=request.adapter,
            structured=request.structured,
        )
        for name, request in zip(names, requests, strict=True)
    )


def request_of(candidate: Candidate, base: Request) -> Request:
    """What a run of the candidate is asked to do; what does not make a candidate is as in `base`."""
    return replace(
        base,
        program=candidate.program,
        settings=candidate.settings,
        retriever=candidate.retriever,
        state=candidate.state,
        demonstrations=candidate.demonstrations,
        adapter=candidate.adapter,
        structured=candidate.structured,
    )


def _names(requests: Sequence[Request]) -> list[str]:
    """The program, with as much behind it as tells the candidates apart."""
    several = {of: len({getattr(request, of) for request in requests}) > 1 for of in ("retriever", "adapter")}
    parts = [
        [
            request.program,
            *(f"{name}-{value}" for name, value in request.settings.items()),
            *([Path(request.state).stem] if request.state else []),
            *([f"demonstrations-{request.demonstrations}"] if request.demonstrations else []),
            *([Path(public(request.retriever).rpartition(":")[2]).name] if several["retriever"] else []),
            *([request.adapter or "chat"] if several["adapter"] else []),
        ]
        for request in requests
    ]
    names = [re.sub(r"[^\w.-]+", "-", "-".join(each)).rstrip("-") for each in parts]
    again = Counter(names)
    return [f"{name}-{number}" if again[name] > 1 else name for number, name in enumerate(names, 1)]
