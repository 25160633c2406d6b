"""Numbers of passages, as LMs write them.

JSON becomes lines of text. The text is cut into clauses, a clause into lists of numbers and verdicts, and each list
goes by the verdict behind it, else by the one in front of it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import boxed, holds_nothing, tidy, without_closing, without_explanation
from signatures.replies.words import ALL, BAD, EXCEPT, GOOD, NAMES, NOTHING, NUMBERS, ORDINALS, whole

__all__ = ["EVERY", "Numbers"]

EVERY = range(1, 101)
"""What "all of them" means. A reply does not say how many there are; numbers beyond are dropped where they are used."""
_LONGEST = 4_000  # characters
_SHORT = 3  # letters of a word in front of a list, as "so 2"

_N = r"(?<![\d.])\d{1,3}(?!\d|\.\d|%)"
_NAMED = (
    rf"(?:(?:{NAMES})\s{{0,2}}){{1,2}}[:\[(#]{{0,2}}\s?{_N}\s?[\])]{{0,2}}"
    rf"|\[{{1,3}}\s?(?:(?:{NAMES})\s)?{_N}\s?\]{{0,3}}|\({_N}\)"
)
_ARTICLE = r"(?:(?:the|el|la|le|il|die|o)\s)?"
_AND = rf"[\s,&+/]{{0,4}}(?:(?:\b(?:and|or|nor|plus|as well as|y|e|et|und|и)\b|[和与及と])\s{{0,2}}{_ARTICLE})?"
_MORE = rf"(?:{_AND}(?:{_NAMED}|\[?{_N}\]?)){{0,100}}+"
_FOLLOWS = (
    r"\W{0,9}$|\W{0,3}[:.,–—→=(|-]|\s*\b(?:because|since|as|for|which|is|are|was|were|says?|state|mention|give|contain"
    r"|provide|support|describe|ones?|both|all|only|and|or|maybe|perhaps|should|can|would|seem|to be|son|sind|são)\w*\b"
)
_TOKEN = re.compile(
    rf"(?P<except>\b(?:{EXCEPT})\b)|(?P<bad>{whole(BAD)}|\w+n't\b)|(?P<good>{whole(GOOD)})|(?P<named>(?>{_NAMED}){_MORE})"
    rf"|(?P<bare>\b(?>{_N}{_MORE})(?={_FOLLOWS}|\W{{0,3}}(?:{GOOD}|{BAD})))|(?P<all>{whole(ALL)})"
    r"|(?P<why>\b(?:because|since|as|due)\b|—)"
    r"|(?P<about>\b(?:mention|discuss|describe|talk|refer|cover|concern|about|seemed|looked|appeared)\w*)"
    r"|(?P<word>\w+)"
)
_CLAUSE = re.compile(
    r"[;\n]|(?<=[a-z\])])\.\s|(?<!^\d)(?<!^\d\d)[.!?]\s+(?=[a-z])|,\s(?=so\b)"
    r"|,?\s{0,3}(?<!\ball )(?<!\beverything )"
    r"\b(?P<turn>but|while|whereas|however|although|mentre|während|mientras|enquanto)\b"
    rf"|(?<!\bnot)\s(?=(?:the )?(?:others|rest|remaining)\b|(?:not )?(?:{GOOD}|{BAD})(?: \w+)?\s?:)"
)
_ASIDE = re.compile(r"\(([^()]{0,300})\)")

# Spellings, each with what it stands for.
_SIGNS: dict[int, str] = {
    **dict.fromkeys(map(ord, "‐‑‒−－"), "-"), **{ord("①") + n: f" {n + 1} " for n in range(20)},
    **dict.fromkeys(map(ord, "✅✔✓☑"), " relevant "), **dict.fromkeys(map(ord, "❌✗✘☐☒"), " irrelevant "),
    ord("、"): ",", ord("，"): ",", ord("。"): "\n", ord("【"): "[", ord("】"): "]", ord("∅"): "none", ord("’"): "'",
}  # fmt: skip
_MANY = rf"(?:\d{{1,2}}|{'|'.join(NUMBERS)})"
_PASSAGES = (
    r"(?:passages|documents|docs|facts|texts|items|statements|claims|sources|snippets|paragraphs|sentences|ones)"
)
_THE = r"(?:(?:the|these|those|them)\s)?"
_SPELLINGS: list[tuple[re.Pattern[str], Any]] = [
    # JSON and XML as lines: "passage: 2, irrelevant" for {"passage": 2, "relevant": false}.
    (re.compile(r"\"(?:reason|expla|thought|text|why|comment|justif)\w*\"\s*:\s*\"[^\"]*\",?"), ""),
    (re.compile("不相关|无关"), " irrelevant "),
    (re.compile(r"^\W*reasons?\W{0,3}:.*", re.M), ""),
    (re.compile(rf"\"(?:ir|un|not_)\w+\"\s*:\s*true|\"(?:{GOOD})\w*\"\s*:\s*false"), "irrelevant"),
    (re.compile(r",\s*\"[^\"\d:]*\"(?=\s*[,\]])"), ""),
    (re.compile(r"\}\s*,"), "\n"),
    (re.compile(r"[{}\"]|</?\w{1,20}>"), " "),
    (re.compile(r"\b(\d+)\.0\b"), r"\1"),
    (re.compile(r"(?<=[\u3040-\u9fff])(?=\d)|(?<=\d)(?=[\u3040-\u9fff])"), " "),  # 段落是1和3
    (re.compile(r"\A(?:\W*\d{1,3}\W{0,3}[:=]\s*[01]\b){2,}\W*\Z"), lambda found: _bits(found[0])),
    (re.compile(rf"\A\W*(?:0|zero)\s(?:relevant\s|of\s)?(?:{NAMES})\b.*", re.S), "none"),
    (re.compile(r"^[ \t]*[-*][ \t]*\[x\]", re.M), " relevant "),
    (re.compile(r"^[ \t]*[-*][ \t]*\[ \]", re.M), " irrelevant "),
    (re.compile(r"第\s?(\d{1,3})\s?[段条篇个]?"), r" passage \1 "),
    (re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])"), ""),  # 1,000
    (re.compile(r"\bnos?\.\s*(?=[#\d])"), "#"),
    (re.compile(r"\b(\d{1,3})(?:st|nd|rd|th)\b"), r" passage \1"),
    (re.compile(rf"\b({'|'.join(ORDINALS)})\b(?:\s{_PASSAGES}\b)?"),
     lambda found: f" passage {ORDINALS.index(found[1]) + 1}"),
    (re.compile(rf"\b({NAMES})\s({'|'.join(NUMBERS)})\b"),
     lambda found: f"{found[1]} {NUMBERS.index(found[2]) + 1}"),
    (re.compile(rf"\bboth(?:\s(?:of\s)?{_THE})*{_PASSAGES}\b"), "1, 2"),
    (re.compile(rf"(?<!\bnot )\ball\s(?:of\s)?{_THE}({_MANY})\s(?:of\s)?{_THE}{_PASSAGES}\b"),
     lambda found: _up_to(found[1])),
    # How many they are, and not which.
    (re.compile(rf"((?:{NAMES})\s?[\[#]?\d{{1,2}}\]?)\s(?:out\s)?of\s{_THE}{_MANY}\b(?:\s{_PASSAGES})?"), r"\1"),
    (re.compile(rf"\b(?:\d{{1,2}}\s)?(?:out\s)?of\s{_THE}(?:{_MANY}\s)?{_PASSAGES}\b"), " "),
    (re.compile(rf"(?<![,;&\d-]\s)(?<!\band\s)(?<!\bor\s)\b{_MANY}[ ](?:most[ ])?(?:\w+(?:ant|ful)[ ])?{_PASSAGES}\b"),
     " "),
    (re.compile(rf"({_N})[\])]?[ \t]*(?:-|–|—|\bto\b|\bthrough\b|\.\.+)[ \t]*[\[(]?(\d{{1,3}})(?!\d|\.\d|%)"),
     lambda found: _range(found)),
    (re.compile(rf"^\W{{0,9}}\d{{1,2}}[.)]\s{{1,3}}(?=\W{{0,9}}(?:(?:{NAMES})\W*\d|\[\s*\d))", re.M), ""),  # 1. [2]
]  # fmt: skip
_NONE = re.compile(
    rf"\W{{0,9}}(?:(?:i'm |i am )?sorry,? (?:but )?|unfortunately,? )?(?:(?:answer|relevant|useful)\W{{1,9}})?"
    rf"(?:{whole(NOTHING)}"
    r"|(?:neither\b(?!.*\bnor\b)|not (?:any|a single|one)\b)(?!\W*\d)"
    r"|the list is empty|0\W*$|[^\d]*[:=]\s*\[\s*\]\W*$|(?:没有|无)相关"
    r"|(?:there (?:is|are|were|was|seems? to be|appears? to be)(?:n't| not)? )(?:no|none|any)\b"
    r"|no\b(?![.\w]*\s*[#\d]|,)|the (?:passages|facts|documents) (?:are not|do not|don't|aren't))"
)
_EXCEPTION = re.compile(rf"\b(?:{EXCEPT}|but|only|however)\b(.*{_N}.*)", re.DOTALL)
_FIRST_SENTENCE = re.compile(r"[^.;!?\n]*[.;!?\n]*")
_OF_PASSAGES = re.compile(rf"\b(?:{NAMES})\b")


class Numbers(Reply, shows=list[int]):
    """The numbers of passages, each once, in order of appearance; [] where the LM says that none is meant.

    "[1] [4]", "1 and 4", "- 1\\n- 4", "Passages 1-3.", a verdict on each passage ("1: relevant\\n2: not relevant") and
    "Keep 1, drop 2" are all read; "All of them" is `EVERY`. Text that does not say which numbers are meant is
    unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> list[int]:
        if value is None or value is False:
            return []
        if value is True:
            raise ValueError("no numbers: true")
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        text = tidy(boxed(without_explanation(without_closing(text[:_LONGEST])))).lower()
        return list(dict.fromkeys(_in_text(text)))


