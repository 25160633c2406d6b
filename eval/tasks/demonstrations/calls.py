"""Makes labelled calls for the predictors of a program, from what a data set says of its questions."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dspy

from eval.metrics.squad import normalise
from eval.metrics.stating import statable, states
from eval.tasks.demonstrations.wording import Worded, as_sentence, worded_steps
from eval.tasks.steps import decomposition_of
from programs.steps.trajectory import turn
from retrieval import Passage, Retriever, number, union
from retrieval.ranking.sentences import split_sentences
from signatures.select import set_aside

__all__ = ["Call", "labelled_calls"]

Call = dict[str, Any]
"""What a predictor is shown and what it should reply, by field."""

_SEARCH = {"action": "search", "answer": ""}
_BEGINNING = 2  # sentences
_SHORTEST = 4  # letters of a word that says what a fact is about
_MANY = 4  # words of the question in one more sentence


def labelled_calls(example: dspy.Example, retriever: Retriever | None, *, k: int = 5) -> list[Call]:
    """The calls that predictors should make for this question, as far as the gold tells: the fields of one call each.

    The first call holds the example's own fields, `reasoning` that ends with the answer, and, for predictors that read
    or write passages,

    - `context`: k numbered passages, shuffled: the gold ones, and others that the question finds
    - `statements`: what matters of each gold passage with its number: the sentence that states the answer, else the
      first, and the one that leads to another gold passage or says most of what is asked for
    - `passage`, `background`, `document`: the gold passages in short, which is what a text from memory should say

    The other calls are selections, answers from what an LM wrote, answers from facts, what is missing without one of
    them and a query for it, candidates in single documents, the next sentence of a text, and the turns of loops that
    ask or search step by step.

    `reasoning` comes from the data: the steps (`decomposition`, `evidences`), else the `facts`, else the
    `gold_sentences`; where it has none of them, from the statements. Where nothing gives it, the call has none.

    The gold passages are the `facts` where the data has them; else those of the `gold_titles`, which are searched for;
    without either, the first passage that the question finds and that states the answer. Where a gold passage is not
    found, the only call is the first one, without what takes passages.
    """
    own = {name: value for name, value in example.items() if name != "facts"}
    gold = [] if retriever is None else _gold_passages(example, retriever, k)
    if retriever is None or not gold or len(gold) > k:
        return [own | _reasoning(example, _told(example))]
    known = _Known.of(example, gold, retriever, k)
    asked = {"question": example.question}
    shown = {"context": number(known.context), **asked}
    first = {
        **own,
        **shown,
        **known.reasoning,
        "statements": known.statements,
        "passage": known.text,
        "background": known.text,
        "document": known.text,
    }
    return [
        first,
        {**shown, "statements": known.statements},
        *_selections(known, shown),
        {"questions": example.question, "knowledge": known.text},
        {"knowledge": number([Passage("lm:knowledge", known.text)]), **asked, "answer": example.answer},
        {"knowledge": known.text, **shown, "answer": example.answer},
        {"draft": "", **shown, "document": known.text},
        *_from_facts(known),
        *_sentence_by_sentence(known, shown),
        *_thinking(known, shown),
        *(
            {**asked, "document": number([passage]), "candidate": example.answer}
            for passage in gold
            if states(passage.text, statable(example))
        ),
        *_searching(known),
        *_asking(known),
    ]


@dataclass(frozen=True, slots=True)
class _Known:
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
    def of(cls, example: dspy.Example, gold: list[Passage], retriever: Retriever, k: int) -> "_Known":
        steps = _steps(example)
        facts = [_fact(passage, example, gold, steps) for passage in gold]
        context = _shuffled(union(gold, retriever(example.question, k))[:k], example.question)
        reasoning = _reasoning(example, _told(example) or [fact.text for fact in facts])
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


def _selections(known: _Known, shown: Call) -> list[Call]:
    """The selection of the gold passages, without a topic to set aside and with one, as where none was named."""
    relevant = [one["passages"][0] for one in known.statements]
    judged = " ".join(f"Passage {one['passages'][0]} is relevant: {one['statement']}" for one in known.statements)
    others = " The others state nothing that the answer depends on." if len(relevant) < len(known.context) else ""
    selection = {**shown, "reasoning": judged + others, "relevant": relevant}
    return [selection, {**selection, "topic": set_aside("")}]


def _from_facts(known: _Known) -> list[Call]:
    """The answer from all facts; without the passage that states it: what is missing, and how to ask for it."""
    example, golds = known.example, statable(known.example)
    asked = {"question": example.question}
    if golds and not states(number(known.facts), golds):
        return []
    explanation = " ".join(fact.text for fact in known.facts)
    enough = {**asked, "facts": number(known.facts), "answer": example.answer, "explanation": explanation}
    calls: list[Call] = [{**enough, "missing": ""}]
    wanted = golds or [step.answer for step in known.steps]
    lacking = next((p for p in reversed(known.gold) if states(p.text, wanted)), known.gold[-1])
    left = [fact for fact in known.facts if fact.id != lacking.id]
    open_steps = [step for step in known.steps if not states(number(left), [step.answer])]
    query = open_steps[0].question if open_steps else lacking.title
    told = f"{example.question} {number(left)}"
    if not query or states(number(left), golds) or not (open_steps or states(told, [_bare(lacking.title)])):
        return calls
    missing = query if open_steps else f"A fact about {lacking.title} is missing."
    asked |= {"facts": number(left), "missing": missing}
    return [
        *calls,
        {**asked, "answer": "unanswerable", "explanation": f"The facts do not suffice: {missing}"},
        {**asked, "history": example.question, "queries": [query]},
    ]


def _sentence_by_sentence(known: _Known, shown: Call) -> list[Call]:
    """The sentences of a text that answers the question, one call each, and the call that ends it as the second."""
    said = [one["statement"] for one in known.statements]
    calls: list[Call] = [
        {**shown, "history": "\n".join(said[:n]), "rejected_history": "", "statements": known.statements[n : n + 1]}
        for n in range(len(said) + 1)
    ]
    return [calls[0], calls[-1], *calls[1:-1]]


def _thinking(known: _Known, shown: Call) -> list[Call]:
    """The sentences of a chain of thought, one call each; the second call is the one with the answer."""
    told = _told(known.example)
    if not told or "?" in " ".join(told):  # a question with its answer behind it is not one sentence
        golds = statable(known.example)
        told = sorted(
            (fact.text for fact in known.facts), key=lambda text: states(text, golds)
        )  # the answer comes last
    said = split_sentences(" ".join(map(as_sentence, told)))
    said.append(f"So the answer is {known.example.answer}.")
    calls: list[Call] = [{**shown, "history": "\n".join(said[:n]), "sentence": said[n]} for n in range(len(said))]
    return [calls[0], calls[-1], *calls[1:-1]]


def _searching(known: _Known) -> list[Call]:
    """The turns of a loop that searches for each step, or for each gold passage by its title where steps are unknown.

    The second call is the one that ends the loop, so that two demonstrations show an end.
    """
    example = known.example
    if not known.steps_lead_there:
        return []
    steps = [(step.question, step.statement, _found(known, step)) for step in known.steps]
    searches = steps or _searches_by_title(known)
    calls: list[Call] = []
    history: list[str] = []
    learned = ""
    for n, (query, fact, found) in enumerate(searches, 1):
        if not found:
            return []
        thought = f"{learned} I have to look up: {query}".strip()
        calls.append(
            {"question": example.question, "steps": "\n".join(history), "thought": thought} | _SEARCH | {"query": query}
        )
        history += turn(n, thought, query, found)
        learned = fact
    end = {"question": example.question, "steps": "\n".join(history), "thought": known.reasoning["reasoning"]}
    return [*calls[:1], end | {"action": "finish", "query": "", "answer": example.answer}, *calls[1:]] if calls else []


def _searches_by_title(known: _Known) -> list[tuple[str, str, list[Passage]]]:
    """A search for each gold passage, what it tells, and what is found; none unless all can be named when their turn
    comes: a title has to stand in the question or in what was found before."""
    golds = statable(known.example)
    pairs = list(zip(known.gold, known.facts, strict=True))
    left = sorted(pairs, key=lambda pair: states(pair[0].text, golds))  # what states the answer comes last
    seen = known.example.question
    searches: list[tuple[str, str, list[Passage]]] = []
    while left:
        named = next((pair for pair in left if pair[0].title and states(seen, [_bare(pair[0].title)])), None)
        if named is None:
            return []
        left.remove(named)
        passage, fact = named
        found = _with(passage, known.retriever(passage.title, known.k), known.k)
        searches.append((passage.title, fact.text, found))
        seen += f" {number(found)}"
    return searches


def _asking(known: _Known) -> list[Call]:
    """The turns of a loop that asks a follow-up question for each step; the second call is the one that ends it."""
    calls: list[Call] = []
    evidence: list[Passage] = []
    asked = {"question": known.example.question}
    for n, step in enumerate(known.steps if known.steps_lead_there else (), 1):
        found = _found(known, step)
        if not found:
            return []
        calls.append({**asked, "context": number(evidence), "needed": True, "follow_up": step.question})
        evidence = [*union(evidence, found), Passage(f"lm:answer-{n}", step.answer, step.question)]
    end = {**asked, "context": number(evidence), "needed": False, "follow_up": ""}
    return [calls[0], end, *calls[1:]] if calls else []


def _with(passage: Passage, found: list[Passage], k: int) -> list[Passage]:
    return found if passage in found else [passage, *found][:k]


def _found(known: _Known, step: Worded) -> list[Passage]:
    """Passages that the step's question finds, with a gold one that states its answer; empty if none of them does."""
    stating = [passage for passage in known.gold if states(passage.text, [step.answer])]
    found: list[Passage] = known.retriever(step.question, known.k)
    if any(states(passage.text, [step.answer]) for passage in found):
        return found
    return union(stating, found)[: known.k] if stating else []


