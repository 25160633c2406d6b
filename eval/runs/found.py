"""The runs, state files and reports under a folder."""

import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eval.runs.store import Store, glance
from odqa.files import open_regular, read_whole
from retrieval import UsageError

__all__ = ["Found", "ReportFile", "StateFile", "asked", "find", "find_runs", "known_runs", "read_report", "read_state"]

_NO_QUESTION = {"task", "limit", "sample_seed", "metrics", "judge_api_base", "rescored", *Store.OWN}
_HEAD = 10_000  # bytes of a page in which its generator and its title stand


class StateSignature(BaseModel):
    instructions: str = ""


class StatePredictor(BaseModel):
    """What DSPy writes of a predictor, as far as it is shown."""

    signature: StateSignature = StateSignature()
    demos: list[Any] = []


@dataclass(frozen=True, slots=True)
class StateFile:
    """What a state file says; see `programs.instruments.state.save_state`."""

    path: Path
    manifest: dict[str, Any]
    predictors: dict[str, StatePredictor]
    """By name."""


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A page that `odqa eval report` wrote."""

    path: Path
    title: str


@dataclass(frozen=True, slots=True)
class Found:
    """All of them, by path."""

    runs: list[Path]
    states: list[StateFile]
    reports: list[ReportFile]


def find(folder: str | Path) -> Found:
    """What lies in a folder, and in the folders in it. The files of a run are no further finds.

    Raises:
        UsageError: there is no such folder.
    """
    found = Found([], [], [])
    for path in _paths(folder):
        if path.is_dir():
            found.runs.append(path)
        elif path.suffix == ".json" and (state := read_state(path)):
            found.states.append(state)
        elif path.suffix == ".html" and (report := read_report(path)):
            found.reports.append(report)
    return found


def find_runs(folder: str | Path) -> list[Path]:
    """The runs in a folder and in the folders in it, by path; takes no look at other files.

    Raises:
        UsageError: there is no such folder.
    """
    return [path for path in _paths(folder) if path.is_dir()]


def known_runs(folders: Iterable[Path]) -> dict[str, Path]:
    """The finished runs in these folders, at any depth, by what they asked; a folder that is not there holds none."""
    known = {}
    for path in (path for folder in folders if folder.is_dir() for path in find_runs(folder)):
        try:
            found = glance(path)
        except UsageError:
            continue  # a damaged one is none
        if found.gap is None:
            known[asked(found.manifest.entries())] = path
    return known


def asked(manifest: Mapping[str, Any]) -> str:
    """What was asked of whom: the entries of a manifest that no name of the questions and no metric changes.

    Args:
        manifest: As `eval.runs.runner.whole_manifest` gives it, or as it is on disk.
    """
    entries = {name: value for name, value in manifest.items() if name not in _NO_QUESTION}
    return json.dumps({**entries, "state": (manifest.get("state") or {}).get("sha256")}, sort_keys=True)


def read_state(path: Path) -> StateFile | None:
    """The state file; None if it is none."""
    try:
        content = json.loads(read_whole(path))
        if not isinstance(content, dict) or not isinstance(content.get("manifest"), dict) or "metadata" not in content:
            return None
        parts = {name: part for name, part in content.items() if name not in ("manifest", "metadata")}
        predictors = {name: StatePredictor.model_validate(part) for name, part in parts.items()}
    except (OSError, ValueError, RecursionError):
        return None
    return StateFile(path, content["manifest"], predictors)


def read_report(path: Path) -> ReportFile | None:
    """The report; None if it is none of ours."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD).decode(errors="replace")
    except OSError:
        return None
    title = re.search(r"<title>(.*?)</title>", head, re.DOTALL)
    if '<meta name="generator" content="dspy-odqa">' not in head or title is None:
        return None
    return ReportFile(path, html.unescape(title[1]))


def _paths(folder: str | Path) -> Iterator[Path]:
    """Directories of runs, and files that are in none."""
    if not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder}")
    for here, folders, files in os.walk(folder):
        folders.sort()
        if "manifest.json" in files:
            folders.clear()
            yield Path(here)
        else:
            yield from (Path(here) / file for file in sorted(files))