def _in_text(text: str) -> list[int]:
    text, is_json = text.translate(_SIGNS), text.startswith(("{", "[{"))
    if holds_nothing(text):
        return []
    of_passages = not re.search(r"\d", text) and _OF_PASSAGES.search(text)
    for pattern, meant in _SPELLINGS:
        text = pattern.sub(meant, text)
    text = re.sub(r"[^\S\n]{2,}", " ", text)
    if _NONE.match(text):
        exception = _EXCEPTION.search(text)
        return _in_text(exception[1].strip()) if exception else _in_later_sentences(text)
    clauses = list(_clauses(_ASIDE.sub(_aside, text)))
    found, dropped = _found(clauses)
    if any(clause.every for clause in clauses) and not any(clause.kept for clause in clauses):
        return [n for n in EVERY if n not in dropped]
    judged = [clause for clause in clauses if clause.dropped or (clause.kept and clause.judged)]
    if found or len(judged) > 1 or (judged and is_json):
        return found
    if of_passages and clauses[0].denied:
        return []
    raise ValueError("no numbers of passages")


def _in_later_sentences(text: str) -> list[int]:
    """What is called relevant behind "None of them names him."; nothing where that is not clear."""
    try:
        clauses = list(_clauses(_ASIDE.sub(_aside, _FIRST_SENTENCE.sub("", text, count=1))))
    except ValueError:  # "All of them are irrelevant."
        return []
    return _found([clause for clause in clauses if clause.judged])[0]


