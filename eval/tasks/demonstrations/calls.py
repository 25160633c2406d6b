"""Makes labelled calls for the predictors of a program, from what a data set says of its questions."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import dspy

from eval.metrics.squad import normalise
from eval.metrics.stating import statable, states
from eval.tasks.steps import Step, decomposition_of, steps_of
from programs.steps.trajectory import turn
from retrieval import Passage, Retriever, number, union
from retrieval.ranking.sentences import split_sentences
from signatures.select import set_aside

__all__ = ["Call", "labelled_calls"]

Call = dict[str, Any]
"""What a predictor is shown and what it should reply, by field."""

_RELATION = re.compile(r"(.+?) >> (.+)")  # MuSiQue's short form of a step: subject >> relation
_WHAT_IS = re.compile(r"What is the (.+) of (.+)\?")
_SEARCH = {"action": "search", "answer": None}
_BEGINNING = 2  # sentences
_SHORTEST = 4  # letters of a word that says what a fact is about


def labelled_calls(example: dspy.Example, retriever: Retriever | None, *, k: int = 5) -> list[Call]:
    """The calls that predictors should make for this question, as far as the gold tells: the fields of one call each.

    The first call holds the example's own fields, `reasoning` that ends with the answer, and, for predictors that read
    or write passages,

    - `context`: k numbered passages, shuffled: the gold ones, and others that the question finds
    - `statements`: a sentence of each gold passage with its number: the one that states an answer, else the first
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
    """The sentence of each gold passage that matters."""
    steps: list[Step]
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
    if not query or states(number(left), golds):
        return calls
    missing = query if open_steps else _ended(f"What is known of {lacking.title}")
    asked |= {"facts": number(left), "missing": missing}
    return [
        *calls,
        {**asked, "answer": "unanswerable", "explanation": f"The facts do not say: {missing}"},
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


def _searching(known: _Known) -> list[Call]:
    """The turns of a loop that searches for each step, or for each gold passage by its title where steps are unknown.

    The second call is the one that ends the loop, so that two demonstrations show an end.
    """
    example = known.example
    steps = [(step.question, _statement(step), _found(known, step)) for step in known.steps]
    by_title = sorted(
        zip(known.gold, known.facts, strict=True), key=lambda pair: states(pair[0].text, statable(example))
    )  # what states the answer comes last
    if not known.steps_lead_there:
        return []
    searches = steps or [
        (passage.title, fact.text, _with(passage, known.retriever(passage.title, known.k), known.k))
        for passage, fact in by_title
        if passage.title
    ]
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
    return (
        [*calls[:1], end | {"action": "finish", "query": None, "answer": example.answer}, *calls[1:]] if calls else []
    )


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


def _found(known: _Known, step: Step) -> list[Passage]:
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


def _fact(passage: Passage, example: dspy.Example, gold: Sequence[Passage], steps: Sequence[Step]) -> Passage:
    """The sentence of the passage that matters, with the title in front where a pronoun may stand for it."""
    titles, golds = [other.title for other in gold], statable(example)
    leads = {*golds, *(answer for _, answer in steps), *titles} - {passage.title}

    def worth(sentence: str) -> tuple[bool, int]:
        """Whether it states the answer, and how much else of what leads there."""
        return states(sentence, golds), sum(states(sentence, [lead]) for lead in leads)

    best = max(split_sentences(passage.text) or [passage.text], key=worth)
    told = " ".join(text for title, text in example.get("gold_sentences") or () if title == passage.title)
    text = told or best
    named = not passage.title or states(text, [passage.title])
    return replace(passage, title="", text=text if named else f"{passage.title}: {text}")


def _steps(example: dspy.Example) -> list[Step]:
    """The sub-questions with their answers; empty unless the data has an answer to each.

    Where a data set has facts in place of answers, a sub-question's answer is the fact that shares most words with it.
    """
    steps = list(decomposition_of(example))
    if all(step.answer for step in steps):
        return [
            step._replace(question=_RELATION.sub(r"What is the \2 of \1?", step.question)) for step in steps_of(example)
        ]
    facts = list(example.get("facts") or ())
    answered: list[Step] = []
    for question in (step.question for step in steps if "#" not in step.question):
        closest = max(facts, key=lambda fact: len(_shared(question, fact)), default="")
        if _shared(question, closest):
            facts.remove(closest)
            answered.append(Step(question, closest))
    return answered


def _shared(question: str, fact: str) -> set[str]:
    words, said = ({w for w in normalise(text).split() if len(w) >= _SHORTEST} for text in (question, fact))
    return words & said


def _told(example: dspy.Example) -> list[str]:
    """The sentences that lead to the answer, as the data has them."""
    facts = list(example.get("facts") or ())
    sentences = [f"{title}: {text}" for title, text in example.get("gold_sentences") or ()]
    return facts or [_statement(step) for step in _steps(example)] or sentences


def _statement(step: Step) -> str:
    """The step as a statement where a rule makes one, else as question and answer."""
    if " " in step.answer and step.answer.endswith("."):  # a fact
        return step.answer
    known = _WHAT_IS.fullmatch(step.question)
    return _ended(f"The {known[1]} of {known[2]} is {step.answer}" if known else f"{step.question} {step.answer}")


def _reasoning(example: dspy.Example, told: Sequence[str]) -> Call:
    """The field `reasoning`; nothing where nothing leads to the answer."""
    conclusion = f"So the answer is {example.answer}"
    return {"reasoning": " ".join(map(_ended, [*told, conclusion]))} if told else {}


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _shuffled(passages: list[Passage], seed: str) -> list[Passage]:
    return random.Random(seed).sample(passages, len(passages))
