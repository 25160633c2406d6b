"""What an index will ask of the LM, found out without asking: the calls are counted, the lengths of replies assumed."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import dspy

from odqa.errors import UsageError
from retrieval.hipporag.build import OPENIE, REPLIES
from retrieval.hipporag.openie import OpenIE, Replies, as_lines, text_of
from retrieval.indexes import building_directory, checked_passages
from retrieval.passage import Passage
from signatures.extract import ExtractTriples, NameEntities

__all__ = ["Plan", "make_plan"]

_CHARACTERS = 4  # of English in a token, about
_ENTITIES, _TRIPLES = 0.35, 2.0  # tokens of a reply per token of its passage
_LONGEST = 2048  # tokens of a reply where the LM has no limit; the paper's


class Plan(NamedTuple):
    """What is still to be asked. Each triple of amounts is the least, the typical and the most."""

    passages: int
    lm_calls: tuple[float, float, float]
    input_tokens: tuple[float, float, float]
    output_tokens: tuple[float, float, float]


def make_plan(passages: Iterable[Passage], out: Path, lm: dspy.LM) -> Plan:
    """Count what `HippoRAG.build` with the same arguments will ask; replies that are there already are not asked for.

    Least: every reply is empty. Typical: replies as long as triples of encyclopedic passages are. Most: no reply can be
    read, so that each is asked for again, and each is as long as the LM may reply.

    Raises:
        UsageError: a passage cannot be indexed, or there is none.
    """
    replies = Replies(building_directory(out) / REPLIES, out / OPENIE)
    openie = OpenIE(lm, replies)
    count = calls = 0
    least = typical = 0.0  # characters of prompts
    written = 0.0  # characters of typical replies
    for passage in checked_passages(passages):
        count += 1
        text = text_of(passage)
        key, length = openie.request(NameEntities, passage=text)
        entities = replies[key] or [] if key in replies else None
        if entities is None:
            calls += 1
            least, typical = least + length, typical + length
            written += _ENTITIES * len(text)
        key, length = openie.request(ExtractTriples, passage=text, entities=as_lines(entities or []))
        if entities is None or key not in replies:
            calls += 1
            least, typical = least + length, typical + length
            typical += _ENTITIES * len(text) if entities is None else 0
            written += _TRIPLES * len(text)
    if not count:
        raise UsageError("there is nothing to index: the corpus has no passages")
    longest = calls * (lm.kwargs.get("max_tokens") or lm.kwargs.get("max_completion_tokens") or _LONGEST)
    return Plan(
        count,
        (calls, calls, 2 * calls),
        (least / _CHARACTERS, typical / _CHARACTERS, 2 * (least / _CHARACTERS) + longest),
        (0, min(written / _CHARACTERS, longest), 2 * longest),
    )