def _gold_passages(example: dspy.Example, retriever: Retriever, k: int) -> list[Passage]:
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
    title = _bare(passage.title)
    told = " ".join(text for of, text in example.get("gold_sentences") or () if of == passage.title)
    # What leads on, unless the other passage tells of this one.
    others = {_bare(other.title) for other in gold if not states(_core(other.text, example), [title])}
    leads = {*others, *(step.answer for step in steps)} - {title}
    text = told or _what_matters(passage.text, example, leads)
    named = not title or states(text, [title])
    return replace(passage, title="", text=text if named else f"{passage.title}: {text}")


def _bare(title: str) -> str:
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


def _told(example: dspy.Example) -> list[str]:
    """The sentences that lead to the answer, as the data has them."""
    facts = list(example.get("facts") or ())
    sentences = [f"{title}: {text}" for title, text in example.get("gold_sentences") or ()]
    return facts or [step.statement for step in _steps(example)] or sentences


def _reasoning(example: dspy.Example, told: Sequence[str]) -> Call:
    """The field `reasoning`; nothing where nothing leads to the answer."""
    conclusion = f"So the answer is {example.answer}"
    return {"reasoning": " ".join(map(as_sentence, [*told, conclusion]))} if told else {}


def _shuffled(passages: list[Passage], seed: str) -> list[Passage]:
    return random.Random(seed).sample(passages, len(passages))
