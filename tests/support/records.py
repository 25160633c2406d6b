"""Rows, manifests and runs with whatever a test cares about, and plain values for the rest."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy.lm15 import Message, Response, TextPart, Usage

from eval.records.record import Manifest, Row
from eval.records.run import Run
from odqa.bridge import recordable

__all__ = ["a_manifest", "a_row", "a_run"]


def a_row(id: str = "q1", **fields: Any) -> Row:
    """A row; `error` may be a text, "Kind: message"."""
    error = fields.pop("error", None)
    if isinstance(error, str):
        kind, _, message = error.partition(": ")
        error = {"kind": kind, "message": message}
    usual: dict[str, Any] = {
        "question": f"question {id}",
        "answers": (),
        "type": None,
        "gold_titles": None,
        "gold_passages": None,
        "prediction": None if error else {"answer": "Rome"},
        "trace": {},
        "scores": {},
        "cost": {},
        "judging": {},
    }
    return Row.model_validate({"id": id, **usual, **fields, "error": error})


def a_manifest(**fields: Any) -> Manifest:
    usual = {
        "format": 2,
        "started": "2026-01-01T00:00:00+00:00",
        "asked": 1,
        "self_tests": {},
        "metrics": (),
        "questions": "hash",
        "versions": {},
    }
    return Manifest.model_validate({**usual, **fields})


def a_run(name: str, rows: Sequence[Row], manifest: Mapping[str, Any] | None = None, gap: str | None = None) -> Run:
    return Run(name, (Path(name),), a_manifest(**{"asked": len(rows), **(manifest or {})}), list(rows), gap)


def a_reply(text: str = "so") -> dict[str, Any]:
    """A reply of an LM, as a run records it."""
    message = Message.assistant([TextPart(text)])
    said = Response(id=None, model="m", message=message, finish_reason="stop", usage=Usage(input_tokens=1))
    return recordable(said)
