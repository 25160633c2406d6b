"""What LMs write into a field, as text or as what JSON holds, and what it means, by kind of field: the lines of
tests/data/reply_cases.jsonl. A line that says nothing of what is meant has what cannot be read."""

import json
from pathlib import Path
from typing import Any

from signatures.replies import Statement

__all__ = ["NO_REFUSALS", "REFUSALS", "RUNAWAYS", "UNPARSABLE", "cases"]

UNPARSABLE = object()

_LINES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "reply_cases.jsonl").read_text("utf-8").split("\n")[:-1]
]
_LONG: dict[str, list[tuple[Any, Any]]] = {
    "numbers": [("[" * 1000, UNPARSABLE), ('["' * 1000, UNPARSABLE), ("9" * 5000, UNPARSABLE)],
    "texts": [("[" * 1000, UNPARSABLE)],
    "statements": [
        ('["' * 1000, UNPARSABLE),
        ([Statement(statement="a", passages=[1])], [Statement(statement="a", passages=[1])]),
    ],
    "probability": [("9" * 5000, UNPARSABLE), ("0." + "9" * 5000, 1.0)],
}


def cases(kind: str) -> list[tuple[Any, Any]]:
    """What is written into fields of the kind, and what it means."""
    return [(line["written"], _meant(line)) for line in _LINES if line["kind"] == kind] + _LONG.get(kind, [])


def _meant(line: dict[str, Any]) -> Any:
    meant = line.get("means", UNPARSABLE)
    if line["kind"] == "statements" and meant is not UNPARSABLE:
        return [Statement(**statement) for statement in meant]
    if isinstance(meant, dict):  # of a hundred passages
        return [number for number in range(1, 101) if number not in meant["all but"]]
    return meant


REFUSALS, NO_REFUSALS = ([written for written, _ in cases(kind)] for kind in ("refusal", "no refusal"))

RUNAWAYS = [
    '[', '{', '["', '{"a":', '{"a" ', '1 ', '[1] ', '(', 'passage 1 ', 'first ', 'no ', '\n', ' ', '- ', '<item>',
    'yes no ', 'the answer is ', '1-9 ', '#', '{"statement": "a" ', '*', 'a b ', '<think>', '\\boxed{', '| a ',
    'A [1]. ', 'a,', 'i. a\n', '- a\n  - b\n', '\n \n', '`', '9', '}{', '。? ', '"relevant": ',
    '1 is not relevant, ', 'i do not know. ', '{1}}', '{{h}]y1. ', '{"].', '{true#,]“null', '"a"`"}}“a[', '{}[]',
    '[[ ## ', '[[ ## answer ## ]]\n', '<answer>', 'Answer: ', '* ', '```', '{"answer": "a"} ', '<', '&', 'a ',
]  # fmt: skip
"""Pieces that a reply without end repeats."""
