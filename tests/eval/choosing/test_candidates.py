"""Candidates from flags and from a file."""

from pathlib import Path
from typing import Any

import pytest

from eval.choosing.candidates import USUAL, candidates_of, request_of
from eval.runs.request import Request
from retrieval import UsageError

BASE = Request(task="sample", program="direct", lm="extractive")


def names(**given: Any) -> list[str]:
    return [candidate.name for candidate in candidates_of(BASE, **given)]


def test_the_usual_ones() -> None:
    assert names() == list(USUAL)


def test_settings_and_retrievers_are_combined_and_told_apart() -> None:
    assert names(methods=["direct", "cot"], settings={"cot": {"k": [3, 10]}}) == ["direct", "cot-k-3", "cot-k-10"]
    assert names(methods=["direct"], retrievers=["sample", "none"]) == ["direct-sample", "direct-none"]
    secret = "colbertv2:http://me:password@127.0.0.1/search?token=hidden"
    assert names(methods=["direct"], retrievers=["none", secret]) == ["direct-none", "direct-search"]
    found = candidates_of(BASE, methods=["direct", "cot"], settings={"cot": {"k": [3]}})
    request = request_of(found[1], BASE)
    assert (request.program, request.settings, request.retriever, request.lm) == (
        "cot",
        {"k": 3},
        "sample",
        "extractive",
    )


def test_a_file_has_more(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text('adapters = ["chat", "json"]\nprograms = ["cot", { program = "direct", demonstrations = 2 }]')
    assert names(file=file) == ["cot-chat", "cot-json", "direct-demonstrations-2-chat", "direct-demonstrations-2-json"]
    assert names(file=file, methods=["cot"]) == ["cot-chat", "cot-json"]


@pytest.mark.parametrize(
    ("given", "content", "message"),
    [
        ({"methods": ["direct"]}, None, "a race needs at least two candidates"),
        ({"methods": ["direct", "nosuch"]}, None, "there is no program 'nosuch'"),
        ({"methods": ["direct", "cot"], "settings": {"cot": {"hops": [2]}}}, None, "has the setting 'hops'"),
        ({"methods": ["direct", "cot"], "settings": {"ircot": {"k": [2]}}}, None, "ircot is no candidate here"),
        ({}, 'lms = ["oracle"]', "candidates have no 'lms'; there are: programs, retrievers, adapters, settings"),
        ({}, "programs = [3]", "programs 1"),
    ],
)
def test_mistakes_are_said(given: Any, content: str | None, message: str, tmp_path: Path) -> None:
    if content:
        given["file"] = tmp_path / "more.toml"
        given["file"].write_text(content)
    with pytest.raises(UsageError, match=message):
        candidates_of(BASE, **given)
