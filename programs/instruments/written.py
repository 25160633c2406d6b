"""The answer in a reply that is still being written, whatever adapter the LM was asked by."""

import json
import re

__all__ = ["AnswerSoFar"]

_BEGINS = re.compile(r"\[\[ ## answer ## \]\]\s*(?P<chat>)|<answer>\s*(?P<xml>)|\"answer\"\s*:\s*\"(?P<json>)")
_ENDS = {"chat": re.compile(r"\s*\[\["), "xml": re.compile(r"\s*</")}
_PART = {"chat": re.compile(r"\s*\[?$"), "xml": re.compile(r"\s*<?$")}  # what may become the end, or is no part of it


class AnswerSoFar:
    """Takes a reply piece by piece, and gives what each piece adds to the field `answer`."""

    def __init__(self) -> None:
        self._reply = ""
        self._given = ""

    def __call__(self, piece: str) -> str:
        """What the piece adds to the answer; empty where it adds nothing that is sure to belong to it."""
        self._reply += piece
        begins = _BEGINS.search(self._reply)
        if begins is None or begins.lastgroup is None:
            return ""
        answer = _so_far(self._reply[begins.end() :], begins.lastgroup)
        added = answer[len(self._given) :]
        self._given += added
        return added


def _so_far(text: str, form: str) -> str:
    if form == "json":
        said = re.match(r'(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*', text)
        whole = re.sub(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})$", "", said[0] if said else "")  # half of a character
        return str(json.loads(f'"{whole}"', strict=False))
    ends = _ENDS[form].search(text) or _PART[form].search(text)
    return text[: ends.start()] if ends else text
