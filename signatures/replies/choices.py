"""One of several words, as LMs write them."""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import boxed, says_nothing, tidy
from signatures.replies.refusals import is_refusal
from signatures.replies.words import DENYING, FALSE, TRUE, whole

__all__ = ["Choice", "YesNo", "YesNoOrNone", "YesNoOrUnanswerable"]

_AROUND = " \t\n\"'.,:;!()[]<>{}*->。！"
_ONLY = {"yes": re.compile(f"(?:{TRUE}|y)"), "no": re.compile(f"(?:{FALSE}|n)")}
_WORD = rf"(?P<not>not\s+)?(?:(?P<yes>{whole(TRUE)})|(?P<no>{whole(FALSE)}))"
_SURELY = r"(?:definitely|certainly|absolutely|clearly|probably|likely|possibly|most likely|apparently|of course)"
_NEVER = re.compile(rf"\W*{_SURELY} not\W*")
_LEADING = re.compile(rf"\W*(?:{_SURELY}\W+)?{_WORD}(?P<rest>\s*.*)", re.DOTALL)
_LABELLED = re.compile(
    r"(?:\b(?:answer|conclusion|verdict|decision|judge?ment|statement|claim|candidate|prediction|it|this|that|which"
    r"|output|result|response|label)\b(?:\s+to\s+\w[\w ]{0,40}?)?\s*(?:is|was|would be|must be|should be|:|=)+"
    rf"|\b(?:therefore|thus|hence|so|say),?(?= \w+\W*\Z))\s*[\"'(\[]*{_WORD}"
)
_ASSERTED = re.compile(
    r"\A\W*(?:the |this )?(?:summary|prediction|statement|claim|evidence|passages?|facts?|it|they)\s"
    r"(?P<not>(?:do(?:es)? not|do(?:es)?n't|cannot|fails? to)\s)?(?:\w+ly\s)?"
    r"(?P<yes>supports?|impl(?:y|ies)|entails?|suffices?)(?P<no>(?!))?\b"
)
_CLOSING = re.compile(rf"[.,:;\n–—-]\s*{_WORD}\W*\Z")
_ANYWHERE = re.compile(r"\b(?P<not>not\s+)?(?:(?P<yes>yes|true)|(?P<no>no|false))\b")
_EITHER = "(?:yes|true|correct)", "(?:no|false|incorrect)"
_AND = r"\W*(?:and|or|/|\||but(?: also)?|and/or)\W*"
_BOTH = re.compile(r"\b{0}{2}{1}\b|\b{1}{2}{0}\b".format(*_EITHER, _AND))
_MENU = {"yes", "no", "true", "false", "unanswerable", "none", "literal", "or"}  # of "yes; no", which was only copied
_NOT_SAID = re.compile(
    r"(?:\bcannot|\bcan not|n't|\bnot|\bunable to|\bimpossible to|\binsufficient|\bno)\s+(?:\w+\s+){0,3}?"
    r"(?:say|answer|conclude|claim|state)\s+(?:with\s+)?[\"']?(?:yes|no|true|false)\b"
)


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
        words: dict[str, str] = {**cls.aliases, **{word.lower(): word for word in get_args(cls.shows)}}  # type: ignore[attr-defined]
        if (bare := text.strip(_AROUND)) in words:
            return words[bare]
        either = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        if called := re.match(rf"\W*(?:(?:action|answer|choice|next|output)\W+)?({either})\s*[\[(:{{]", text):
            return words[called[1]]
        text = re.split(r"\b(?:over|rather than|instead of)\b", text)[0]  # "the first over the second"
        said = {words[word] for word in re.findall(rf"(?<!\w)({either})(?:e?s|e?d|ing)?(?!\w)", text)}
        if len(said) == 1 and not re.search(rf"\b(?:not|never|n't|neither|nor)\W+(?:\w+\W+)?(?:{either})", text):
            return said.pop()
        raise ValueError(f"not one of: {', '.join(words.values())}")


class YesNo(Reply, shows=Literal["yes", "no"]):
    """Yes or no, as a word. "Yes.", "**Yes**", "Yes, because …", "The answer is no.", "True" and a JSON true are read,
    and so are the words of other languages (`words.toml`).

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


def _text(value: Any) -> str:
    """The text in lower case; that of the only item or field, where JSON was written around it."""
    if isinstance(value, dict | list) and len(value) == 1:
        (value,) = value.values() if isinstance(value, dict) else value
        return _text(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"no text: {value!r}"[:200])
    return tidy(boxed(str(value))).lower().replace("’", "'")


def _yes_no(text: str) -> str:
    bare = text.strip(_AROUND)
    for verdict, word in _ONLY.items():
        if word.fullmatch(bare):
            return verdict
    if _NEVER.fullmatch(text):
        return "no"
    if _BOTH.search(text) or {"yes", "no"} <= set(re.findall(r"[^\W\d_]+", text)) <= _MENU:
        raise ValueError("says both yes and no")
    text = _NOT_SAID.sub(" ", text)
    said = {_meant(found) for pattern in (_LABELLED, _ASSERTED, _CLOSING) for found in pattern.finditer(text)}
    begins = _LEADING.match(text)
    if begins and _leads(begins):
        said.add(_meant(begins))
    if not said:
        said = {_meant(found) for found in _ANYWHERE.finditer(text)}
        if re.search(r"\bno\b(?!\W*$)", text) and "yes" not in said and not re.search(r"\bno\b\W*[\n.,]", text):
            said.discard("no")  # "there is no …"
    if len(said) != 1:
        raise ValueError("says both yes and no" if said else "says neither yes nor no")
    return said.pop()


def _leads(begins: re.Match[str]) -> bool:
    """Whether the word with which the text begins is its verdict: "no it is not", and not "no man's land"."""
    word, rest = begins["yes"] or begins["no"], begins["rest"].lstrip(" ")
    if word != "no" or not rest[:1].isalpha():
        return word not in ("right", "wrong") or not rest[:1].isalpha()
    return re.findall(r"[^\W\d_]+", rest)[0] in DENYING


def _meant(found: re.Match[str]) -> str:
    return "yes" if bool(found["yes"]) != bool(found["not"]) else "no"
