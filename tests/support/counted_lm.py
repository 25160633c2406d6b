"""A program and an LM that can be sent to other processes, and that say in files what was asked of them."""

import os
import time
from pathlib import Path

import dspy
from dspy.lm15 import Request, Response
from support.scripted import render, respond

from odqa.files import write_whole
from programs.steps.ask import ask
from programs.steps.result import result
from retrieval import Retriever

__all__ = ["CountedLM", "TwoCalls"]


class CountedLM:
    """An engine that writes a line to a file for each call. It answers `second` calls about the question `stuck` only
    when the file `go` is there."""

    def __init__(self, folder: Path, stuck: str = "") -> None:
        self.folder = folder
        self.stuck = stuck

    def complete(self, request: Request) -> Response:
        user = request.messages[-1].text or ""
        which = "second" if "[[ ## draft ## ]]\nabout" in user else "first"
        question = user.partition("[[ ## question ## ]]\n")[2].partition("\n")[0]
        with open(self.folder / "asked", "a", encoding="utf-8") as file:
            file.write(f"{which} {question}\n")
        if "refuse" in question:
            raise ConnectionError("cannot reach http://me:secret@host/v1?key=secret")
        if question == self.stuck and which == "second":
            write_whole(self.folder / "stuck", f"{_node()} {os.getpid()}")
            while not (self.folder / "go").exists():
                time.sleep(0.01)
        return respond(render({"draft" if which == "first" else "answer": f"about {question}"}))

    def asked(self) -> list[str]:
        """What was asked so far, in order."""
        file = self.folder / "asked"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


class TwoCalls(dspy.Module):
    """Searches, then makes a call of an LM and another one that rests on the first."""

    def __init__(self, retriever: Retriever) -> None:
        super().__init__()
        self.retriever = retriever
        self.write = dspy.Predict("question -> draft")
        self.read = dspy.Predict("question, draft -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        found = self.retriever(question, 3)
        draft = ask(self.write, question=question).draft
        reply = ask(self.read, question=question, draft=draft)
        return result(answer=reply.answer, queries=[question], passages=found, evidence=found[:1], pid=os.getpid())


def _node() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())
