"""A secret that a command is given, at every place where one can stand, is in nothing that it prints or writes."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from support.loopback import url_in
from support.patience import PATIENCE
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
DIRECT = ["programs.direct", "Who?", "--retriever", "none", *ASKED]
BLENDFILTER = ["programs.blendfilter", "Who?", "--lm", "extractive"]
EVAL = ["eval", "sample", "--program", "direct", "--retriever", "none", "--limit", "2", "--run", "run"]
EVALUATED = [*EVAL, *ASKED, "--api-base", "{good}"]
FAILED = [*EVAL, *ASKED, "--api-base", "{wrong}", "--retries", "0"]
JUDGE = ["--metrics", "em,acc_judge:openai/m", "--judge-api-base", "{wrong}"]
PAPER = ["eval", "paper", *["--data", ".", "--runs", "runs", "--limit", "1"], *KEYS]
F1 = [*PAPER, "blendfilter:table5", "--rows", "BlendFilter, BM25", "--columns", "F1"]
JUDGED = [*PAPER, *["migres:table8", "--rows", "Direct", "--columns", "Hotpot", "--judge", "openai/m"]]
CHOOSE = [
    "eval",
    "choose",
    "sample",
    "--methods",
    "direct,cot",
    "--retriever",
    "none",
    "--race",
    "race",
    "--limit",
    "60",
    "--out",
    "best.toml",
]
COMPILE = [
    "optimizers",
    "cot",
    "--task",
    "sample",
    "--recipe",
    "labeled_few_shot",
    "--train",
    "3",
    "--dev",
    "2",
    "--run",
    "run",
    "--out",
    "state.json",
    *ASKED,
]
SEARCH_SERVER, QDRANT = "colbertv2:{wrong}?api_key=s3cret", "qdrant:{wrong}?collection=c"
COMMANDS: dict[str, tuple[list[list[str]], int]] = {
    "ask": ([[*DIRECT, "--api-base", "{good}", "--trace"]], 0),
    "ask in vain": ([[*DIRECT, "--api-base", "{wrong}"]], 2),
    "ask a closed port": ([[*DIRECT, "--api-base", "{closed}"]], 2),
    "ask no port": ([[*DIRECT, "--api-base", "{closed}9999"]], 2),
    "ask with a flag that is none": ([[*DIRECT, "--api-base", "{good}", "--address={good}"]], 2),
    "plan": ([["programs.direct", "--plan", "--retriever", "none", *ASKED, "--api-base", "{good}"]], 0),
    "another engine": ([[*DIRECT, "--api-base", "{wrong}", "--lm-arg", "engine=litellm"]], 2),
    "a completed text": ([[*DIRECT, "--api-base", "{wrong}", "--lm-arg", "model_type=text"]], 2),
    "eval": ([EVALUATED], 0),
    "eval in vain": ([FAILED], 2),
    "eval set": ([["eval", "set", "set.toml", "--plan"]], 0),
    "eval set in vain": ([["eval", "set", "set.toml"]], 2),
    "read what a run has": ([FAILED, ["eval", "list", "."], ["eval", "view", "run"], ["eval", "cost", "run"],
                             ["eval", "report", "run", "--out", "run.html"],
                             ["eval", "export", "run", "--out", "run.csv"]], 0),
    "judge": ([[*EVALUATED, *JUDGE]], 2),
    "rescore by a judge": ([EVALUATED, ["eval", "rescore", "run", *JUDGE]], 2),
    "compile with a judge": ([[*COMPILE, "--api-base", "{good}", "--metric", "acc_judge:openai/m", "--judge-api-base",
                               "{wrong}"]], 2),
    "choose": ([[*CHOOSE, *ASKED, "--api-base", "{good}"]], 0),
    "choose in vain": ([[*CHOOSE, *ASKED, "--api-base", "{wrong}", "--retries", "0"]], 2),
    "a reader of a paper": ([[*F1, "--lm", "reader=openai/m", "--lm-arg", "num_retries=0", "--api-base",
                              "reader={wrong}", "--retriever", "bm25=sample", "--retries", "0"]], 2),
    "a judge of a paper": ([[*JUDGED, "--lm", "openai/m", "--api-base", "{good}", "--retriever", "sample",
                             "--judge-api-base", "{wrong}"]], 2),
    "no role of a paper": ([[*PAPER, "--lm", "openai/m", "--api-base", "planner={wrong}", "blendfilter:table5"]], 2),
    "compile": ([[*COMPILE, "--api-base", "{wrong}"]], 2),
    "serve": ([["programs", "serve", "direct", "--retriever", "none", *ASKED, "--api-base", "{wrong}", "--port",
                "70000"]], 2),
    "search": ([["retrieval", "search", SEARCH_SERVER, "Rome"]], 2),
    "search by a composition": ([["retrieval", "search", "both.toml", "Rome"]], 2),
    "ask with a search server": ([[*BLENDFILTER, "--retriever", SEARCH_SERVER]], 2),
    "eval with a search server": ([["eval", "sample", "--program", "blendfilter", "--limit", "2", "--run", "run",
                                    "--lm", "extractive", "--retriever", SEARCH_SERVER, "--retries", "0"]], 2),
    "eval retrieval": ([["eval", "retrieval", "sample", "--retriever", SEARCH_SERVER, "--limit", "2"]], 2),
    "search with Qdrant": ([["retrieval", "search", QDRANT, "Rome"]], 2),
    "ask with Qdrant": ([[*BLENDFILTER, "--retriever", QDRANT]], 2),
    "index with Qdrant": ([["retrieval", "index", "qdrant", "corpus.jsonl", "--out", QDRANT]], 2),
    "add with Qdrant": ([["retrieval", "add", QDRANT, "corpus.jsonl"]], 2),
    "delete with Qdrant": ([["retrieval", "delete", QDRANT, "p"]], 2),
    "verify with Qdrant": ([["retrieval", "verify", QDRANT]], 2),
    "fetch": ([["retrieval", "fetch", "{wrong}/corpus.jsonl?api_key=s3cret", "--out", "fetched"]], 2),
}  # fmt: skip
FILES = {
    "set.toml": """
