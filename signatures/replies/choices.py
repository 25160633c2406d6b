"""One of several words, as LMs write it."""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import boxed, says_nothing, tidy
from signatures.replies.refusals import is_refusal

__all__ = ["Choice", "YesNo", "YesNoOrNone", "YesNoOrUnanswerable"]

_YES_NO = {
    "yes": "yes", "true": "yes", "correct": "yes", "y": "yes", "yeah": "yes", "yep": "yes", "right": "yes",
    "no": "no", "false": "no", "incorrect": "no", "n": "no", "nope": "no", "wrong": "no", "untrue": "no",
    "affirmative": "yes", "negative": "no",
}  # fmt: skip
_OTHER = {"yes": "no", "no": "yes"}
_VERDICT = re.compile(
    r"(?:\b(?:answer|conclusion|verdict|decision|judge?ment|statement|candidate|prediction|it|this|that|which|output|result)\b"
    r"(?:\s+to\s+\w[\w ]{0,40}?)?\s*(?:is|was|would be|must be|should be|:|=)+\s*[\"'(\[]*)"
    r"(not\s+)?(yes|no|true|false|correct|incorrect|right|wrong)\b"
)
_BOTH = re.compile(
    r"\b(?:yes|true|correct)\W*(?:and|or|/|\||but(?: also)?|and/or)\W*(?:no|false|incorrect)\b"
    r"|\b(?:no|false|incorrect)\W*(?:and|or|/|\||but(?: also)?|and/or)\W*(?:yes|true|correct)\b"
)
_NO_NOTHING = re.compile(
    r"no\s+(?:clear |definite |definitive |direct |explicit )?"
    r"(?:information|evidence|answer|mention|data|passages?|facts|details|one|idea)\b"
)
_WRAPPED = re.compile(
    r"(?:literal|str|bool)\[(.*)\]|\\?(?:boxed|text)\{(.*)\}|\{\s*[\"'][\w ]+[\"']\s*:\s*(.*?)\s*\}", re.DOTALL
)
_NOT_SAID = re.compile(
    r"(?:\bcannot|\bcan not|n't|\bnot|\bunable to|\bimpossible to|\binsufficient|\bno)\s+(?:\w+\s+){0,3}?"
    r"(?:say|answer|conclude|claim|state)\s+(?:with\s+)?[\"']?(?:yes|no|true|false)\b"
)
_MENU = {*_YES_NO, "unanswerable", "none", "literal", "or"}  # the words of "yes; no", which was only copied
_WORD = re.compile(r"[^\W\d_]+")


