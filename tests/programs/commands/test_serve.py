"""The command line of the answers server, as a process; and docs/serving.md, whose commands and code are run here."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import dspy
import httpx
import pytest
from support.command_line import exit_code, without_help
from support.loopback import url_in
from support.patience import CPU_SECONDS, PATIENCE

from programs import load, names
from programs.commands.serve import main, make_parser
from programs.direct import Direct
from programs.instruments.adapters import load_adapter
from programs.instruments.state import save_state
from retrieval import Memory

pytestmark = pytest.mark.needs("uvicorn")

PAGE = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
QUESTION = "Which general led the Italian troops at Adwa?"


class Running:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process, self.url = process, url
        self.log = ""


@contextmanager
def served(arguments: Sequence[str], **environment: str) -> Iterator[Running]:
    """Run the command on a free port; it must end well when it is told to stop."""
    command = [sys.executable, "-m", "programs", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stderr is not None
        log = iter(process.stderr)
        running = Running(process, url_in(log))
        reader = threading.Thread(target=lambda: setattr(running, "log", "".join(log)))
        reader.start()
        try:
            yield running
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
            reader.join()
    assert code == 0
    assert "Traceback" not in running.log


def ask(url: str, method: str, **body: object) -> httpx.Response:
    body = {"question": QUESTION, "method": method, **body}
    return httpx.post(f"{url}/v1/answers", json=body, timeout=PATIENCE, trust_env=False)


def test_the_first_answer_needs_no_key_no_download_and_little_time() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with served(["--retriever", "sample", "--lm", "extractive"]) as running:
        assert ask(running.url, "blendfilter").json()["answer"] == "Oreste Baratieri"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < CPU_SECONDS
    assert QUESTION not in running.log


def test_states_settings_retrievers_and_a_token(tmp_path: Path) -> None:
    made = Direct(Memory([]))
    made.answer.signature = made.answer.signature.with_instructions("Answer briefly.")
    made.answer.demos = [dspy.Example(context="[1] A", question="Which letter?", answer="A")]
    with dspy.context(adapter=load_adapter()):
        save_state(made, tmp_path / "direct.json", {})
    remote = "colbertv2:http://me:hunter2@localhost:9/search?token=secret"
    arguments = ["direct", "cot", "--retriever", "my-own=sample", "--retriever", "none", "--retriever", remote]
    arguments += ["--lm", "extractive"]
    arguments += ["--state", f"direct={tmp_path / 'direct.json'}", "--set", "direct.k=3", "--set", "cot.k=7"]
    with served(arguments, ODQA_TOKEN="the token") as running:
        assert ask(running.url, "direct").status_code == 401
        with httpx.Client(
            base_url=running.url, headers={"Authorization": "Bearer the token"}, trust_env=False, timeout=PATIENCE
        ) as client:
            told = client.get("/v1/methods").json()
            assert told["retrievers"] == ["my-own", "none", "colbertv2:http://***@localhost:9/search?***"]
            assert told["compiled"] == {"direct": True, "cot": False}
            record = client.post("/v1/answers", json={"question": QUESTION, "method": "direct", "prompts": True}).json()
            assert (record["retriever"], record["settings"]["k"]) == ("my-own", 3)
            assert "Answer briefly." in record["prompts"][0]["messages"][0]["content"]
            assert "Which letter?" in json.dumps(record["prompts"][0]["messages"])
            (predictor,) = client.get("/v1/prompts/direct").json()["predictors"]
            assert predictor["instructions"] == "Answer briefly."
            assert predictor["demonstrations"][0]["question"] == "Which letter?"
            assert predictor["before"]["demonstrations"] == []
            assert predictor["before"]["instructions"] != "Answer briefly."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "set the environment variable ODQA_TOKEN"),
        (["none"], "there is no program 'none'"),
        (["direct", "--state", "cot=x.json"], "there is no method 'cot' here"),
        (["direct", "--state", "direct=none.json"], "cannot read the state file"),
        (["direct", "--set", "direct.kk=3"], "direct has no setting 'kk'"),
        (["direct", "--set", "direct.k=0"], "k must be at least 1"),
        (["direct", "--set", "k=3"], "--set takes METHOD.SETTING=VALUE"),
        (["direct", "--set", "k"], "it is given as NAME=VALUE"),
        (["direct", "--retriever", "sample", "--retriever", "sample"], "two retrievers have the name 'sample'"),
        (["direct", "--at-once", "0"], "the limit of at_once must be above 0"),
        (["direct", "--port", "99999"], "a port is a number"),
        (["--stdio", "--allow-host", "proxy"], "--stdio serves no HTTP: leave out --allow-host"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODQA_TOKEN", raising=False)
    assert exit_code(main, [*arguments, "--lm", "extractive"]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_help_says_what_everything_is() -> None:
    assert not without_help(make_parser())


def commands(page: str) -> list[list[str]]:
    """The arguments of the commands that start a server."""
    lines = re.findall(r"^    (?:\S+=\S.* )?odqa serve(?!-)(.*)$", page, re.MULTILINE)
    return [shlex.split(line.partition(" # ")[0]) for line in lines]


def test_the_commands_of_the_page_are_read_as_they_stand() -> None:
    read = [make_parser().parse_args(arguments) for arguments in commands(PAGE) if arguments != ["--help"]]
    assert len(read) == 6
    assert commands(README)[0] == commands(PAGE)[0]
    flags = set(re.findall(r"`(--[\w-]+)", PAGE))
    there = {flag for action in make_parser()._actions for flag in action.option_strings}
    assert flags <= there


def test_the_page_names_the_methods_whose_answers_are_told_as_they_are_written() -> None:
    written = [f"`{name}`" for name in names() if getattr(load(name), "writes", None)]
    assert f"{', '.join(written[:-1])} and {written[-1]}" in " ".join(PAGE.split())


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}

    def run(command: list[str], script: str) -> str:
        script = script.replace("http://127.0.0.1:8900", running.url).replace("curl -s", "curl -fs")
        done = subprocess.run([*command, script], capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with served(commands(PAGE)[0]) as running:
        for script in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            assert "Baratieri" in run(["bash", "-ec"], script)
        (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        said = run([sys.executable, "-c"], code)
    for line in ("\nOreste Baratieri [1]", "\nSources:\n[1] Battle of Adwa"):
        assert line in said
    assert re.search(r"^Search \d: Which general", said, re.MULTILINE)  # blendfilter begins its searches side by side
    assert said.endswith("True\n")


def test_without_the_extra_it_is_named() -> None:
    code = "import sys; sys.modules['starlette'] = None\nfrom programs.commands.serve import main; main([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "get it by: pip install 'dspy-odqa[serve]'" in done.stderr


def test_few_replies_are_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("programs.serving.server.serve", lambda *args, **settings: None)
    for flags, most in (([], dspy.cache.memory_cache.maxsize), (["--cache"], 1_000)):
        monkeypatch.setattr(dspy, "cache", dspy.cache)
        assert exit_code(main, ["direct", "--retriever", "none", "--lm", "extractive", *flags]) == 0
        assert dspy.cache.memory_cache.maxsize == most
