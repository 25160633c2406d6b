"""What SmolLM2-135M-Instruct replied to every signature, mostly out of form: more of it is read than DSPy reads.

The replies were recorded by benchmarks/record_replies.py, which also shows the shares.
"""

import time
from pathlib import Path

import pytest
from support.patience import CPU_SECONDS
from support.recorded_replies import Recorded, read_after, read_before, recorded, shares, signatures

(FILE,) = (Path(__file__).parents[1] / "data").glob("recorded_replies.jsonl*")
REPLIES = recorded(FILE)
WAYS = ["chat", "json", "xml", "schema"]
FLOOR = {"chat": 0.592, "json": 0.681, "xml": 0.412, "schema": 0.965}
"""The share that was read when the replies were recorded."""


def test_every_signature_was_asked_in_every_way() -> None:
    assert len(REPLIES) >= 600
    asked = {(reply.signature, reply.way) for reply in REPLIES}
    assert asked == {(signature.__name__, way) for signature in signatures() for way in WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_at_least_as_many_replies_are_read_as_when_they_were_recorded(way: str) -> None:
    share = shares(REPLIES)["all", way]
    assert share.after / share.replies >= FLOOR[way]


@pytest.mark.parametrize("way", WAYS)
def test_more_replies_are_read_than_with_plain_types_and_dspys_adapters(way: str) -> None:
    share = shares(REPLIES)["all", way]
    assert share.after > share.before


def test_what_was_read_before_is_still_read() -> None:
    lost = [reply for reply in REPLIES if read_before(reply) is not None and read_after(reply) is None]
    assert not lost


def test_no_reply_takes_long() -> None:
    def seconds(reply: Recorded) -> float:
        begin = time.process_time()
        read_after(reply)
        return time.process_time() - begin

    assert max(map(seconds, REPLIES)) < CPU_SECONDS
