"""The prompts and replies of each question, packed so that the page stays small and opens fast.

Each question's are compressed by themselves, and unpacked when a reader asks for them. The best of several answers has
none: the reports of the single runs do.
"""

import gzip
import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from eval.records.record import PaidCall
from eval.reports.html.source import Source
from eval.reports.html.visible import visible

__all__ = ["PageCall", "packed"]

_ROOM = 20_000_000  # characters: more than that is more than one likes to mail


class PageCall(TypedDict):
    """A call, as the script of the page reads it when it has unpacked it."""

    predictor: str
    prompt: list[tuple[str, str]]
    """Roles and texts."""
    replies: list[str]


def packed(sources: Sequence[Source]) -> dict[str, str]:
    """By the question's id, base64 of gzip of JSON: for each run the `PageCall`s, in the order in which they were
    answered.

    Where there is no room for all questions, those that some run has wrong by some metric come first.

    Raises:
        UsageError: the calls of a run cannot be read.
    """
    by_run = [_by_question(source) for source in sources]
    ids = [row.id for row in sources[0].rows]
    wrong = {
        row.id
        for source in sources
        for row in source.rows
        if row.error is None and any(score is not None and score < 1 for score in row.scores.values())
    }
    room, found = _ROOM, {}
    for id_ in sorted(ids, key=lambda id_: id_ not in wrong):
        calls = [[_call(call) for call in of_run.get(id_, ())] for of_run in by_run]
        if any(calls):
            text = b64encode(gzip.compress(json.dumps(visible(calls)).encode(), mtime=0)).decode()
            room -= len(text)
            if room < 0:
                break
            found[visible(id_)] = text  # as the script of the page knows it
    return found


def _by_question(source: Source) -> Mapping[str, list[PaidCall]]:
    found: defaultdict[str, list[PaidCall]] = defaultdict(list)
    if not source.run.manifest.best_of:
        for call in source.run.calls():
            found[call.question].append(call)
    return found


def _call(call: PaidCall) -> Any:
    prompt = [(message.role, message.text) for message in call.prompt]
    made: PageCall = {"predictor": call.predictor, "prompt": prompt, "replies": [call.text()]}
    return made
