"""Statements with citations, as LMs write them."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pydantic

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import holds_nothing, json_in, says_nothing, tidy, without_closing
from signatures.replies.numbers import Numbers
from signatures.replies.refusals import is_refusal
from signatures.replies.texts import items_of

__all__ = ["Statement", "Statements"]

_TEXT = re.compile(r"statement|text|sentence|fact|claim|content|summary", re.IGNORECASE)
_CITED = re.compile(r"passage|citation|cite|source|reference|ref|number|document|support|evidence|id", re.IGNORECASE)
_CITATIONS = re.compile(
    r"\s*(?:\[(?:passages?\s*|documents?\s*)?\d{1,3}(?:\s*[,;–-]\s*(?:passages?\s*)?\d{1,3})*\]"
    r"|\((?:passages?|documents?|sources?|see|refs?)\b[^()]{0,40}\d[^()]{0,40}\))",
    re.IGNORECASE,
)
_CLUSTER = re.compile(rf"(?:{_CITATIONS.pattern})+", re.IGNORECASE)
_NUMBERING = re.compile(r"\s*(?:[-*•–]\s+|\(?\d{1,2}[.):]\s+)*(?:(?i:statement|fact)\s?#?\d{0,2}\s?:\s)?")
# Other ways to cite, each with what becomes [1, 2].
_NUMBERS = r"\[?(\d{1,3}(?:,[ ]?\d{1,3}){0,20})\]?"
_WAYS: list[tuple[re.Pattern[str], Any]] = [
    (re.compile(r"[\[【]\s?(\d{1,3})(?:†[^\]】\n]{0,40})?\s?[\]】]"), r"[\1]"),
    (re.compile(r"</?(?:item|statements)>\s*(?=<statement>)"), "\n"),
    (re.compile(r"<passages>(.*?)(?:</passages>|\Z)", re.DOTALL),
     lambda found: f" [{', '.join(re.findall('[0-9]{1,3}', found[1]))}]"),
    (re.compile(r"</?\w+>"), " "),
    (re.compile(rf"\n[ \t]*(?:[-*•][ \t])?(?:passages?|sources?|citations?|documents?|references?)[ ]?:[ ]?{_NUMBERS}"
                r"[ \t]*(?=\n|\Z)", re.IGNORECASE), r" [\1]"),
    (re.compile(rf"\|[ ]*{_NUMBERS}[ ]*\|?[ ]*$", re.MULTILINE), r"[\1]"),
]  # fmt: skip


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
        if isinstance(value, list) and len(value) == 1:  # XMLAdapter's way to give an element that is no list
            return cls.parse(value[0])
        if isinstance(value, str):
            text = without_closing(tidy(value))
            objects = json_in(text) if "{" in text or text.startswith('["') else []
            if objects := [one for one in objects if isinstance(one, dict) or set(map(type, one)) - {int}]:
                return cls.parse(objects)
            found = list(_in_text(text))
            nothing = says_nothing(text) or is_refusal(text) or holds_nothing(text)
        else:
            found, nothing = list(_in_objects(value)), holds_nothing(_texts(value))
        if not found and not nothing:
            raise ValueError("no statement that can be read")
        return found


def _in_objects(value: Any) -> Iterator[Statement]:
    if isinstance(value, Statement):
        yield value
    elif isinstance(value, str):
        yield from _in_text(tidy(value))
    elif isinstance(value, dict) and (texts := _own_texts(value)):
        cited = [inner for key, inner in value.items() if _CITED.search(str(key)) and inner is not texts[0]]
        yield from _statement(texts[0], (cited and cited[0]) or _cited(texts[0]))
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(value, list | tuple) or isinstance(inner, dict | list):
                yield from _in_objects(inner)


def _own_texts(value: dict[Any, Any]) -> list[str]:
    return [inner for key, inner in value.items() if _TEXT.search(str(key)) and isinstance(inner, str)]


def _texts(value: Any) -> Any:
    """The value with its texts in the place of an object that has any."""
    if isinstance(value, dict):
        return _own_texts(value) or _texts(list(value.values()))
    return [_texts(one) for one in value] if isinstance(value, list | tuple) else value


def _statement(text: str, cited: Any) -> Iterator[Statement]:
    """The text without its citations; nothing where the citations cannot be read."""
    sentence = re.sub(r"\s+", " ", _CITATIONS.sub("", text)).strip(" \t-–—|:").replace(" .", ".")
    try:
        numbers = Numbers.parse(cited)
    except ValueError:
        return
    if sentence:
        yield Statement(statement=sentence, passages=numbers)


def _in_text(text: str) -> Iterator[Statement]:
    """The lines, or bulleted items, that have citations; and those among them that have none."""
    for pattern, way in _WAYS:
        text = pattern.sub(way, text)
    for item in items_of(text):
        for sentence in _cited_sentences(item):
            if cited := _cited(sentence):
                yield from _statement(_NUMBERING.sub("", sentence, count=1), cited)


def _cited(text: str) -> str:
    """The citations in a text."""
    return " ".join(re.sub(r"[()]", " ", found) for found in _CITATIONS.findall(text))


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
