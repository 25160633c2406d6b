"""A secret that a command is given, at every place where one can stand, is in nothing that it prints or writes."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.scripted import render

ROOT = Path(__file__).parents[1]
USER, PASSWORD, KEY = "Ada-Lovelace", "s3cr3t%2Fw0rd", "sk-k3y-of-mine"
HIDDEN = ("s3cr3t", "QWRhLUxvdmVsYWNlOn", KEY, "h3ader-of-mine")
"""Parts of the password as it is given and sent, of the user with it in base 64, of a key and of a header."""


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers an LM's calls and searches, or says back in an error all that it was sent."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if "wrong" in self.path:
            return self.send(400, {"error": {"message": f"wrong: {self.path} {dict(self.headers)}"}})
        text = render({"reasoning": "so", "answer": "Rome", "implied": "yes"})
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return self.send(
            200, {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        )

    def do_GET(self) -> None:
        self.send(404, {"error": f"wrong: {self.path} {dict(self.headers)}"})

    def send(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{USER}:{PASSWORD}@127.0.0.1:{server.server_port}"
        server.shutdown()


KEYS = ["--lm-arg", f"api_key={KEY}", "--lm-arg", 'extra_headers={"X-Pass": "h3ader-of-mine"}']
ASKED = ["--lm", "openai/m", "--lm-arg", "num_retries=0", *KEYS]
EVAL = ["eval", "sample", "--program", "direct", "--retriever", "none", "--limit", "2", "--run", "run"]
JUDGE = ["--metrics", "em,acc_judge:openai/m"]
COMMANDS = {
    "ask": (["programs.direct", "Who?", "--retriever", "none", *ASKED, "--api-base", "{good}", "--trace"], 0),
    "ask in vain": (["programs.direct", "Who?", "--retriever", "none", *ASKED, "--api-base", "{wrong}"], 2),
    "ask a closed port": (["programs.direct", "Who?", "--retriever", "none", *ASKED, "--api-base", "{closed}"], 2),
    "plan": (["programs.direct", "--plan", "--retriever", "none", *ASKED, "--api-base", "{good}"], 0),
    "eval": ([*EVAL, *ASKED, "--api-base", "{good}"], 0),
    "eval in vain": ([*EVAL, *ASKED, "--api-base", "{wrong}", "--retries", "0"], 2),
    "judge": ([*EVAL, *ASKED, *JUDGE, "--api-base", "{good}", "--judge-api-base", "{wrong}"], 2),
    "another engine": (["programs.direct", "Who?", "--retriever", "none", *ASKED, "--api-base", "{wrong}", "--lm-arg",
                        "engine=litellm"], 2),
    "set": (["eval", "set", "set.toml", "--plan"], 0),
    "compile": (
        ["optimizers", "cot", "--task", "sample", "--recipe", "labeled_few_shot", "--train", "3", "--dev", "2", "--run",
         "run", "--out", "state.json", *ASKED, "--api-base", "{wrong}"], 2,
    ),
    "serve": (["programs", "serve", "direct", "--retriever", "none", *ASKED, "--api-base", "{wrong}", "--port",
               "70000"], 2),
    "search": (["retrieval", "search", "colbertv2:{wrong}", "Rome"], 2),
    "ask with a search server": (["programs.blendfilter", "Who?", "--lm", "extractive", "--retriever",
                                  "colbertv2:{wrong}"], 2),
    "eval with a search server": (["eval", "sample", "--program", "blendfilter", "--limit", "2", "--run", "run", "--lm",
                                   "extractive", "--retriever", "colbertv2:{wrong}", "--retries", "0"], 2),
    "eval retrieval": (["eval", "retrieval", "sample", "--retriever", "colbertv2:{wrong}", "--limit", "2"], 2),
    "a completed text": (["programs.direct", "Who?", "--retriever", "none", *ASKED, "--api-base", "{wrong}", "--lm-arg",
                          "model_type=text"], 2),
    "search with Qdrant": (["retrieval", "search", "qdrant:{wrong}?collection=c", "Rome"], 2),
}  # fmt: skip


SET = """
tasks = ["sample"]
limit = 2
retrievers = ["none"]

[[programs]]
program = "direct"

[[lms]]
lm = "openai/m"
api_base = "{good}"
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_is_printed_or_written(name: str, server: str, tmp_path: Path) -> None:
    arguments, code = COMMANDS[name]
    places = {"good": f"{server}/good", "wrong": f"{server}/wrong", "closed": server.rpartition(":")[0] + ":9"}
    given = [
        argument if "{" not in argument or '"' in argument else argument.format(**places) for argument in arguments
    ]
    (tmp_path / "set.toml").write_text(SET.format(**places))
    done = subprocess.run(
        [sys.executable, "-m", *given],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=120,
    )
    said = {"what it prints": done.stdout + done.stderr}
    (tmp_path / "set.toml").unlink()  # which has them, as it was given
    said |= {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    shown = {where: secret for secret in HIDDEN for where, text in said.items() if secret.encode() in text}
    assert not shown, done.stderr.decode()[-2000:]
    assert done.returncode == code, done.stderr.decode()[-2000:]