def _found(clauses: "list[_Clause]") -> tuple[list[int], set[int]]:
    """The numbers that are meant, and those that are not; a number that is both is not meant."""
    dropped = {n for clause in clauses for n in clause.dropped}
    return [n for clause in clauses for n in clause.kept if n not in dropped], dropped


class _Clause(NamedTuple):
    """What a clause says: numbers that are meant and that are not, and whether it says so of all."""

    kept: list[int]
    dropped: list[int]
    judged: bool
    denied: bool
    every: bool
    about: bool


def _clauses(text: str) -> Iterator[_Clause]:
    good, last = True, _Clause([], [], False, False, False, False)
    for line in text.splitlines():
        start, turned = 0, False
        for cut in (*_CLAUSE.finditer(line), None):
            clause = line[start : cut.start() if cut else len(line)]
            read = _clause(clause, good)
            if turned and read.denied and last.about and not (read.kept or read.dropped):
                yield _Clause([], last.kept, True, True, False, False)  # "2 is about the film, but it is not about …"
            yield read
            if read.judged and not (read.kept or read.dropped) and clause.rstrip(" *").endswith(":"):
                good = not read.denied  # a heading of lines
            last, start, turned = read, cut.end() if cut else 0, bool(cut and (cut["turn"] or "?" in cut[0]))
            last = last._replace(about=last.about or bool(cut and "?" in cut[0]))  # "[1]? Not really."


