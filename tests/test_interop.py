"""docs/interop.md: each piece of code on it runs, beside what it speaks to."""

import asyncio
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.scripted_server import Handler, serving

from lms.extractive import ExtractiveReader

PAGE = Path(__file__).parents[1] / "docs" / "interop.md"


def pieces(section: str) -> list[tuple[str, str]]:
    """The pieces of code of a section, each with its language."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@contextmanager
def running(command: str, ready: str, directory: Path, **environment: str) -> Iterator[int]:
    """Run a command of the page, on a free port in place of its own, until the block ends. It yields the port, once the
    command has said that it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, told, rest = command.partition("--port ")
    assert told
    words = shlex.split(command.replace(f"--port {rest.split()[0]}", f"--port {port}"))
    words[0] = str(Path(sys.executable).parent / words[0])
    with subprocess.Popen(
        words,
        cwd=directory,
        env={**os.environ, "ODQA_LM": "extractive", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if ready in line:
                    break
            else:
                pytest.fail("".join(said))
            yield port
        finally:
            process.terminate()


def run(code: str, directory: Path) -> list[str]:
    """Run code in a process of its own; gives the lines that it prints."""
    environment = {**os.environ, "ODQA_LM": "extractive"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=directory, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.needs("langchain_core", "llama_index", "haystack", "mlflow")
def test_in_this_process(tmp_path: Path) -> None:
    sections = ("A tool of an agent", "MLflow", "LangChain, LlamaIndex, Haystack")
    code = [piece for section in sections for language, piece in pieces(section) if language == "python"]
    assert len(code) == 6
    titles = ["Gateway Arch", "Dom Luís I Bridge", "Tyne Bridge"]
    answers = {
        "agent and MLflow": ["Kirkkonummi", "Kirkkonummi"],
        "function": ["Eero Saarinen, who designed the Gateway Arch, was born in Kirkkonummi, Finland."],
        "LangChain": [str(titles), "Eero Saarinen"],
        "LlamaIndex": [str(titles), "Eero Saarinen"],
        "Haystack": [*titles, "", "Eero Saarinen"],
    }
    assert run("\n".join(code), tmp_path) == [line for lines in answers.values() for line in lines]


@pytest.mark.slow
@pytest.mark.needs("mcp")
def test_clients_of_the_server(tmp_path: Path) -> None:
    (_, command), (_, by_openai) = pieces("Clients of OpenAI's API")
    (_, by_mcp), (_, config) = pieces("Clients of MCP")
    with running(command, "Application startup complete", tmp_path) as port:
        said = run(f"{by_openai}\n{by_mcp}".replace(":8900", f":{port}"), tmp_path)
    assert said[0].startswith("Kirkkonummi [1]")
    assert said[-2] == "Eero Saarinen"
    steps = [line.partition(" ")[0] for line in said]
    assert steps.index("Search") < steps.index("Found") < steps.index("Asked:") < len(steps) - 1
    asyncio.run(by_stdio(json.loads(config)["mcpServers"]["answers"], tmp_path))


async def by_stdio(server: dict[str, Any], directory: Path) -> None:
    from mcp import Client, StdioServerParameters

    assert server.pop("command") == "python"
    environment = {**os.environ, "ODQA_LM": "extractive"}
    started = StdioServerParameters(command=sys.executable, env=environment, cwd=directory, **server)
    async with Client(started, mode="legacy") as client:
        answered = await client.call_tool("answer", {"question": "Where was the designer of the Gateway Arch born?"})
        assert answered.structured_content["answer"] == "Kirkkonummi"


@pytest.mark.slow
@pytest.mark.needs("dspy_cli")
def test_dspy_cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    for language, piece in pieces("dspy-cli"):
        if path := re.match(r"# (\S+)\n", piece):
            files[path[1]] = piece
        elif language == "sh":
            command = piece
        else:
            ask = piece
    assert set(files) == {"dspy.config.yaml", "src/answers/modules/blendfilter.py"}
    for name, text in {**files, "src/answers/__init__.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def reply(handler: Handler) -> None:
        system, user = (message["content"] for message in json.loads(handler.body)["messages"])
        message = {"role": "assistant", "content": ExtractiveReader().reply(system, user)}
        completion = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        handler.answer(200, json.dumps(completion).encode(), Content_Type="application/json")

    with (
        serving(reply) as provider,
        running(
            command, "Uvicorn running on", tmp_path, OPENAI_API_KEY="k", OPENAI_API_BASE=f"{provider.url}/v1"
        ) as port,
    ):
        exec(ask.replace(":8000", f":{port}"), {})
    assert capsys.readouterr().out == "Kirkkonummi\n"
    assert provider.headers[0]["authorization"] == "Bearer k"
