"""Statements with citations, as LMs write them."""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pydantic

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, table_rows, tidy, without_closing
from signatures.replies.numbers import Numbers
from signatures.replies.refusals import is_refusal
from signatures.replies.texts import bulleted, without_outline

__all__ = ["Statement", "Statements"]

_TEXT = re.compile(r"statement|text|sentence|fact|claim|content|summary", re.IGNORECASE)
_CITED = re.compile(r"passage|citation|cite|source|reference|ref|number|document|support|evidence|id", re.IGNORECASE)
_CITATIONS = re.compile(
    r"\s*(?:\[(?:passages?\s*|documents?\s*)?\d{1,3}(?:\s*[,;–-]\s*(?:passages?\s*)?\d{1,3})*\]"
    r"|\((?:passages?|documents?|sources?|see|refs?)\b[^()]{0,40}\d[^()]{0,40}\))",
    re.IGNORECASE,
)
_CLUSTER = re.compile(rf"(?:{_CITATIONS.pattern})+", re.IGNORECASE)
_PASSAGES = re.compile(r"<passages>(.*?)(?:</passages>|\Z)", re.DOTALL)
_NUMBERING = re.compile(r"\s*(?:[-*•–]\s+|\(?\d{1,2}[.):]\s+)*(?:(?i:statement|fact)\s?#?\d{0,2}\s?:\s)?")
_OTHER_BRACKETS = re.compile(r"[\[【]\s?(\d{1,3})(?:†[^\]】\n]{0,40})?\s?[\]】]")
_CITING_LINE = re.compile(
    r"\n[ \t]*(?:[-*•][ \t])?(?:passages?|sources?|citations?|documents?|references?)[ ]?:[ ]?"
    r"\[?(\d{1,3}(?:,[ ]?\d{1,3}){0,20})\]?[ \t]*(?=\n|\Z)",
    re.IGNORECASE,
)


class Statement(pydantic.BaseModel):
    """A statement and its citations."""

    statement: str = pydantic.Field(description="one fact, in a sentence that can be understood by itself")
    passages: list[int] = pydantic.Field(description="numbers of the passages that say so, such as [1, 3]")


class Statements(Reply, shows=list[Statement]):
    """The statements that can be read. One without text, or with citations that cannot be read, is left out.

    Read are JSON objects, in a list or not, with citations as numbers or text ("passages": "[1]"), and lines with
    their citations in brackets, as "The sky is blue [1][3]." "None" and a refusal are an empty list. Text without any
    citation, and objects none of which can be read, are unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> list[Statement]:
        if value is None or value == [] or value == {}:
            return []
        if isinstance(value, list) and len(value) == 1:  # XMLAdapter's way to give an element that is no list
            return cls.parse(value[0])
        if isinstance(value, str):
            text = without_closing(tidy(value))
            if says_nothing(text):
                return []
            objects = (
                [found for found in json_in(text) if _has_objects(found)]
                if "{" in text or text.startswith('["')
                else []
            )
            if objects:
                return cls.parse(objects)
            found = _in_lines(_without_tags(text))
        else:
            found = list(_in_objects(value))
        if not found and not (isinstance(value, str) and is_refusal(value)) and not _says_nothing(value):
            raise ValueError("no statement that can be read")
        return found


def _in_objects(value: Any) -> Iterable[Statement]:
    if isinstance(value, Statement):
        yield value
    elif isinstance(value, str):
        yield from _in_lines(tidy(value))
    elif isinstance(value, dict):
        if texts := _texts_in(value):
            yield from _in_object(texts[0], value)
        else:
            for inner in value.values():
                if isinstance(inner, dict | list):
                    yield from _in_objects(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _in_objects(inner)


def _texts_in(value: dict[Any, Any]) -> list[str]:
    return [inner for key, inner in value.items() if _TEXT.search(str(key)) and isinstance(inner, str)]


def _in_object(text: str, value: dict[Any, Any]) -> Iterable[Statement]:
    cited = [inner for key, inner in value.items() if _CITED.search(str(key)) and inner is not text]
    try:
        numbers = Numbers.parse((cited and cited[0]) or _inside(text))
    except ValueError:
        return
    if sentence := _without_citations(text):
        yield Statement(statement=sentence, passages=numbers)


def _in_lines(text: str) -> list[Statement]:
    """The lines, or bulleted items, that have citations; and those among them that have none."""
    text = _CITING_LINE.sub(r" [\1]", _OTHER_BRACKETS.sub(r"[\1]", text))
    if rows := table_rows(text):
        text = "\n".join(
            f"- {cells[-2]} [{', '.join(re.findall('[0-9]{1,3}', cells[-1]))}]" for cells in rows if len(cells) > 1
        )
    lines = [line for line in without_outline(text).splitlines() if line.strip()]
    found = []
    for item in bulleted(lines) or lines:
        for sentence in _cited_sentences(item):
            sentence = _NUMBERING.sub("", sentence, count=1)
            if cited := _inside(sentence):
                found.append(Statement(statement=_without_citations(sentence), passages=Numbers.parse(cited)))
    return [statement for statement in found if statement.statement]


def _cited_sentences(text: str) -> list[str]:
    """The text cut where the citations of a sentence and those of the next one part: "A [1]. B [2].", "A. [1] B. [2]".

    Sentences without citations stay with the one behind them.
    """
    cited = list(_CLUSTER.finditer(text))
    if cited and not text[: cited[0].start()].strip():  # "[1] A. [2] B."
        cuts = [found.start() for found in cited[1:] if text[: found.start()].rstrip().endswith((".", "!", "?"))]
        cuts = cuts if len(cuts) == len(cited) - 1 else []
    else:
        cuts = [found.end() for found in cited if _ends_sentence(text[: found.start()], text[found.end() :])]
        cuts = [cut + (text[cut : cut + 1] in (".", "!", "?")) for cut in cuts]
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)]) if text[start:end].strip()]


def _ends_sentence(before: str, behind: str) -> bool:
    if re.match(r"[.!?](?:\s|\Z)", behind):
        return True
    return before.rstrip().endswith((".", "!", "?")) and not behind.lstrip()[:1].islower()


def _inside(text: str) -> str:
    """The citations in a text."""
    return " ".join(re.sub(r"[()]", " ", found) for found in _CITATIONS.findall(text))


def _without_citations(text: str) -> str:
    return re.sub(r"\s+", " ", _CITATIONS.sub("", text)).strip(" \t-–—|:").replace(" .", ".")


def _without_tags(text: str) -> str:
    """XML items as lines with citations in brackets."""
    text = re.sub(r"</?(?:item|statements)>\s*(?=<statement>)", "\n", text)
    text = _PASSAGES.sub(lambda found: f" [{', '.join(re.findall('[0-9]{1,3}', found[1]))}]", text)
    return re.sub(r"</?\w+>", " ", text)


def _has_objects(found: Any) -> bool:
    return isinstance(found, dict) or (isinstance(found, list) and any(isinstance(one, dict | str) for one in found))


def _says_nothing(value: Any) -> bool:
    """Whether a list or an object is empty all through, or has no text, as [[]] and {"statements": []}."""
    if isinstance(value, dict):
        return all(map(_says_nothing, _texts_in(value) or value.values()))
    if isinstance(value, list | tuple):
        return all(map(_says_nothing, value))
    return value is None or (isinstance(value, str) and says_nothing(value))