def _clause(text: str, good: bool) -> _Clause:
    tokens = [(found.lastgroup or "", found[0]) for found in _TOKEN.finditer(text)]
    kinds = [kind for kind, _ in tokens]
    why = kinds.index("why") if "why" in kinds else len(kinds)
    bare_before = "bare" in kinds[:why]
    named = "named" in kinds[:why] or ("named" in kinds and not bare_before)
    lists: list[tuple[int, list[int]]] = []
    verdicts: list[tuple[int, bool]] = []
    for n, (kind, said) in enumerate(tokens):
        alone = not named or all(len(word) < _SHORT for _, word in tokens[:n]) or kinds[n - 1] in ("good", "bad")
        if (kind == "named" and not (n > why and bare_before)) or (kind == "bare" and n < why and alone):
            lists.append((n, [int(number) for number in re.findall(_N, said)]))
        elif kind == "good" and verdicts and not verdicts[-1][1] and not any(verdicts[-1][0] < at for at, _ in lists):
            verdicts[-1] = n, False  # "not relevant"
        elif kind in ("good", "bad", "except"):
            verdicts.append((n, kind == "good"))
    kept: list[int] = []
    dropped: list[int] = []
    neither = text.lstrip().startswith("neither")
    in_front = bool(lists and verdicts and verdicts[0][0] < lists[0][0] and verdicts[-1][0] < lists[-1][0])
    for at, numbers in lists:
        behind = [is_good for n, is_good in verdicts if n > at and not in_front]  # "keep 1, drop 2"
        before = [is_good for n, is_good in verdicts if n < at]
        excepted = at and kinds[at - 1] == "except"
        meant = False if neither or excepted else behind[0] if behind else before[-1] if before else good
        (kept if meant else dropped).extend(numbers)
    denied = any(kind == "bad" for kind in kinds)
    if "all" in kinds and denied and not lists:
        raise ValueError("says that not all passages are meant, but not which ones are")
    every = "all" in kinds and not denied and not kept
    return _Clause(kept, dropped, bool(verdicts), denied, every, "about" in kinds)


def _aside(found: re.Match[str]) -> str:
    """What stands in parentheses: a clause of its own where it doubts, numbers, or nothing that is meant."""
    text = found[1]
    if re.search(rf"{whole(BAD)}|n't", text):
        return f"; {text};"
    plain = not re.search(r"[^\W\d_]{2}", text) or re.search(
        rf"(?:{_NAMED})(?!.*\b(?:is|are|was|were|do|does)\b)", text
    )
    return found[0] if plain else " "


def _bits(text: str) -> str:
    """A line for each number with a 0 or a 1 as its verdict."""
    return re.sub(r"(\d{1,3})\W{0,3}[:=]\s*([01])\b\W*", lambda n: f"{n[1]}: {('ir' * (n[2] == '0'))}relevant\n", text)


def _up_to(many: str) -> str:
    count = NUMBERS.index(many) + 1 if many in NUMBERS else int(many)
    return ", ".join(map(str, range(1, count + 1)))


def _range(found: re.Match[str]) -> str:
    """The numbers of a range, written out."""
    first, last = int(found[1]), int(found[2])
    return ", ".join(map(str, range(first, last + 1))) if first < last <= first + len(EVERY) else found[0]
