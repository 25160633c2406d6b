"""Short answers, as LMs write them."""

import json
import re
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import LONGEST, boxed, json_in, without_closing, without_explanation, without_fence
from signatures.replies.words import LABEL

__all__ = ["ShortAnswer"]

_LABEL = re.compile(
    rf"^[ \t>#*_-]{{0,9}}({LABEL})[*_]{{0,3}}[ \t]?(?:[:=：][*_]{{0,3}}|[-–—][ ]|(?<=[*_])[ \t]*(?=\n))\s{{0,9}}"
    rf"|^\#{{1,6}}[ ]({LABEL})[ ]*\n",
    re.IGNORECASE | re.MULTILINE,
)
# "the answer is Paris", and not "The Answer Is Love".
_SENTENCE = re.compile(
    r"(?:^|(?<=[.!?]\s))(?:(?i:so|well|thus|therefore|hence|sure|certainly|okay|in conclusion|in short"
    r"|(?:based on|according to|given|from)\s[^,.:\n]{1,80})[,!.:]?\s)?"
    r"(?:(?:[Tt]he|[Mm]y)\s(?:final\s|correct\s|short\s|right\s|best\s)?answer"
    r"(?:\sto\s(?:the|this|that|your)\squestion(?:\s[\"“][^\"”\n]{1,300}[\"”])?)?\s(?:is|would\sbe)"
    r"|[Ll]a (?:respuesta es|réponse est|risposta è)|[Dd]ie Antwort (?:ist|lautet)|[Aa] resposta é)(?::\s?|\s)",
    re.MULTILINE,
)
_KEY = re.compile(rf"(?:{LABEL})(?: name)?|name|text|value")  # in an object that was written for an answer
_OBJECT = re.compile(r"\{\s*[\"'].*\}|\[\s*\".*\"\s*\]", re.DOTALL)
_TITLE = re.compile(r"The [A-Z]")
_TAGGED = re.compile(r"<(\w{1,30})>((?:(?!</\1>).)*)(?:</\1>|\Z)", re.DOTALL)
_MARKS = {"**": "**", "__": "__", "*": "*", "_": "_", "`": "`", '"': '"', "“": "”", "«": "»", "'": "'", "‘": "’"}
_QUOTES = "\"“«'‘"
_LAYERS = 4  # of labels, bold type, quotes

# What is left over in front of an answer and behind it.
_FRONT = re.compile(r"\A(?:>[ ]|[-*•][ ]|</?(?:answer|response|output|result)>)\s*(?=\S)")
_BEHIND = re.compile(
    r"\s*(?:</?(?:answer|response|output|result|item)>"
    r"|\^?(?:[\[【]{1,2}(?:passages?[ ])?\d{1,2}(?:,[ ]?\d{1,2}){0,9}[\]】]{1,2},?[ ]?){1,9}"
    r"|\((?:sources?:\s)?(?:passages?|documents?|docs?|facts?|sources?)\s\[?\d[^()]{0,30}\))\.?\s*\Z",
    re.IGNORECASE,
)


class ShortAnswer(Reply, shows=str):
    r"""A short answer without what is plainly no part of it: a label, what wraps it, what explains or cites.

    "Answer: Paris", "The answer is **Paris**.", "Paris\nExplanation: …", "**Paris**", "Paris [1]", "\boxed{Paris}" and
    {"answer": "Paris"} are Paris. Nothing else is taken away: the words of a sentence stay, and so do titles such as
    "The Answer", quotations in an answer, and bold type in the middle of it. No text at all, as JSON's null, is
    unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> str:
        if isinstance(value, str):
            return _in_text(value[:LONGEST])
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, dict):
            keys = {str(key).lower().replace("_", " "): key for key in value}
            if said := next((keys[key] for key in sorted(keys) if _KEY.fullmatch(key)), None):
                return cls.parse(value[said])
        if isinstance(value, list) and value and not any(isinstance(item, dict | list) for item in value):
            return ", ".join(map(cls.parse, value))
        if isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        raise ValueError(f"no short answer: {value!r}"[:200])


def _in_text(text: str) -> str:
    text = without_closing(without_fence(text).strip())
    if tagged := _TAGGED.fullmatch(text):
        text = tagged[2].strip()
    if _OBJECT.fullmatch(text) and (found := json_in(text)):
        return ShortAnswer.parse(found[-1])
    text = _front(without_explanation(boxed(text)).strip())
    if any(_wraps(text, opening, _MARKS[opening]) for opening in _QUOTES):
        return text[1:-1].strip()
    return _bare(_cited(_bare(_declared(_bare(text)))))


def _front(text: str) -> str:
    """One line without the mark of a quotation or a list in front of it."""
    return text if "\n" in text else _FRONT.sub("", text)


def _cited(text: str) -> str:
    """The text without tags and the numbers of passages behind it."""
    for _ in range(_LAYERS):
        text = _BEHIND.sub("", text) or text
    return text


def _declared(text: str) -> str:
    """What stands behind the last label or "the answer is", if it does not go on behind that line."""
    for pattern in (_LABEL, _SENTENCE):
        *_, last = [None, *pattern.finditer(text)]
        if last and not _TITLE.match(next(filter(None, last.groups()), "")):
            said = text[last.end() :].strip()
            if "\n" not in said and (said or not last.start()):
                text = _marked(said) if pattern is _SENTENCE else said
    return text


def _marked(text: str) -> str:
    """The bold or quoted words that the text begins with, if a sentence ends behind them; else the text."""
    for opening, closing in _MARKS.items():
        if text.startswith(opening):
            inner, found, behind = text[len(opening) :].partition(closing)
            if found and inner.strip() and re.match(r"[.!]?(?:\s*\Z|(?<=[.!])\s)", behind):
                return f"{opening}{inner}{closing}"
    return text


def _bare(text: str) -> str:
    """The text without labels, bold type and quotes around all of it; what is quoted is left as it is."""
    for _ in range(_LAYERS):
        for opening, closing in _MARKS.items():
            inner = text.removesuffix(".") if text.endswith(f"{closing}.") else text
            inner = inner[len(opening) : -len(closing)] if _wraps(inner, opening, closing) else ""
            if inner.strip():
                if opening in _QUOTES:
                    return inner.strip()
                text = inner.strip()
                break
        else:
            label = _LABEL.match(text)
            if not label or _TITLE.match(next(filter(None, label.groups()))):
                break
            text = text[label.end() :].strip()
    return text


def _wraps(text: str, opening: str, closing: str) -> bool:
    inner = text[len(opening) : -len(closing)]
    return text.startswith(opening) and text.endswith(closing) and opening not in inner and closing not in inner
