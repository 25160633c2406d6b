"""The command line of the retrievers."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import exit_code, without_help

from retrieval import load
from retrieval.__main__ import main, make_parser
from retrieval.commands import index as index_command
from retrieval.commands import search

LINES = [
    {"id": 1, "title": "Cats", "text": "Cats chase – mice."},
    {"id": "b", "title": "", "text": "Dogs chase the cats."},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in LINES).encode()))
    return path


def call(*arguments: str) -> int | str | None:
    return exit_code(main, arguments)


def index(corpus: Path, out: Path, *more: str) -> int | str | None:
    return call("index", "--backend", "bm25", "--corpus", str(corpus), "--out", str(out), *more)


def test_index_and_search(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(corpus, tmp_path / "index") == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert list(summary) == ["passages", "seconds", "bytes"]
    assert summary["passages"] == 2
    assert summary["bytes"] == sum(file.stat().st_size for file in (tmp_path / "index").iterdir())
    assert printed.err == ""

    assert call("search", f"bm25:{tmp_path / 'index'}", "cat", "-k", "1") == 0
    (line,) = capsys.readouterr().out.splitlines()
    (found,) = load(f"bm25:{tmp_path / 'index'}")("cat", 1)
    assert line == json.dumps(LINES[0] | {"id": "1", "score": found.score}, ensure_ascii=False)

    assert call("search", f"bm25:{tmp_path / 'index'}", "xylophone") == 0
    assert capsys.readouterr().out == ""


def test_the_settings_reach_the_index(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(corpus, tmp_path / "i", "--k1", "1.5", "--b", "1", "--stemmer", "none", "--stop-words", "none") == 0
    about = json.loads((tmp_path / "i" / "bm25.json").read_text())
    assert (about["k1"], about["b"]) == (1.5, 1.0)
    assert (about["analyser"]["stemmer"], about["analyser"]["stop_words"]) == (None, [])
    assert index(corpus, tmp_path / "i") == 2
    assert "exists" in capsys.readouterr().err
    assert index(corpus, tmp_path / "i", "--overwrite", "--stemmer", "german") == 0
    about = json.loads((tmp_path / "i" / "bm25.json").read_text())
    assert (about["k1"], about["b"], about["analyser"]["stemmer"]) == (0.9, 0.4, "german")


def test_a_bad_line_ends_the_build_with_its_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps(LINES[0]) + '\n{"id": 2, "text": "x"}\n')
    assert index(corpus, tmp_path / "index") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"odqa: error: {corpus}, line 2: no title\n"
    assert list(tmp_path.iterdir()) == [corpus]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["search"], "SPEC, query"),
        (["search", "sample", "x", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["search", "sample", "x", "-k", "many"], "invalid int value: 'many'"),
        (["search", "sample", "x", "-k", "0"], "must be at least 1"),
        (["search", "sample", "  "], "the query is empty"),
        (["search", "nonsense:x", "x"], "there is no retriever 'nonsense:x': use sample or bm25:DIR"),
        (["search", "bm25:nowhere", "x"], "there is no BM25 index in nowhere"),
        (["index", "--backend", "nonsense", "--corpus", "x", "--out", "y"], "invalid choice: 'nonsense'"),
        (["index", "--backend", "bm25", "--corpus", "nowhere.jsonl", "--out", "y"], "cannot read nowhere.jsonl"),
        (["index", "--backend", "bm25", "--corpus", "x", "--out", "y", "--b", "2"], "b one from 0 to 1"),
        (["index", "--backend", "bm25", "--corpus", "x", "--out", "f/y"], "Not a directory: "),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("")
    assert call(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("odqa")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(spec: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "load", interrupted)
    assert call("search", "sample", "x") == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("backend", "flags", "message"),
    [
        (
            "bm25",
            ["--encoder", "sbert"],
            "--encoder is a setting of dense and hipporag and qdrant: the backend bm25 has no such setting",
        ),
        (
            "bm25",
            ["--no-resume"],
            "--resume is a setting of dense and colbert and hipporag and qdrant: the backend bm25 has no such setting",
        ),
        (
            "dense",
            ["--encoder", "x", "--k1", "1"],
            "--k1 is a setting of bm25 and qdrant: the backend dense has no such setting",
        ),
        (
            "colbert",
            ["--approximate"],
            "--approximate is a setting of dense and qdrant: the backend colbert has no such setting",
        ),
    ],
)
def test_a_setting_of_another_backend_is_refused(
    backend: str, flags: list[str], message: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--backend", backend, "--corpus", str(corpus), "--out", str(tmp_path / "out"), *flags]
    assert call("index", *arguments) == 2
    assert capsys.readouterr().err == f"odqa: error: {message}\n"


def test_an_interrupted_build_says_how_to_go_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(path: Path, progress: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(index_command, "read", interrupted)
    assert index(corpus, tmp_path / "index") == 130
    assert (
        capsys.readouterr().err
        == f"interrupted: {tmp_path / 'index'} is as it was before; the same command begins anew\n"
    )


@pytest.mark.parametrize("module", ["eval", "optimizers", "programs", "programs.blendfilter", "retrieval"])
def test_an_interrupt_of_the_imports_is_no_traceback(module: str, tmp_path: Path) -> None:
    (tmp_path / "dspy.py").write_text("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(1)")
    command = [sys.executable, "-m", module, "--help"]
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_help_lists_every_command_and_says_something_about_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert without_help(make_parser()) == []
    assert call("--help") == 0
    general = capsys.readouterr().out
    for name in "fetch", "corpus", "index", "add", "delete", "search", "serve":
        assert f"\n    {name} " in general
        assert call(name, "--help") == 0
        assert capsys.readouterr().out.startswith(f"usage: odqa {'serve-passages' if name == 'serve' else name} [-h]")


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "retrieval", "search", "sample", "Which river flows through Paris?", "-k", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [list(json.loads(line)) for line in done.stdout.splitlines()] == [["id", "title", "text", "score"]] * 3


def test_a_corpus_that_there_is_not_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fetch", "wiki99", "--out", str(tmp_path / "out")) == 2
    assert "there is no corpus 'wiki99': choose one of wiki17, wiki18, hotpotqa17" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("backend", "missing"), [("dense", "--encoder"), ("colbert", "--checkpoint"), ("hipporag", "--encoder")]
)
def test_a_backend_says_what_it_needs(
    backend: str, missing: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("index", "--backend", backend, "--corpus", str(corpus), "--out", str(tmp_path / "out")) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert f"needs {missing}" in complaint or f"pip install 'dspy-odqa[{backend}]'" in complaint
