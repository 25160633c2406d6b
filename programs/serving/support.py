"""Which of the passages that an answer was made from say it, by their words alone.

A passage says the answer, or a statement of the method that names it, where

- it has the text word for word, but for case, accents, punctuation and a leading article, and beside it a content word
  of the question, unless the question names the answer itself; or
- it has at least three quarters of the content words that the text adds to the question, and these are two or more.

Yes and no are in no passage: only statements can say what they rest on. See docs/serving.md.
"""

import re
import unicodedata
from collections.abc import Iterable

from programs.instruments.trace import Statement
from retrieval.ranking.words import content_words

__all__ = ["supports"]

_SHARE = 0.75
_NO_SPACES = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # scripts whose words are not set apart: each sign is a word
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+")


def supports(passage: str, id_: str, *, question: str, answer: str, statements: Iterable[Statement] = ()) -> bool:
    """Whether a passage says the answer, or a statement that names it.

    Args:
        passage: Its title and its text.
        id_: Its id.
        question: As the method was asked.
        answer: The method's answer.
        statements: What the method stated.
    """
    has = _plain(passage)
    return _says(has, answer, question) or any(
        _says(has, statement.text, "") for statement in statements if id_ in statement.passages
    )


def _says(has: str, text: str, question: str) -> bool:
    wanted = re.sub(r"^(an?|the) ", "", _plain(text))
    if wanted in ("", "yes", "no"):
        return False
    there, added, asked = content_words(has), content_words(wanted), content_words(_plain(question))
    if f" {wanted} " in f" {has} ":
        return added <= asked or bool((asked - added) & there)
    added -= asked
    return len(added) > 1 and len(added & there) >= _SHARE * len(added)


def _plain(text: str) -> str:
    """The words, set apart by single spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    composed = unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))
    return " ".join(_WORD.findall(composed))