tasks = ["sample"]
limit = 2
retrievers = ["none"]

[[programs]]
program = "direct"

[[lms]]
lm = "openai/m"
api_base = "{wrong}"
""",
    "both.toml": """
type = "fuse"
retrievers = ["sample", "colbertv2:{wrong}"]
""",
    "corpus.jsonl": '{"id": "p", "text": "Rome"}\n',
    "hotpotqa.dev.jsonl": '{"id": "q", "question": "Who?", "answers": ["Rome"], "gold_titles": [], "type": "bridge"}\n',
}
"""What commands are given as files, which have the secrets as they were given."""


def places(server: str) -> dict[str, str]:
    return {"good": f"{server}/good", "wrong": f"{server}/wrong", "closed": server.rpartition(":")[0] + ":9"}


def with_places(text: str, server: str) -> str:
    for name, address in places(server).items():
        text = text.replace(f"{{{name}}}", address)
    return text


def write_files(folder: Path, server: str) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(with_places(content, server))


def no_secret_is_in(folder: Path, **said: bytes) -> None:
    """Search what was said, and all files but those that were given."""
    found = said | {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in FILES
    }
    shown = [(where, secret) for secret in HIDDEN for where, text in found.items() if secret.encode() in text]
    assert not shown, b"\n".join(said.values()).decode()[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_is_printed_or_written(name: str, server: str, tmp_path: Path) -> None:
    commands, code = COMMANDS[name]
    write_files(tmp_path, server)
    said = b""
    for arguments in commands:
        done = subprocess.run(
            [sys.executable, "-m", *(with_places(argument, server) for argument in arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=120,
        )
        said += done.stdout + done.stderr
    assert b"Traceback" not in said, said.decode()
    no_secret_is_in(tmp_path, said=said)
    assert done.returncode == code, said.decode()[-2000:]


@contextmanager
def served(folder: Path, *arguments: str, **environment: str) -> Iterator[tuple[httpx.Client, list[bytes]]]:
    """A client of a server in a process of its own, and what is said: each reply, with its head, and then the log."""
    said: list[bytes] = []

    def keep(reply: httpx.Response) -> None:
        said.extend([reply.read(), repr(reply.headers.raw).encode()])

    command = [sys.executable, "-m", *arguments, "--port", "0"]
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    with subprocess.Popen(command, cwd=folder, env=given, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log: list[str] = []
        lines = (log.append(line) or line for line in process.stderr)  # type: ignore[func-returns-value]
        url = url_in(lines)
        reader = threading.Thread(target=lambda: log.extend(process.stderr or ()))
        reader.start()
        hooks = {"response": [keep]}
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, event_hooks=hooks) as client:
            try:
                yield client, said
            finally:
                process.send_signal(signal.SIGTERM)
                code = process.wait(PATIENCE)
                reader.join()
    assert code == 0
    assert "Traceback" not in "".join(log)
    said.append("".join(log).encode())


@pytest.mark.slow
@pytest.mark.needs("uvicorn")
@pytest.mark.parametrize("place", ["good", "wrong"])
def test_an_answers_server_tells_nobody_and_logs_no_secret(place: str, server: str, tmp_path: Path) -> None:
    given = ["--retriever", "none", "--retriever", SEARCH_SERVER, "--retriever", f"own={SEARCH_SERVER}&x=y"]
    command = ["programs", "serve", "direct", "blendfilter", *given, *ASKED, "--api-base", f"{{{place}}}"]
    with served(tmp_path, *(with_places(text, server) for text in command), ODQA_TOKEN=KEY) as (client, said):
        assert client.get("/v1/methods").status_code == 401
        assert client.get("/v1/methods", headers={"Authorization": f"Bearer {KEY}0"}).status_code == 401
        client.headers["Authorization"] = f"Bearer {KEY}"
        for path in (
            "/health",
            "/metrics",
            "/v1/methods",
            "/v1/models",
            "/v1/prompts/direct",
            "/openapi.json",
            "/docs",
        ):
            assert client.get(path).status_code == 200
        methods = client.get("/v1/methods").json()["retrievers"]
        assert (len(methods), methods[2]) == (3, "own")
        statuses = {}
        for name in methods:
            for method in ("direct", "blendfilter"):
                body = {"question": "Who?", "method": method, "retriever": name, "prompts": True}
                for stream in (False, True):
                    statuses[method, name, stream] = client.post("/v1/answers", json={**body, "stream": stream})
                asked = {"model": method, "messages": [{"role": "user", "content": "Who?"}], "retriever": name}
                client.post("/v1/chat/completions", json=asked)
                client.post("/v1/responses", json={"model": method, "input": "Who?", "retriever": name})
        assert statuses["direct", "none", False].status_code == {"good": 200, "wrong": 502}[place]
        assert statuses["direct", "own", False].status_code == 502
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call["params"] = {"name": "answer", "arguments": {"question": "Who?"}}
        client.post("/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
        assert "answers_in_flight" in client.get("/metrics").text
    no_secret_is_in(tmp_path, **{f"said {n}": text for n, text in enumerate(said)})
    assert b"failed" in said[-1]  # the log has why


@pytest.mark.slow
@pytest.mark.needs("uvicorn")
def test_a_search_server_in_front_of_another_tells_nobody_and_logs_no_secret(server: str, tmp_path: Path) -> None:
    with served(tmp_path, "retrieval", "serve", with_places(SEARCH_SERVER, server)) as (client, said):
        asked = [client.get(path, params={"query": "Rome", "k": 3}) for path in ("/", "/api/search")]
        asked.append(client.post("/batch", json={"queries": ["Rome", "Bath"], "k": 3}))
        assert {reply.status_code for reply in asked} == {502}
        for path in ("/health", "/metrics", "/openapi.json"):
            client.get(path)
    no_secret_is_in(tmp_path, **{f"said {n}": text for n, text in enumerate(said)})
