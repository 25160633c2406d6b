"""For tests of programs that cite: replies with citations, and numbered lines."""

import json
from typing import Any

import dspy
from support.scripted import Reply

__all__ = ["citing", "numbered"]


def citing(to: type[dspy.Signature], *statements: tuple[str, Any], when: str = "", **fields: str) -> Reply:
    """A reply with statements, each with the numbers of the passages that it cites."""
    said = [{"statement": text, "passages": numbers} for text, numbers in statements]
    return Reply(to, {"statements": json.dumps(said), **fields}, when)


def numbered(*lines: str) -> str:
    """The lines with the numbers that a prompt shows them with."""
    return "\n".join(f"[{n}] {line}" for n, line in enumerate(lines, 1))
