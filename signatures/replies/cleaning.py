"""A reply's text without its wrapping, and the JSON in it."""

import json
import re
from typing import Any

import json_repair

from signatures.replies.words import NOTHING

__all__ = [
    "LONGEST",
    "boxed",
    "breaks_off",
    "holds_nothing",
    "json_in",
    "repaired",
    "says_nothing",
    "tidy",
    "without_closing",
    "without_explanation",
    "without_fence",
    "without_thinking",
]

LONGEST = 10_000  # characters of a field; what goes beyond is cut off

_DECODER = json.JSONDecoder()
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`")
_NOTHING = re.compile(rf"\W*(?:{NOTHING})\W*", re.IGNORECASE)
_FEW = 20  # characters
_THINK = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|return)\|>|<end_of_turn>|</s>\s*\Z"
)
_BOXED = "\\boxed{"
_IN_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf)\{([^{}]*)\}")
_EXPLANATION = re.compile(
    r"\n[\W_]{0,9}(?:explanation|reasoning|rationale|justification|note|confidence|evidence|sources?|citations?|references?)"
    r"[*_]{0,3}\s?:"
    r"|(?<=[.;])\s\**(?:Explanation|Reasoning|Rationale|Justification)\**:",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\W{0,9}(?:note:|please note|i hope|hope (?:this|that|it)|let me know|feel free|if you (?:need|have|want|would)"
    r"|(?:these|the above|all of these|each of these|this list of)\s(?:\w+\s){0,3}?"
    r"(?:queries|questions|searches|keywords|statements|facts|triples|passages|items|numbers)\b)",
    re.IGNORECASE,
)
_MOST_LOOKS = 50_000  # at a text, of which each is a step of json_repair
_COPIED = 50  # characters that can be copied in the time of a look
_UNCLOSED = 8  # brackets at the end of a reply that was cut off; with more of them it is no JSON, and repair takes long


def tidy(text: str) -> str:
    """The text cut to 10,000 characters, without thoughts, and without a code fence, bold type and white space around
    it."""
    text = without_thinking(text)
    return _EMPHASIS.sub("", without_fence(text[:LONGEST], anywhere=True)).strip()


def without_fence(text: str, anywhere: bool = False) -> str:
    """What stands in the code fence around the text, or in the first one anywhere in it; without one, the text."""
    if "```" not in text:
        return text
    fenced = _FENCE.search(text) if anywhere else _FENCE.match(text.strip())
    return fenced[1] if fenced and (anywhere or not text.strip()[fenced.end() :]) else text


def without_thinking(text: str) -> str:
    """The text without what a model thinks between <think> and </think>, and without what is behind its turn's end.

    Thoughts that break off reach to the end of the text; those without a beginning begin with it.
    """
    text = _END_OF_TURN.split(text, maxsplit=1)[0]
    before, *thoughts = [_THOUGHT.split(part) for part in _THINK.split(text)]
    return before[-1] + "".join(behind[-1] for _, *behind in thoughts if behind)


def breaks_off(text: str) -> bool:
    """Whether the text ends in the middle of thoughts."""
    return "<think" in text and text.rfind("<think") > text.rfind("</think")


def boxed(text: str) -> str:
    r"""What stands in the last \boxed{…}, or in a \text{…} that is all; without one, the text."""
    if all_of_it := _IN_LATEX.fullmatch(text.strip(" $\n")):
        return all_of_it[1]
    _, box, rest = text.rpartition(_BOXED)
    depth = 1
    for brace in re.finditer(r"[{}]", rest) if box else ():
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return _IN_LATEX.sub(r"\1", rest[: brace.start()])
    return text


def without_explanation(text: str) -> str:
    """The text without an explanation, a note or sources that follow it and are called so."""
    found = _EXPLANATION.search(text, 1)
    return text[: found.start()] if found and text[: found.start()].strip() else text


def without_closing(text: str) -> str:
    """The text without last lines that speak about it, as "I hope this helps!"."""
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or _CLOSING.match(lines[-1])):
        del lines[-1]
    return "\n".join(lines)


def says_nothing(text: str) -> bool:
    """Whether the text is blank, is a few brackets or dashes, or says in a word that there is nothing."""
    return not text.strip() or (len(text) < _FEW and not re.search(r"\w", text)) or bool(_NOTHING.fullmatch(text))


def holds_nothing(value: Any) -> bool:
    """Whether a list or an object, or JSON that is such, is empty all through, as [[]] and {"triples": []}.

    JSON that was cut off says nothing for sure.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return holds_nothing(json.loads(value))
        except ValueError:
            return says_nothing(value)
    if isinstance(value, dict | list | tuple):
        return all(map(holds_nothing, value.values() if isinstance(value, dict) else value))
    return value is None or (isinstance(value, str) and says_nothing(value))


def json_in(text: str, openings: str = "[{") -> list[Any]:
    """The arrays and objects in the text, in order; what comes last repaired if it was cut off or is not quite JSON.

    Args:
        text: Text that has none gives an empty list.
        openings: What they begin with.
    """
    found: list[Any] = []
    opening = re.compile(f"[{re.escape(openings)}]")
    end = 0
    while start := opening.search(text, end):
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            break
        found.append(value)
    else:
        return found
    try:
        value = repaired(text[start.start() :][:LONGEST])
    except (ValueError, RecursionError):
        return found
    return [*found, value] if isinstance(value, list | dict) and value else found


def repaired(text: str) -> Any:
    """What json_repair makes of a text of at most 10,000 characters.

    Raises:
        ValueError: it is longer, brackets open and open in it, as in no reply that was cut off, or repairing it takes
            too long.
    """
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST:,} characters")
    opened, most = 0, 0
    for bracket in re.findall(r"[\[\]{}]", text):
        opened += 1 if bracket in "[{" else -1
        most = max(most, opened)
    if most > _UNCLOSED:
        raise ValueError("brackets without end")
    try:
        return json.loads(json.dumps(json_repair.loads(_Metered(text, [0]))))  # its texts are plain again by that
    except _TooMuch:
        raise ValueError("not JSON that can be repaired") from None


class _TooMuch(Exception):
    """A text was looked at too often."""


class _Metered(str):
    """A text, and what is made of it, that can be looked at for so long.

    json_repair takes a look or two at each character of what an LM writes, and hundreds at each of "{1}}{1}}…".
    """

    def __new__(cls, text: str, looks: list[int]) -> "_Metered":
        made = super().__new__(cls, text)
        made._looks = looks  # type: ignore[attr-defined]
        return made

    def __getitem__(self, at: Any) -> str:
        return self._counted(super().__getitem__(at))

    def __add__(self, other: str) -> str:
        return self._counted(super().__add__(other))

    def _counted(self, text: str) -> str:
        looks: list[int] = self._looks  # type: ignore[attr-defined]
        looks[0] += 1 + len(text) // _COPIED
        if looks[0] > _MOST_LOOKS:
            raise _TooMuch
        return _Metered(text, looks) if len(text) > 1 else text
