"""Answers that are no answers."""

import re

from signatures.replies.cleaning import LONGEST, boxed, tidy, without_thinking

__all__ = ["is_refusal"]

_SOURCE = (
    r"(?:passages?|context|texts?|documents?|facts?|information|sources?|evidence|snippets?|statements?|articles?"
    r"|paragraphs?|data|excerpts?|knowledge|material|question)"
)
_ABOUT = r"(?:provided|given|known|available|numbered|retrieved|above|supplied|existing|current|listed)"
_WHAT = (
    rf"(?:{_SOURCE}|answers?|mention|indication|details?|record|reference|data|specifics?|proof|consensus"
    r"|clear|direct|definite|definitive|conclusive)"
)
_GIVES = (
    r"(?:mention|contain|provide|specify|state|say|include|give|tell|have|has|answer|address|indicate|list|discuss|name"
    r"|identify|reveal|offer|support|suffice|cover|confirm|clarify|disclose|allow|know)"
)
_GIVEN = (
    r"(?:mentioned|contained|provided|specified|stated|said|included|given|told|known|answered|addressed|indicated|listed"
    r"|discussed|named|identified|revealed|available|found|determined|determinable|answerable|possible|clear|disclosed"
    r"|enough|sufficient|present|explicitly|directly|in\ the|applicable|certain|supported)"
)
_NOT = r"(?:not|n't|never|insufficiently)"
_ADVERB = r"(?:(?:explicitly|directly|clearly|specifically|actually|yet|currently|publicly|definitively|really)\ )*"

