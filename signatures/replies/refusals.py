"""Answers that are no answers.

A text is cut into sentences and what stands behind a word that turns. Each word of such a part becomes the letter of
its class, and the part refuses if its letters begin with one of the forms: "The passages do not mention it" is TSDNGP.
"""

import re

from signatures.replies.cleaning import LONGEST, boxed, tidy, without_thinking
from signatures.replies.words import CLASSES, LABEL, UNSAID

__all__ = ["is_refusal"]

_SOURCES = "[TP]?A*[SW]A?"
_FORMS = re.compile(
    "|".join(
        [
            r"U(?:[,nCT].*)?$",  # Unclear from the facts
            r"u(?:,[NZOPIDT].*)?$|Z$",  # Unknown (not in the passages)
            r"[Um]A*[SW]|lC?A*[SW]",  # Insufficient information
            r"N[AvV](?:[,nC].*)?$|CBV",  # Not mentioned in the passages
            r"NoX?[SW]|O[oAX]{0,2}[SWG]|0(?:n|B[AvV])",  # No relevant information
            r"[^,]+B[Uum]$|(?:P|[TP]?A*[SW])B[Uu](?:[,nCT].*)?$",  # Her birthplace is unknown
            r"PB+(?:CB)?(?:O[^,]{0,2}|N?oX?|NoX?|U|lC|NcV?)[SWG]|PB(?:No|Ow|0n)",  # There is no information
            rf"(?:P|{_SOURCES})?DNB?[^,]?[AvVGkW]|T[^,DN]{{1,5}}DNB[AvV]",  # The passages do not mention
            rf"{_SOURCES}(?:Y[GX]|l|[GH](?:O.|0|U|z)|[BH]NB?X{{0,2}}[AvVGW])",  # The text says nothing
            r"P[BH]NB?[AvV](?!c|n$)",  # It is not known
            r"[^,]{1,12}?[BH]?NB?[Av](?:nT?[^,]{0,2}[SW].*)?$|[^,]{1,8}?NnT?A*[SW]",  # The year is not given
            r"[Zz]C?[TP]?A*[SW]",  # None of the passages
            r"I(?:D?N[^,]{0,2}[HGWkKA]|BL|BN[jV]|H(?:O|U|No)|l)",  # I do not know
            r"(?:PB+)?LC[GWkKD]",  # It is impossible to say
            r"M[SW].*BQ|(?:ID?|P)?QM[SW]|p[GK]",  # More information is needed
            r"(?:y|OX)G",  # Nobody knows
        ]
    )
)
_LEAD = re.compile(
    r"\W*(?:(?:based on|according to|from|given|in (?:the|these|this)|with(?:out)?|as an?|as of|to the best of"
    r"|to answer)\b[^.,]{0,80},\s*(?!but)"
    r"|(?:based on|according to|from|given|with) (?:the|these|this) (?:\w+ )?(?:passages|facts|context|text|data)\s"
    r"|(?:unfortunately|regrettably|sadly|however|sorry|apologies|my apologies|i(?:'m| am) sorry|i apologi[sz]e"
    r"|i(?:'m| am) afraid(?: that)?|but|so|therefore|thus|final answer|passage|it (?:seems|appears)(?: that)?"
    rf"|(?:{LABEL})(?: to (?:the|this) question)?(?: is(?! (?:not|in)\b)|(?=\W*[:=])))\s*[,:;.—–-]?\s*(?:but )?)+"
)
_PART = re.compile(
    r"(?<=[.!?])(?<![.\s][A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|No)\.)[\"')\]]{0,2}\s+(?=[\"'(\[]{0,2}[A-Z0-9])|(?<=[a-z]{4}[.!?])\s+"
    r"|\s*\n\s*|\s[-–—]+\s|;\s|(?<=[。！？])"
    r"|\s+(?:but|though|although)\s+|,\s+(?:but|though|although|however|yet|so|and|while|whereas|therefore|thus)\s+"
)
# What a refusal says of its sources; more after a verdict, which is meant as one.
_VERDICT = re.compile("U|u|Z|NoW|UW|DNBV|NA|Nv")
_THEY = r"\W*(?:they|it|(?:(?:the|these|this) )?(?:\w+ )?(?:passages?|texts?|facts?|documents?|context))(?: \w+ed)? "
_TOPIC = re.compile(
    rf"{_THEY}(?:all |each )?(?:only |merely |(?:mention|discuss|describe|concern|cover|(?:talk|is|are) about|focus"
    r"|refer|deal)(?!.*\b(?:that|as|who|which|whose)\b))"
)
_UNSAID = re.compile(rf"\W*(?:{UNSAID})")
_BLANK = re.compile(r"[\[(]?\s?(?:\?{1,9}|\.{2,9}|…|[-–—]{1,9})\s?[\])]?")
_SMALL = "a|an|and|at|by|for|from|in|of|on|or|the|to|with"
_TITLE = re.compile(rf"(?:[A-Z][\w']*|{_SMALL})(?: (?:[A-Z][\w']*|{_SMALL}))+\W*")
_NO_TITLE = re.compile(r"\b(?:information|determined|mentioned|available|specified|provided|answered)\b", re.IGNORECASE)
_LOOKED_AT = 300  # characters of a part


def is_refusal(text: str | None) -> bool:
    """Whether all of an answer says that there is none: "Unanswerable.", "Not enough information. I cannot tell."

    An answer that says anything else is none, wherever that stands: "Paris, though the passages do not say so", "It is
    not mentioned, but it is Paris". What the passages are about belongs to the refusal. Titles such as "I Don't Know
    How She Does It" are answers, and so are "no" and an empty text.
    """
    answer = tidy(boxed(without_thinking(text or "")[:LONGEST])).replace("’", "'").strip("\"' \n")
    if _BLANK.fullmatch(answer):
        return True
    answer = re.sub(r"[^\S\n]+", " ", answer)
    if re.match("I [A-Z][a-z]", answer) or (
        len(answer.split()) > 2 and _TITLE.fullmatch(answer) and not _NO_TITLE.search(answer)
    ):
        return False  # "I Don't Know How She Does It is a film"
    parts = [part[:_LOOKED_AT].lower() for part in _PART.split(answer) if re.search(r"\w", part)]
    while len(parts) > 1 and _LEAD.fullmatch(f"{parts[0]} "):
        del parts[0]
    about = re.compile(_THEY) if parts and _VERDICT.fullmatch(_letters(parts[0])) else _TOPIC
    refuses = [_refuses(part) for part in parts]
    return any(refuses) and all(
        one or part.startswith("not ") or about.match(part) for one, part in zip(refuses, parts, strict=True)
    )


def _refuses(part: str) -> bool:
    lead = _LEAD.match(part)
    rest = part[lead.end() :] if lead else part
    return bool(_UNSAID.match(rest) or _FORMS.match(_letters(part)) or (lead and _FORMS.match(_letters(rest))))


def _letters(part: str) -> str:
    """The classes of the words; X for other words, a comma for signs, nothing for numbers and quotes."""
    part = re.sub(r"\b(?:cannot|can't)\b", "can not", part).replace("n't", " not")
    part = re.sub(r"\b(there|it|that)'s\b", r"\1 is", re.sub(r"\b(i|we)'(?:m|re)\b", r"\1 am", part))
    letters = [
        "" if found[2] else CLASSES.get(found[0], "X") if found[1] else ","
        for found in re.finditer(r"(n/a|[^\W\d][\w'-]*)|(\d+|[\"'\[\]*]+)|[^\w\s]+", part)
    ]
    return re.sub(",+", ",", "".join(letters)).strip(",")
