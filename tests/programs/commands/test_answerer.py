"""An answerer file on the command lines of `odqa ask` and `odqa serve`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.answerers import written
from support.faulty_server import Provider
from support.loopback import url_in
from support.patience import PATIENCE

QUESTION = "Which general led the Italian troops at Adwa?"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(lambda prompt, before: json.dumps({"answer": "Baratieri"})).running() as provider:
        yield provider


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "odqa", *words]
    environment = {**os.environ, "OPENAI_API_KEY": "", **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE, cwd=folder)


def asked(folder: Path, *flags: str, **environment: str) -> dict[str, Any]:
    done = run(folder, "ask", "@answerer.toml", QUESTION, "--trace", *flags, **environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_ask_answers_as_the_file_says_whatever_the_environment_says(provider: Provider, tmp_path: Path) -> None:
    written(tmp_path, provider)
    elsewhere = {"ODQA_LM": "extractive", "ODQA_API_BASE": "http://127.0.0.1:9", "ODQA_RETRIEVER": "bm25:not-there"}
    found = asked(tmp_path, **elsewhere)
    assert (found["answer"], len(found["passages"])) == ("Baratieri", 1)
    (body,) = provider.bodies
    assert (body["model"], body["temperature"]) == ("made-up", 0.25)
    assert "JSON" in json.dumps(body["messages"])


def test_flags_beside_the_file_come_first(provider: Provider, tmp_path: Path) -> None:
    written(tmp_path, provider, lm_settings={"api_base": provider.url, "temperature": 0.25, "top_p": 0.5, "seed": 1})
    flags = ["--k", "2", "--temperature", "0.75", "--lm-arg", "top_p=0.875"]
    assert len(asked(tmp_path, *flags)["passages"]) == 2
    (body,) = provider.bodies
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.75, 0.875, 1)


def test_another_lm_takes_the_place_of_the_files_with_its_options(provider: Provider, tmp_path: Path) -> None:
    written(tmp_path, provider, lm_settings={"api_base": "http://127.0.0.1:9", "top_p": 0.5})
    assert asked(tmp_path, "--lm", "extractive")["answer"]
    assert asked(tmp_path, "--lm", "openai/other", "--api-base", provider.url)["answer"] == "Baratieri"
    (body,) = provider.bodies
    assert body["model"] == "other"
    assert "top_p" not in body


def test_a_file_that_names_no_retriever_leaves_it_to_the_environment(tmp_path: Path) -> None:
    (tmp_path / "answerer.toml").write_text('program = "direct"\nlm = "extractive"', encoding="utf-8")
    done = run(tmp_path, "ask", "@answerer.toml", QUESTION, ODQA_RETRIEVER="bm25:not-there")
    assert "there is no BM25 index in not-there" in done.stderr


def test_a_file_that_names_no_lm_leaves_it_to_the_environment(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "answerer.toml").write_text('program = "direct"\nadapter = "json"', encoding="utf-8")
    assert asked(tmp_path, ODQA_LM="openai/made-up", ODQA_API_BASE=provider.url)["answer"] == "Baratieri"


def test_help_says_what_the_file_has(provider: Provider, tmp_path: Path) -> None:
    written(tmp_path, provider, settings={"k": 17})
    assert "(default: 17)" in " ".join(run(tmp_path, "ask", "@answerer.toml", "--help").stdout.split())


@pytest.mark.slow
@pytest.mark.needs("uvicorn")
@pytest.mark.parametrize("words", ["ask @a.toml x", "serve @a.toml", "eval sample --program=@a.toml"])
def test_a_mistake_in_the_file_is_one_line(words: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('program = "direct"\nsettings = { kk = 3 }', encoding="utf-8")
    done = run(tmp_path, *words.split())
    assert done.returncode == 2
    assert done.stderr.endswith("error: a.toml: direct has no setting 'kk'; it has: k, style\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.needs("uvicorn")
def test_the_server_has_the_answerer_as_a_model_with_the_name_of_its_file(provider: Provider, tmp_path: Path) -> None:
    written(tmp_path, provider)
    command = [sys.executable, "-m", "odqa", "serve", "@answerer.toml", "cot", "--port", "0", "--set", "answerer.k=2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        try:
            client = httpx.Client(base_url=url_in(iter(process.stderr)), trust_env=False, timeout=PATIENCE)
            with client:
                models = [model["id"] for model in client.get("/v1/models").json()["data"]]
                told = client.get("/v1/methods").json()
                chat = {"model": "answerer", "messages": [{"role": "user", "content": QUESTION}]}
                said = client.post("/v1/chat/completions", json=chat).json()
                record = client.post("/v1/answers", json={"question": QUESTION, "method": "answerer"}).json()
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
    assert models == ["answerer", "cot", "answerer@sample", "cot@sample"]
    assert told["lm"] == {"name": "openai/made-up", "language_model": True}
    assert told["methods"][0]["line"].startswith("direct: ")
    assert said["choices"][0]["message"]["content"].startswith("Baratieri")
    assert (record["method"], record["settings"]["k"], record["answer"]) == ("answerer", 2, "Baratieri")
    assert {body["temperature"] for body in provider.bodies} == {0.25}


@pytest.mark.needs("uvicorn")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["@answerer.toml", "@other.toml"], "a server has one LM, that of its answerer"),
        (["@direct.toml", "direct"], "'direct' is served twice"),
    ],
)
@pytest.mark.needs("uvicorn")
def test_what_cannot_be_served_together_is_named(
    words: list[str], message: str, provider: Provider, tmp_path: Path
) -> None:
    text = written(tmp_path, provider).read_text(encoding="utf-8")
    for name in ("other.toml", "direct.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = run(tmp_path, "serve", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