class Choice(Reply):
    """One of the words of the `Literal` that a subclass shows as.

        class Action(Choice, shows=Literal["search", "finish"]): ...

    "Search", "search.", "**search**", "Action: search" and "Finish[Paris]" are read. Text that has several of the words
    is unparsable unless it begins with one as a call or a label does. A subclass can name other words for them:
    `aliases={"1": "search"}`.
    """

    aliases: Mapping[str, str]

    def __init_subclass__(cls, aliases: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.aliases = dict(aliases or {})

    @classmethod
    def parse(cls, value: Any) -> str:
        text = _text(value)
        options: dict[str, str] = {word.lower(): word for word in get_args(cls.shows)}  # type: ignore[attr-defined]
        words = {**cls.aliases, **options}
        if (bare := text.strip(" \t\n\"'.,:;!()[]<>{}*-")) in words:
            return _option(words[bare], options)
        either = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        if called := re.match(rf"\W*(?:(?:action|answer|choice|next|output)\W+)?({either})\s*[\[(:{{]", text):
            return _option(words[called[1]], options)
        said = {words[word] for word in re.findall(rf"(?<!\w)({either})(?:e?s|e?d|ing)?(?!\w)", text)}
        if len(said) == 1 and not re.search(rf"\b(?:not|never|n't|neither|nor)\W+(?:\w+\W+)?(?:{either})", text):
            return _option(said.pop(), options)
        raise ValueError(f"not one of: {', '.join(options.values())}")


class YesNo(Reply, shows=Literal["yes", "no"]):
    """Yes or no, as a word. "Yes.", "**Yes**", "Yes, because …", "The answer is no.", "True" and a JSON true are read.

    Text that says both, or neither, is unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> str:
        if isinstance(value, bool) or (isinstance(value, int | float) and value in (0, 1)):
            return "yes" if value else "no"
        return _yes_no(_text(value))


class YesNoOrNone(Reply, shows=Literal["yes", "no"] | None):
    """The same as `YesNo`, or None where the reply is empty or says "None"."""

    @classmethod
    def parse(cls, value: Any) -> str | None:
        if value is None or (isinstance(value, str) and says_nothing(tidy(value))):
            return None
        return YesNo.parse(value)


class YesNoOrUnanswerable(YesNo, shows=Literal["yes", "no", "unanswerable"]):
    """The same as `YesNo`, or that the question cannot be answered, in whatever words (see `is_refusal`)."""

    @classmethod
    def parse(cls, value: Any) -> str:
        if isinstance(value, str) and is_refusal(boxed(value)):
            return "unanswerable"
        return super().parse(value)


def _option(name: str, options: dict[str, str]) -> str:
    return options.get(name, name)


def _text(value: Any) -> str:
    """The text in lower case; that of the only item or field, where JSON was written around it."""
    if isinstance(value, dict | list) and len(value) == 1:
        (value,) = value.values() if isinstance(value, dict) else value
        return _text(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"no text: {value!r}"[:200])
    text = tidy(boxed(str(value))).lower().replace("’", "'")
    inner = _WRAPPED.fullmatch(text)
    return next(filter(None, inner.groups()), "") if inner else text


def _yes_no(text: str) -> str:
    bare = text.strip(" \t\n\"'.,:;!()[]<>{}*-")
    if bare in _YES_NO:
        return _YES_NO[bare]
    words = set(_WORD.findall(text))
    if _BOTH.search(text) or {"yes", "no"} <= words <= _MENU:
        raise ValueError("says both yes and no")
    said = {_negated(found[2], found[1]) for found in _VERDICT.finditer(text)}
    if leading := _leading(text):
        said.add(leading)
    if not said:
        if _NOT_SAID.search(text):
            raise ValueError("says what the answer cannot be said to be")
        said = {_negated(found[2], found[1]) for found in re.finditer(r"\b(not\s+)?(yes|no|true|false)\b", text)}
        if re.search(r"\bno\b(?!\W*$)", text) and "yes" not in said and not re.search(r"\bno\b\W*[\n.,]", text):
            said.discard("no")  # "there is no …"
    if len(said) != 1:
        raise ValueError("says both yes and no" if said else "says neither yes nor no")
    return said.pop()


def _leading(text: str) -> str | None:
    """The verdict with which the text begins."""
    begins = re.match(
        r"\W*(not\s+)?(?:(?:definitely|certainly|absolutely|clearly|probably|likely)\W+)?(\w+)(\s*)(.?)", text
    )
    if not begins or begins[2] not in _YES_NO or len(begins[2]) == 1:
        return None
    if begins[2] == "no" and begins[4].isalpha():
        rest = text[text.index("no") :]
        after = _WORD.findall(rest)[1:2]
        if _NO_NOTHING.match(rest) or (after and after[0] not in _AFTER_NO):
            return None
    if begins[2] in ("right", "correct", "wrong") and begins[4].isalpha() and begins[2] != "correct":
        return None  # "right now", "wrong way"
    return _negated(begins[2], begins[1])


# "no it is not", and not "no man's land".
_AFTER_NO = frozenset(
    [
        "a",
        "according",
        "additional",
        "all",
        "as",
        "based",
        "because",
        "both",
        "fact",
        "for",
        "further",
        "he",
        "his",
        "her",
        "i",
        "in",
        "it",
        "its",
        "longer",
        "more",
        "need",
        "neither",
        "not",
        "since",
        "she",
        "the",
        "there",
        "they",
        "this",
        "that",
        "these",
        "those",
        "we",
        "you",
        "other",
    ]
)


def _negated(word: str, negation: str | None) -> str:
    return _OTHER[_YES_NO[word]] if negation else _YES_NO[word]
