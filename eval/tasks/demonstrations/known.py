"""What the gold of a question gives: its passages, what matters of them, and the steps that lead to the answer."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import dspy

from eval.metrics.gold import decomposition_of, normalise, statable, states
from eval.tasks.demonstrations.wording import Worded, as_sentence, worded_steps
from retrieval import Passage, Retriever, union
from retrieval.ranking.sentences import split_sentences

__all__ = ["Call", "Known", "bare_title", "gold_passages", "reasoning_of", "told_by"]

Call = dict[str, Any]
"""What a predictor is shown and what it should reply, by field."""

_BEGINNING = 2  # sentences
_SHORTEST = 4  # letters of a word that says what a fact is about
_MANY = 4  # words of the question in one more sentence


@dataclass(frozen=True, slots=True)
class Known:
    """What the gold of a question gives."""

    example: dspy.Example
    gold: list[Passage]
    context: list[Passage]
    """The gold passages among others."""
    facts: list[Passage]
    """What matters of each gold passage: one or two of its sentences."""
    steps: list[Worded]
    reasoning: Call
    retriever: Retriever
    k: int

    @classmethod
    def of(cls, example: dspy.Example, gold: list[Passage], retriever: Retriever, k: int) -> "Known":
        steps = _steps(example)
        facts = [_fact(passage, example, gold, steps) for passage in gold]
        context = _shuffled(union(gold, retriever(example.question, k))[:k], example.question)
        reasoning = reasoning_of(example, told_by(example) or [fact.text for fact in facts])
        return cls(example, gold, context, facts, steps, reasoning, retriever, k)

    @property
    def text(self) -> str:
        """What a text from memory should say: how each gold passage begins, and where it states the answer."""
        golds = statable(self.example)
        sentences = [split_sentences(passage.text) for passage in self.gold]
        return " ".join(s for parts in sentences for n, s in enumerate(parts) if n < _BEGINNING or states(s, golds))

    @property
    def steps_lead_there(self) -> bool:
        """Whether the steps are all that the answer takes: where they are made of facts, whether no fact is left."""
        return len(self.steps) >= len(self.example.get("facts") or ())

    @property
    def statements(self) -> list[Call]:
        """The facts, in the order of the passages that they cite."""
        return [
            {"statement": fact.text, "passages": [n]}
            for n, passage in enumerate(self.context, 1)
            for fact in self.facts
            if fact.id == passage.id
        ]


def gold_passages(example: dspy.Example, retriever: Retriever, k: int) -> list[Passage]:
    """The passages that the answer follows from; empty if one of them is not found."""
    if facts := example.get("facts"):
        return [Passage(f"fact-{n}", fact) for n, fact in enumerate(facts, 1)]
    if titles := example.get("gold_titles"):
        found = [_titled(title, example, retriever) for title in titles]
        return [passage for passage in found if passage is not None] if None not in found else []
    return [passage for passage in retriever(example.question, k) if states(passage.text, statable(example))][:1]


def _titled(title: str, example: dspy.Example, retriever: Retriever) -> Passage | None:
    found = [passage for passage in retriever(title, 10) if passage.title == title]
    by_id = [passage for passage in found if passage.id in (example.get("gold_passages") or ())]
    return next(iter(by_id or found), None)


def _fact(passage: Passage, example: dspy.Example, gold: Sequence[Passage], steps: Sequence[Worded]) -> Passage:
    """The sentences of the passage that matter, with the title in front where a pronoun may stand for it."""
    title = bare_title(passage.title)
    told = " ".join(text for of, text in example.get("gold_sentences") or () if of == passage.title)
    # What leads on, unless the other passage tells of this one.
    others = {bare_title(other.title) for other in gold if not states(_core(other.text, example), [title])}
    leads = {*others, *(step.answer for step in steps)} - {title}
    text = told or _what_matters(passage.text, example, leads)
    return replace(passage, title="", text=_named(passage.title, text))


def _named(title: str, text: str) -> str:
    """The text, with the title in front unless the text has its words: Leland, for "Leland, North Carolina"."""
    titled, said = (set(normalise(words).split()) for words in (bare_title(title), text))
    return text if titled <= said else f"{title}: {text}"


def bare_title(title: str) -> str:
    """The title without what tells it from others: Zorx for "Zorx (planet)"."""
    return re.sub(r" \([^()]*\)$", "", title)


def _core(text: str, example: dspy.Example) -> str:
    """The sentence that states the answer, or the first."""
    sentences = split_sentences(text) or [text]
    return next((sentence for sentence in sentences if states(sentence, statable(example))), sentences[0])


def _what_matters(text: str, example: dspy.Example, leads: set[str]) -> str:
    """The core, and one more sentence that leads on or says much of what is asked for."""
    core = _core(text, example)
    new = {lead for lead in leads if not states(core, [lead])}
    known = _shared(example.question, core)

    def worth(sentence: str) -> tuple[int, int]:
        """How many leads it adds, and how many words of the question."""
        return sum(states(sentence, [lead]) for lead in new), len(_shared(example.question, sentence) - known)

    sentences = split_sentences(text)
    others = [sentence for sentence in sentences if sentence != core and worth(sentence) >= (0, _MANY)]
    more = max(others, key=worth, default=core)
    return " ".join(sorted({core, more}, key=text.find))


def _steps(example: dspy.Example) -> list[Worded]:
    """The sub-questions with their answers; empty unless the data has an answer to each.

    Where a data set has facts in place of answers, a sub-question's answer is the fact that shares more words with it
    than any other fact does, and than this fact with any other sub-question.
    """
    steps = list(decomposition_of(example))
    if all(step.answer for step in steps):
        return worded_steps(example)
    facts = list(example.get("facts") or ())
    asked = [step.question for step in steps if "#" not in step.question]
    common = {(question, fact): len(_shared(question, fact)) for question in asked for fact in facts}
    return [
        Worded(question, fact, as_sentence(fact))
        for (question, fact), count in common.items()
        if count and all(less < count for pair, less in common.items() if (pair[0] == question) != (pair[1] == fact))
    ]


def _shared(question: str, fact: str) -> set[str]:
    words, said = ({w for w in normalise(text).split() if len(w) >= _SHORTEST} for text in (question, fact))
    return words & said


def told_by(example: dspy.Example) -> list[str]:
    """The sentences that lead to the answer, as the data has them."""
    facts = list(example.get("facts") or ())
    pairs = [("", ""), *(example.get("gold_sentences") or ())]
    # A sentence behind another one of its passage needs no title.
    sentences = [text if title == before else _named(title, text) for (before, _), (title, text) in pairwise(pairs)]
    return facts or [step.statement for step in _steps(example)] or sentences


def reasoning_of(example: dspy.Example, told: Sequence[str]) -> Call:
    """The field `reasoning`; nothing where nothing leads to the answer."""
    conclusion = f"So the answer is {example.answer}"
    return {"reasoning": " ".join(map(as_sentence, [*told, conclusion]))} if told else {}


def _shuffled(passages: list[Passage], seed: str) -> list[Passage]:
    return random.Random(seed).sample(passages, len(passages))
