"""What the commands say of an LM's server whose reply is no completion, or has no end: an error, and no answer."""

from collections.abc import Iterator
from pathlib import Path

import dspy
import httpx
import pytest
from support.answers_server import answering_with, serving
from support.command_line import exit_code
from support.hostile_lm import NO_COMPLETION, HostileLM
from support.loopback import running
from support.patience import PATIENCE

from odqa.__main__ import main

pytestmark = pytest.mark.leaves_sockets

SAID = dict.fromkeys(NO_COMPLETION, "the server's reply is no completion") | {
    "bomb": "the server's reply has more than 8,388,608 bytes"
}
LM = ["--lm", "openai/m", "--lm-arg", "api_key=none", "--lm-arg", "num_retries=0", "--api-base"]
EVAL = ["eval", "sample", "--program", "direct", "--retriever", "none", "--limit", "2", "--retries", "0"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(HostileLM()) as server:
        yield server.url
        server.over.set()


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The error of a command that prints nothing else."""
    assert exit_code(main, arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    return str(error.splitlines()[-1])


@pytest.mark.parametrize("what", SAID)
def test_ask_says_it(what: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert SAID[what] in said(["ask", "direct", "Who?", "--retriever", "none", *LM, f"{url}/{what}"], capsys)


@pytest.mark.parametrize("what", SAID)
def test_eval_says_it(what: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = said([*EVAL, *LM, f"{url}/{what}", "--run", str(tmp_path / "run")], capsys)
    assert "all 2 questions that were asked failed" in error
    assert SAID[what] in error


@pytest.mark.parametrize("what", SAID)
def test_a_judge_says_it(what: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = ["--metrics", "em,acc_judge:openai/m", "--judge-api-base", f"{url}/{what}"]
    assert SAID[what] in said([*EVAL, *LM, f"{url}/well", *judge, "--run", str(tmp_path / "run")], capsys)


@pytest.mark.parametrize("what", SAID)
def test_a_served_question_says_it(what: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    lm = dspy.LM("openai/m", api_base=f"{url}/{what}", api_key="none", cache=False, num_retries=0)
    with serving(answering_with(lm)) as served:
        reply = httpx.post(
            f"{served}/v1/answers", json={"method": "direct", "question": "Who?", "retriever": "none"}, timeout=PATIENCE
        )
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "lm_failed")
    assert SAID[what] in capsys.readouterr().err
