"""Probabilities, as LMs write them."""

import re
import unicodedata
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import LONGEST, boxed, tidy

__all__ = ["Probability", "ProbabilityOrNone"]

_NUMBER = r"(?<![\w.,-])(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:e-?\d{1,3})?"
_MEANT = re.compile(
    rf"(?P<low>{_NUMBER})\s*%?\s*(?:-|‐|–|—|to|and)\s*(?P<high>\d+(?:[.,]\d+)?|[.,]\d+)\s*(?P<percents>%?)"
    rf"|(?P<part>{_NUMBER})\s*(?:/|out of)\s*(?P<whole>{_NUMBER})"
    rf"|(?P<percent>{_NUMBER})\s*(?:%|per ?cent\b)"
    rf"|(?P<number>{_NUMBER})(?!\w)"
)
_LEAD = re.compile(
    r"[^\w.,+-]*(?:(?:\w+\s+){0,4}?probability\b[^\d\n.+()-]{0,60})?"
    r"(?:(?:about|around|between|approximately|roughly)\s+|~)?"
)
_ONE_IN = re.compile(r"(?<![\w.,-])(\d{1,3}) in (?=\d{1,3}\b(?!\.\d|%))")
_NUMBERED = re.compile(r"\s*\[\d{1,3}\][\s:]*(?=[\d.,])")  # of a passage, in front of its probability
_LEAST_PERCENT = 10  # "85" can only mean per cent; "5" could be out of ten


class Probability(Reply, shows=float):
    """A number from 0 to 1. "5%", "0,05", "0.8 (high)", "8/10", "1 in 20", "85" and "0.7-0.8" (its middle) are read.

    What is no such number, such as "low", is unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> float | None:
        if isinstance(value, dict | list) and len(value) == 1:  # {"probability": 0.8}
            (value,) = value.values() if isinstance(value, dict) else value
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"no probability: {value!r}")
        p = (
            _in_text(tidy(boxed(unicodedata.normalize("NFKC", value[:LONGEST]))).lower())
            if isinstance(value, str)
            else _scaled(value)
        )
        if not 0 <= p <= 1:
            raise ValueError(f"no probability from 0 to 1: {value!r}")
        return float(p)


class ProbabilityOrNone(Probability, shows=float):
    """The same, but None, which is to say unknown, where the reply is no such number."""

    @classmethod
    def parse(cls, value: Any) -> float | None:
        try:
            return super().parse(value)
        except ValueError:
            return None


def _in_text(text: str) -> float:
    """What the text begins with; else the only thing in it that can be a probability."""
    text = _ONE_IN.sub(r"\1/", _NUMBERED.sub("", text))
    lead = _LEAD.match(text)
    if found := _MEANT.match(text, lead.end() if lead else 0):
        return _meant(found)
    meant = {_meant(found) for found in _MEANT.finditer(text)}
    if len(meant) != 1:
        raise ValueError("not one number")
    return meant.pop()


def _meant(found: re.Match[str]) -> float:
    if low := found["low"]:
        scale = 100 if found["percents"] else 1
        return (_scaled(_float(low) / scale) + _scaled(_float(found["high"]) / scale)) / 2
    if part := found["part"]:
        return _float(part) / (_float(found["whole"]) or -1)
    if percent := found["percent"]:
        return _float(percent) / 100
    return _scaled(_float(found["number"]))


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _scaled(p: float) -> float:
    return p / 100 if _LEAST_PERCENT < p <= 100 else p