# What may stand before the refusal itself.
_LEAD = re.compile(
    r"\W*(?:(?:based on|according to|from|given|in (?:the|these|this)|with(?:out)?|as an?|as of|to the best of"
    r"|to answer)\b[^.,]{0,80},\s*(?!but)"
    rf"|(?:based on|according to|from|given|with)\s(?:the|these|this)\s(?:{_ABOUT}\s)*{_SOURCE}(?:\salone)?\s"
    r"|(?:unfortunately|regrettably|sadly|however|sorry|apologies|my apologies|i(?:'m| am) sorry|i apologi[sz]e"
    r"|i(?:'m| am) afraid(?: that)?|but|so"
    r"|therefore|thus|the (?:final |short )?answer (?:to (?:the|this) question )?is|(?:final )?answer"
    r"|it (?:seems|appears)(?: that)?)\b[,:;.—–-]?\s*(?:but )?)+",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    rf"""\W*(?:
      (?:unanswerable|undetermined|indeterminate|undeterminable|inconclusive|unspecified|n/a|unclear)\b
      (?=\W*$|\ ?[^\w\ ]
        |\ (?:as|at|based|because|by|due|for|from|given|if|in|on|since|the|to|when|whether|which|who|with)\b)
    | (?:unknown|none|null|insufficient|undisclosed|to\ be\ (?:determined|announced|confirmed)|tbd|tba)\W*$
    | (?:unknown|none)\ ?[(,;:/–—-]\W*(?:it\ is\ )?(?:not|no)\b
    | not\ (?:sure|{_ADVERB}(?:yet\ )?{_GIVEN})\b(?!\ (?:guilty|until|after|as|only)\b)
    | (?:[\w'-]+\ ){{1,12}}?(?:is|are|was|were|remains?)\ (?:unknown|unclear|missing|unavailable|unspecified)\W*$
    | (?:missing|lack\ of|lacking)\ (?:information|context|data|evidence|details)\b
    | (?:(?:it|this|that|(?:the|this)\ (?:\w+\ ){{0,3}}?\w+|(?:question|answer))\ )?
      can(?:not|\ not|'t)\ (?:{_ADVERB})(?:be\ )?
      (?:determined?|answer(?:ed)?|inferred|infer|say|said|tell|known|found|find|decided?|identif(?:y|ied)|established?
        |confirm(?:ed)?|provide)\b
    | could\ ?(?:not|n't)\ (?:be\ )?
      (?:determined?|answer(?:ed)?|found|find|identif(?:y|ied)|confirm(?:ed)?)\b
    | (?:it\ is\ )?(?:unable|impossible|difficult|hard)\ to
      \ (?:determine|answer|say|tell|find|decide|identify|provide|know|infer|confirm)\b
    | in(?:sufficient|adequate|complete)\ (?:\w+\ )?{_SOURCE}
    | (?:there\ (?:is|are|was|were|seems\ to\ be|appears\ to\ be)\ )?
      (?:no|not\ (?:any|enough)|n't\ (?:any|enough)|insufficient|too\ little|nothing)\b\ ?
      (?:(?:\w+\ ){{0,2}}?{_WHAT}\b)
    | no\ (?:information|info|data|answer|evidence|idea|clue)\b
    | there\ is\ no\ way\ (?:to|of)\b
    | there\ is(?:\ not|n't)\ (?:any|enough|sufficient)\b
    | nothing\ (?:in|is\ (?:said|known|stated|mentioned))\b
    | (?:none|neither)\ (?:of\ (?:the|these|those)\ )?(?:{_ABOUT}\ )*{_SOURCE}\b
    | (?:(?:the|these|those|this|my|your|our)\ )?(?:{_ABOUT}\ )*{_SOURCE}
      (?:\ {_ABOUT}|\ \[?\d+\]?(?:\ and\ \[?\d+\]?)?)?\ (?:
          (?:do|does|did|is|are|was|were|can|could)(?:\ ?{_NOT}\ )(?:\w+\ ){{0,2}}?(?:{_GIVES}|{_GIVEN})
        | (?:only|merely)\ (?:mention|say|state|provide|give|contain|describe|discuss|tell|talk)s?\b
        | (?:lacks?|fails?\ to|(?:is|are)\ (?:insufficient|missing|unavailable|silent|unanswerable|unclear|unknown))\b
        | (?:contains?|provides?|gives?|has|have|mentions?|includes?|says?)
            \ (?:no\b(?!\W*$)|nothing|neither|insufficient) )
    | (?:it|this|that|the\ answer|they)\ (?:is|are|was|were|has|have)(?:\ {_NOT}|n't)\ (?:been\ )?{_ADVERB}{_GIVEN}\b
      (?!\ (?:until|guilty|true|in\ \d|after|as|a|an|only)\b)
    | (?:the|his|her|its|their)\ (?:[\w'-]+\ ){{1,5}}?(?:is|are|was|were|has|have)(?:\ {_NOT}|n't)\ (?:been\ )?{_ADVERB}
      (?:(?:mentioned|specified|stated|provided|listed|available|known|discussed|indicated|named|identified|disclosed)\b
        |given\b(?:\W*$|\ in\ the))
    | {_SOURCE}\ not\ {_GIVEN}\b
    | (?:[\w'-]+\ ){{1,12}}?(?:(?:is|are|was|were|has|have)(?:\ {_NOT}|n't)\ |not\ )(?:been\ )?{_ADVERB}
      (?:mentioned|specified|stated|provided|given|listed|indicated|disclosed|available|contained|found|included)
      (?:\ (?:anywhere\ )?(?:in|by|from|within|among)\ (?:any\ of\ )?(?:(?:the|these|this|those)\ )?
        (?:{_ABOUT}\ )*{_SOURCE}\b|\W*$)
    | (?:nobody|no\ one)\ knows\b
    | (?:it\ )?(?:does|do)(?:\ {_NOT}|n't)\ {_ADVERB}{_GIVES}\b
    | (?:the\ answer|it|this|that)\ (?:is|remains)
      \ (?:unknown|unclear|unanswerable|undetermined|impossible|unavailable|uncertain)\b
    | (?:i|we)\b(?:\ am|'m|\ are|'re|\ was|\ were)?\ (?:unable|not\ (?:able|aware|certain|familiar|sure))\b
    | (?:i|we)\ (?:have\ no|lack|have\ insufficient)\b
    | (?:(?:i|we)\ (?:would\ |will\ )?|this\ )?(?:needs?|requires?)\ (?:more|additional|further)
      \ (?:information|context|details|data|facts)\b
    | please\ (?:provide|clarify|specify|give|share)\b
    | (?:i|we)\ (?:can\ ?not|can't|could\ not|couldn't|do\ not|don't|did\ not|didn't)\ (?:\w+\ ){{0,2}}?
      (?:access|answer|assist|confirm|create|fulfill?|generate|help|determine|find|give|have|identify
        |know|list|name|offer|produce|provide|recall|say|see|tell|verify|write)\b
    | (?:more|additional|further)\ (?:information|context|details)\ (?:[\w'-]+\ ){{0,8}}?
      (?:is|are|would\ be)\ (?:needed|required|necessary)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_BLANK = re.compile(r"[\[(]?\s?(?:\?{1,9}|\.{2,9}|…|[-–—]{1,9})\s?[\])]?")
_SMALL = "a|an|and|at|by|for|from|in|of|on|or|the|to|with"
_TITLE = re.compile(rf"(?:[A-Z][\w']*|{_SMALL})(?: (?:[A-Z][\w']*|{_SMALL}))+\W*")
_NO_TITLE = re.compile(r"\b(?:information|determined|mentioned|available|specified|provided|answered)\b", re.IGNORECASE)
_LOOKED_AT = 300  # characters of a part

# What the parts of a reply are: sentences, and what stands behind a dash or a word that turns.
_PART = re.compile(
    r"(?<![.\s][A-Z])(?<!\b(?:Dr|Mr|Ms|St|No))(?<=[.!?])[\"')\]]{0,2}\s+(?=[\"'(\[]{0,2}[A-Z0-9])|(?<=[a-z]{4}[.!?])\s+|\s*\n\s*|\s[-–—]+\s|;\s"
    r"|\s+(?:but|though|although)\s+|,\s+(?:but|though|although|however|yet|so|and|while|whereas|therefore|thus)\s+"
)
_VERDICT = re.compile(
    r"\W*(?:(?:final )?answer: )?(?:unanswerable|unknown|undetermined|inconclusive|none|n/a|not enough information"
    r"|insufficient information|cannot be (?:determined|answered))\W*",
    re.IGNORECASE,
)
# What a refusal says of the sources; more after a verdict, which is meant as one.
_THEY = rf"\W*(?:they|it|(?:(?:the|these|this)\s)?(?:{_ABOUT}\s)*{_SOURCE}(?:\s{_ABOUT})?)\s(?:all\s|each\s)?"
_TOPIC = re.compile(
    rf"{_THEY}(?:mention|discuss|describe|concern|cover|(?:talk|(?:is|are)) about|focus(?:es)? on|refer to|deal with)"
    r"(?!.*\b(?:that|as|who|which|whose)\b)",
    re.IGNORECASE,
)
_SOURCES = re.compile(rf"{_THEY}\w", re.IGNORECASE)


def is_refusal(text: str | None) -> bool:
    """Whether all of an answer says that there is none: "Unanswerable.", "Not enough information. I cannot tell."

    An answer that says anything else is none, wherever that stands: "Paris, though the passages do not say so", "It is
    not mentioned, but it is Paris". What the passages are about belongs to the refusal. Titles such as "I Don't Know
    How She Does It" are answers, and so are "no" and an empty text.
    """
    answer = tidy(boxed(without_thinking(text or "")[:LONGEST])).replace("’", "'").strip("\"' \n")
    if _BLANK.fullmatch(answer):
        return True
    answer = re.sub(r"\b([Tt]here|[Ii]t|[Tt]hat)'s\b", r"\1 is", re.sub(r"[^\S\n]+", " ", answer))
    if re.match("I [A-Z][a-z]", answer):
        return False  # "I Don't Know How She Does It is a film"
    if len(answer.split()) > 2 and _TITLE.fullmatch(answer) and not _NO_TITLE.search(answer):
        return False
    parts = [part[:_LOOKED_AT] for part in _PART.split(answer) if re.search(r"\w", part)]
    while len(parts) > 1 and _LEAD.fullmatch(f"{parts[0]} "):
        del parts[0]
    about = _SOURCES if parts and _VERDICT.fullmatch(parts[0]) else _TOPIC
    return (
        bool(parts)
        and _refuses(parts[0])
        and all(_refuses(part) or part.startswith("not ") or about.match(part) for part in parts[1:])
    )


def _refuses(part: str) -> bool:
    return bool(_REFUSAL.match(part) or ((lead := _LEAD.match(part)) and _REFUSAL.match(part[lead.end() :])))
