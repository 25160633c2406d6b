"""The commands and the code of docs/hipporag.md, and the places that it names."""

import ast
import re
import shlex
from pathlib import Path

import dspy
import pytest
from support.command_line import exit_code
from support.graph_passages import PASSAGES, Knowing

import lms
from retrieval.__main__ import main
from retrieval.commands import asking
from retrieval.indexes import passage_line

pytestmark = pytest.mark.needs("faiss")


ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "hipporag.md").read_text(encoding="utf-8")


def test_what_the_page_shows_runs(
    tmp_path: Path, knowing: Knowing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asking, "load_lm", lambda args: knowing.lm)
    Path("corpus.jsonl").write_bytes(b"".join(map(passage_line, PASSAGES)))
    commands = re.findall(r"^    odqa (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert exit_code(main, shlex.split(command)) == 0
    assert '"id": "ada"' in capsys.readouterr().out
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.setattr(dspy, "configure", lambda **settings: None)  # which holds for the other tests too
    with dspy.context(lm=lms.load("extractive")):
        exec(code, {})
    assert set(capsys.readouterr().out.split("\n")[:2]) == {"Ada Quill", "Zorx"}


def test_every_place_that_the_page_names_exists() -> None:
    places = re.findall(r"`([a-z_]+/[a-z_/]+\.py)(?::([\w.]+))?`", PAGE)
    assert len(places) > 10
    for file, qualified in places:
        scope: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        for part in qualified.split("."):
            found = [node for node in scope if getattr(node, "name", None) == part]
            assert found, f"{file} has no {qualified}"
            scope = getattr(found[0], "body", [])
