"""Finds the sentences that speak of a question, and the span in them that answers it.

There is no model and no knowledge here. It compares the words of the question and of the passages, where rare words
weigh more, and looks for the form that the question word asks for: a name, a date, a number, a noun.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Container, Iterator
from functools import cached_property
from itertools import dropwhile
from typing import NamedTuple

import Stemmer

__all__ = ["NumberedPassage", "Reader", "passages"]

_STOP_WORDS = """
    a about after all also an and any are as at be been before between both but by can could did do does during each
    either for from had has have he her him his how i if in into is it its me more most my name named of on one or
    other our same she should so some such than that the their them then there these they this those to two was we
    were what when where which while who whom whose why will with would you your
"""
_STOP = frozenset(_STOP_WORDS.split())
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)\b"
_QUESTION_WORD = r"\b(?:who(?:m|se)?|when|where|what|which|why|how (?!to\b)\w+)\b"
_SHARED = r"\b(?:both|same)\b"
_WHAT = r"(?:what|which)\b.*?"
_KINDS = (  # what is asked for, by the words that begin with the question word; the first that matches
    ("date", rf"when\b|{_WHAT} (?:year|date|decade|day|century|birthday)\b"),
    ("number", rf"how (?!did|do|does|is|are|was|were|can)\w+|{_WHAT} (?:number|population|percentage)\b"),
    ("sort", rf"{_WHAT} (?:occupation|profession|job|genre|kind|type|sort|sport|position|role|instrument)\b"),
    ("place", rf"where\b|{_WHAT} (?:city|country|state|town|village|county|place|island|location|capital)\b"),
    ("person", r"who"),
)
_COMPARATIVES = (  # which of two values a comparison wants: (of years or of other numbers, least or most, words)
    ("years", min, r"\b(?:first|older|oldest|earlier|earliest|before)\b"),
    ("years", max, r"\b(?:later|latest|last|younger|youngest|newer|newest|recent|recently|after)\b"),
    ("numbers", max, r"\b(?:more|most|larger|largest|bigger|biggest|higher|highest|longer|longest|taller|tallest)\b"),
    ("numbers", min, r"\b(?:fewer|less|least|smaller|smallest|shorter|shortest|lower|lowest)\b"),
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"\b(?:1\d|20)\d\d\b"
_DATE = re.compile(rf"\b(?:\d{{1,2}} )?{_MONTH} (?:\d{{1,2}}, )?\d{{3,4}}\b|{_YEAR}(?:s\b)?")
_CALENDAR = re.compile(rf"(?:{_MONTH}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b")
_NUMBER = re.compile(
    r"\b\d[\d,]*(?:\.\d+)?\b(?: (?:hundred|thousand|million|billion|percent|per cent)\b|%)?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty)\b"
)
_CAPITAL = r"[A-ZÀ-ÞĀ-Ž](?:\.(?=[A-Z ])|[\w’'-]*)"
_NAME = re.compile(rf"\b{_CAPITAL}(?:(?: (?:of|the|de|la|le|von|van|der|del|da|di|&)){{0,2}} (?:{_CAPITAL}|\d+\b))*")
_SORT = re.compile(  # "is a former American film director and": film director
    r"\b(?:is|was|were|are) (?:an? |the )?(?:(?:[A-Z][\w-]+|former|retired|professional|and) )*"
    r"\b([a-z][a-z-]+(?: [a-z-]+)?)(?= (?:and|from|who|which|that|in|of|for|by|at|with|based|known|born)\b|[,.;(]|$)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]? (?=[\"“(]?[A-Z0-9À-Þ])")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Inc|Ltd|Co|Gen|Col|Lt|Prof|Rev|c|ca|b|d)\.$")

# Shares and thresholds: round numbers, chosen on other questions than those of the tests; none is critical.
_TITLE_SHARE = 0.5  # how much more a title counts that lies wholly in the question
_HOP_SHARE = 0.75  # of a sentence's score, for the sentences of a passage whose title it names
_BEST = 12  # sentences from which answers are taken
_LONGEST = 2000  # characters of a sentence
_NEAR = 10  # characters at which a question word counts half for a span
_RELEVANT = 0.6  # of the best passage's score
_ENOUGH = 0.5  # coverage of the question that speaks for a yes


class NumberedPassage(NamedTuple):
    """One passage of the context, with the number that it is shown with; 0 if it has none."""

    number: int
    title: str
    text: str

    @property
    def name(self) -> str:
        """The title without the brackets at its end."""
        return re.sub(r" \([^()]*\)$", "", self.title)


class _Sentence(NamedTuple):
    text: str
    passage: NumberedPassage
    stems: frozenset[str]  # of the sentence and of its title


def passages(text: str) -> list[NumberedPassage]:
    """The passages of a context.

    They are its lines ``[1] Title | text``, as `retrieval.number` writes them; if it has none, the items of a JSON
    list; else one for each line.
    """
    found = [(int(number), line) for number, line in re.findall(r"(?m)^\[(\d{1,9})\] (.*\S.*)$", text)]
    if not found:
        try:
            items = json.loads(text) if text.startswith("[") else []
        except (ValueError, RecursionError):
            items = []
        found = list(enumerate((str(item) for item in items or text.splitlines() if str(item).strip()), 1))
    split = [(number, " ".join(line.split()).partition(" | ")) for number, line in found]
    return [
        NumberedPassage(number, title if bar else "", text if bar else title) for number, (title, bar, text) in split
    ]


class Reader:
    """Answers one question from one context; both may be empty.

    Args:
        question: The question.
        found: The passages of the context.
    """

    def __init__(self, question: str, found: list[NumberedPassage]) -> None:
        self.question = " ".join(question.split())
        self.passages = found
        self._asked = self.question.lower()
        self._stem = Stemmer.Stemmer("english").stemWords
        self._sentences = [
            _Sentence(text, p, frozenset(self._stems(f"{p.title} {text}")))
            for p in found
            for text in _sentences(p.text) or [p.title]
        ]

    @cached_property
    def kind(self) -> str:
        """The kind of answer that the question word asks for: "yesno", "choice", "date", "number", "sort", "place",
        "person" or "thing"."""
        shared = re.search(_SHARED, self._asked)
        if self.options and not shared:
            return "choice"
        words = list(re.finditer(_QUESTION_WORD, self._asked))
        if re.match(_AUXILIARY, self._asked) or (shared and not words):
            return "yesno"
        if not words:
            return "thing"
        word = words[0] if words[0].start() == 0 else words[-1]
        head = " ".join(self._asked[word.start() :].split(maxsplit=6)[:6])
        return next((kind for kind, form in _KINDS if re.match(form, head)), "thing")

    @cached_property
    def options(self) -> list[str]:
        """The two titles or names that the question joins with "or"; empty if it joins none."""
        left, _, right = re.sub(r"[\"“”]", "", self.question).rstrip("?. ").rpartition(" or ")
        left = re.sub(f"^{_AUXILIARY} ", "", left.rstrip(", "), flags=re.I)
        right = re.sub("^(?:the|an?) ", "", right)
        titles = [title for p in self.passages for title in (p.title, p.name) if title]
        first = [title for title in titles if left.lower().endswith(title.lower())]
        first += [match[0] for match in _NAME.finditer(left) if match.end() == len(left)]
        second = [title for title in titles if right.lower().startswith(title.lower())]
        second += [match[0] for match in [_NAME.match(right)] if match]
        return [max(first, key=len), max(second, key=len)] if first and second else []

    @cached_property
    def topic(self) -> str:
        """The longest title in the question, else its longest name, else its last content words."""
        titles = [p.name for p in self.passages if p.name and p.name.lower() in self._asked]
        names = [
            " ".join(dropwhile(lambda word: word.lower() in _STOP, match[0].split()))  # "Who", "The"
            for match in _NAME.finditer(self.question)
        ]
        words = [word for word in re.findall(r"\w+", self.question) if word.lower() not in _STOP]
        return max(titles, key=len, default="") or max(names, key=len, default="") or " ".join(words[-3:])

    @cached_property
    def answer(self) -> str:
        """The short answer. Without a context: the first of two named options, "yes", or "unknown"."""
        if self.kind == "choice":
            return self._choose()
        if self.kind == "yesno":
            return "yes" if self.holds else "no"
        best = sorted(self._candidates().items(), key=lambda pair: -pair[1])
        fresh = [text for text, _ in best if not set(self._stems(text) or [text]) <= self._weights.keys()]
        found = next(iter(fresh or [text for text, _ in best] or self.evidence(1)), "unknown")
        year = re.search(_YEAR, found) if self.kind == "date" and "year" in self._asked else None
        return year[0] if year else found

    @cached_property
    def holds(self) -> bool:
        """Whether the context speaks for a yes; without a context, yes.

        - Two things that may share a place or a nationality: whether the first sentences on them share a name.
        - Two other things with "both" or "same": whether the passage of each covers the rest of the question.
        - Else: whether the context covers the question.
        """
        named = [p for p in self.passages if p.name and p.name.lower() in self._asked]
        if len(named) < 2 or not re.search(_SHARED, self._asked):
            return not self.passages or self.coverage > _ENOUGH
        named.sort(key=lambda p: self._asked.index(p.name.lower()))
        pair = named[0], named[-1]
        own = set(self._stems(f"{pair[0].name} {pair[1].name}"))
        if re.search(r"\b(?:nationality|country|state|city|province|county)\b", self._asked):
            said = [set(self._stems(" ".join(_NAME.findall(" ".join(_sentences(p.text)[:1]))))) for p in pair]
            return bool((said[0] & said[1]) - own)
        rest = self._weights.keys() - own
        return all(self._weigh(rest & set(self._stems(p.text))) >= _ENOUGH * self._weigh(rest) for p in pair)

    @cached_property
    def coverage(self) -> float:
        """Share of the question's words, by weight, in the best three sentences and their titles; 0 to 1."""
        had = frozenset[str]().union(*(sentence.stems for _, sentence in self._ranked[:3]))
        return self._weigh(had) / self._weigh(self._weights) if self._weights else 0.0

    @property
    def uncovered(self) -> str:
        """The question's words that no passage has."""
        had = frozenset[str]().union(*(sentence.stems for sentence in self._sentences))
        return " ".join(m[0] for m, stem in self._words(self.question) if stem in self._weights and stem not in had)

    def evidence(self, n: int) -> list[str]:
        """The at most `n` best sentences that share a word with the question, best first."""
        return [sentence.text for score, sentence in self._ranked[:n] if score > 0]

    def relevant(self, *, may_be_none: bool) -> list[int]:
        """Numbers of the passages whose best sentence scores nearly as high as the best of all, in ascending order.

        Args:
            may_be_none: Whether to return none if even the best covers little of the question.
        """
        best: dict[int, float] = {}
        for score, sentence in self._ranked:
            best.setdefault(sentence.passage.number, score)
        top = max(best.values(), default=0.0)
        if may_be_none and self.coverage < _ENOUGH:
            return []
        return sorted(number for number, score in best.items() if number and score >= _RELEVANT * top)

    @property
    def query(self) -> str:
        """The question with the best title that is not in it put in front, for the second hop."""
        titles = [s.passage.name for _, s in self._ranked[:3] if s.passage.name.lower() not in self._asked]
        return " ".join([*titles[:1], self.question])

    @property
    def queries(self) -> list[str]:
        """At most three queries: for each of two options the question without the other; else `query`, the clauses of
        the question if it has several, and the question."""
        if self.options:
            words = {word.lower() for option in self.options for word in re.findall(r"\w+", option)} | _STOP
            rest = [word for word in re.findall(r"\w+", self.question) if word.lower() not in words]
            return [" ".join([option, *rest]) for option in self.options]
        clauses = re.split(r",? (?:that|who|which|whose|whom|where) ", self.question)
        parts = [clause for clause in clauses if len(clause.split()) > 3 and len(clauses) > 1]
        return list(dict.fromkeys([self.query, *parts[:2], self.question]))[:3]

    def _choose(self) -> str:
        """The option that wins the comparison by the first year or the largest number of its passage.

        If nothing is compared, or a value is missing: the option whose passage has more of the question's words.
        """
        if not self.passages:
            return self.options[0]
        texts = [
            max(self.passages, key=lambda p: (option.lower() in p.title.lower(), option in p.text)).text
            for option in self.options
        ]
        for what, pick, words in _COMPARATIVES:
            if not re.search(words, self._asked):
                continue
            values = []
            for text in texts:
                numbers = [float(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*(?:\.\d+)?\b", text)]
                years = [number for number in numbers if re.fullmatch(_YEAR, f"{number:.0f}")]
                values.append(years[:1] if what == "years" else sorted(set(numbers) - set(years))[-1:])
            if all(values):
                return self.options[values.index(pick(values))]
        shared = [len(self._weights.keys() & set(self._stems(text))) for text in texts]
        return self.options[shared.index(max(shared))]

    def _candidates(self) -> dict[str, float]:
        """Spans of the form that the question asks for, from the best sentences, with their scores.

        A span has the score of its sentence, and more for question words close by, for surroundings that fit, and for
        each further sentence that contains it.
        """
        found: dict[str, float] = {}
        for score, sentence in self._ranked[:_BEST]:
            words = [(match.start(), stem) for match, stem in self._words(sentence.text) if stem in self._weights]
            for at, text in self._spans(sentence):
                near = sum(self._weights[stem] / (1 + abs(at - start) / _NEAR) for start, stem in words)
                total = score + near / 2 + self._fit(text, sentence.text, at)
                found[text] = max(found[text], total) + score / 10 if text in found else total
        return found

    def _spans(self, sentence: _Sentence) -> Iterator[tuple[int, str]]:
        """Spans of the form that the question asks for, with their places in the sentence."""
        form = {"date": _DATE, "number": _NUMBER, "sort": _SORT}.get(self.kind, _NAME)
        for match in form.finditer(sentence.text):
            text = re.sub("(?:’s|'s|')$", "", match[match.lastindex or 0])
            if form is not _NAME or (self._stems(text) and not _CALENDAR.match(text)):
                yield match.start(), text
        if self.kind in ("person", "thing") and sentence.passage.name:
            yield 0, sentence.passage.name

    def _fit(self, text: str, sentence: str, at: int) -> float:
        """How well a span and its surroundings suit the kind of answer, on the scale of a sentence's score.

        A place follows a preposition. A date of birth follows a bracket and one of death a dash, as in "(1 May 1900 –
        2 June 1980)". A person has two names. A lone name before a noun describes it ("Danish film"). Words of the
        question itself tell nothing new.
        """
        before, after = sentence[max(0, at - 20) : at], re.match(r" ([a-z]+)", sentence[at + len(text) :])
        stems = set(self._stems(text))
        fit = -2 * len(stems & self._weights.keys()) / (len(stems) or 1)
        if self.kind == "date":
            born = re.search(r"\b(?:born|birth)", self._asked) and re.search(r"(?:\(|born )(?:born |on |in )?$", before)
            died = re.search(r"\b(?:die|death)", self._asked) and re.search(r"[–-] ?$", before)
            return fit + 3 * bool(born or died)
        if self.kind in ("number", "sort"):
            return fit
        describes = after and " " not in text and after[1] not in _STOP and not after[1].endswith("ed")
        placed = self.kind == "place" and re.search(r"\b(?:in|at|from|near|of|to) $", before)
        full = self.kind == "person" and re.fullmatch(r"\D+ \D+", text)
        return fit + 3 * bool(placed) + bool(full) - 2 * bool(describes)

    @cached_property
    def _weights(self) -> dict[str, float]:
        """The weights of the question's stems: the fewer passages have a stem, the higher."""
        texts: dict[NumberedPassage, set[str]] = {}
        for sentence in self._sentences:
            texts.setdefault(sentence.passage, set()).update(sentence.stems)
        known = Counter(stem for stems in texts.values() for stem in stems)
        return {s: math.log(1 + (len(texts) + 1) / (known[s] + 0.5)) for s in dict.fromkeys(self._stems(self.question))}

    @cached_property
    def _ranked(self) -> list[tuple[float, _Sentence]]:
        """Sentences with scores, best first.

        A score is the weight of the question's stems in the sentence or its title, and more if the title lies wholly in
        the question. For the second hop, a passage whose title is not in the question but in a good sentence elsewhere
        gets a share of that sentence's score.
        """
        titles = {p: set(self._stems(p.title)) for p in self.passages}
        own = []
        for sentence in self._sentences:
            title = titles[sentence.passage]
            whole = _TITLE_SHARE * self._weigh(title) if title <= self._weights.keys() else 0.0
            own.append((self._weigh(sentence.stems) + whole, sentence))
        own.sort(key=lambda pair: -pair[0])
        hops: dict[NumberedPassage, float] = {}
        for score, sentence in own[: 2 * _BEST]:
            for p, title in titles.items():
                if p.name in sentence.text and title and p != sentence.passage and not title <= self._weights.keys():
                    hops.setdefault(p, _HOP_SHARE * score)
        return sorted(((score + hops.get(s.passage, 0.0), s) for score, s in own), key=lambda pair: -pair[0])

    def _weigh(self, stems: Container[str]) -> float:
        """The total weight of the question's stems that are among these; always summed in the question's order."""
        return sum((weight for stem, weight in self._weights.items() if stem in stems), 0.0)

    def _words(self, text: str) -> Iterator[tuple[re.Match[str], str]]:
        """The words of a text with their stems."""
        matches = list(re.finditer(r"\w+", text))
        return zip(matches, self._stem([match[0].lower() for match in matches]), strict=True)

    def _stems(self, text: str) -> list[str]:
        """The stems of a text's content words."""
        stems: list[str] = self._stem([word for word in re.findall(r"\w+", text.lower()) if word not in _STOP])
        return stems


def _sentences(text: str) -> list[str]:
    """Split a text where a capital or a digit follows a full stop, a question mark or an exclamation mark.

    It does not split after initials and common abbreviations. Longer pieces are cut to a fixed length.
    """
    found: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if found and _ABBREVIATION.search(found[-1][-6:]):
            found[-1] += " " + piece
        elif piece.strip():
            found.append(piece.strip())
    return [piece[at : at + _LONGEST] for piece in found for at in range(0, len(piece), _LONGEST)]
