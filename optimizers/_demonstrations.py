"""Labelled calls for predictors in the middle of a program, made from what a data set says of its questions."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dspy

from optimizers._gold import statable, states
from retrieval import Passage, Retriever, number, union
from retrieval.ranking.sentences import split_sentences

__all__ = ["fitting", "labelled"]


def labelled(example: dspy.Example, retriever: Retriever | None, *, k: int = 5) -> list[dict[str, Any]]:
    """What predictors should do for this question, as far as the gold tells: the fields of one call each.

    The first are the example's own fields and, for predictors that read passages or write some,

    - `context`: k numbered passages, the gold ones among what the question itself finds, shuffled
    - `relevant`: the numbers of the gold ones in it
    - `passage`: the gold passages' text, which is what a passage from memory should say
    - `reasoning`: the sub-questions with their answers, where the data set has them

    The others are the candidate for an answer in a gold passage that states it, by itself, and calls as MIGRES makes
    them: statements from the gold passages, a sentence of each, the one that states an answer or names another gold
    passage, else the first; the answer from all these facts; what is missing where the one that the answer stands in is
    left out, and a query for it; knowledge in place of passages.

    Gold passages are found by searching for their titles. Where one cannot be found there are the example's own fields
    alone.
    """
    own = dict(example.items())
    titles = example.get("gold_titles") or []
    found = [] if retriever is None else [_titled(title, retriever) for title in titles]
    gold = [passage for passage in found if passage is not None]
    if retriever is None or not gold or len(gold) < len(titles) or len(gold) > k:
        return [own]
    context = union(gold, retriever(example.question, k))[:k]
    random.Random(example.question).shuffle(context)
    steps = _steps(example.get("decomposition"))
    text = " ".join(passage.text for passage in gold)
    facts = [_fact(passage, example, gold, steps) for passage in gold]
    asked = {"question": example.question}
    statements = [
        {"statement": fact.text, "passages": [n]} for n, p in enumerate(context, 1) for fact in facts if fact.id == p.id
    ]
    return [
        {
            **own,
            "context": number(context),
            "relevant": [n for n, passage in enumerate(context, 1) if passage in gold],
            "passage": text,
            **({"reasoning": " ".join(f"{question} {answer}." for question, answer in steps)} if steps else {}),
        },
        {"context": number(context), **asked, "statements": statements},
        {
            **asked,
            "facts": number(facts),
            "answer": example.answer,
            "explanation": " ".join(fact.text for fact in facts),
            "missing": "",
        },
        *_partly(example, gold, facts, steps),
        {"questions": example.question, "knowledge": text},
        *(
            {**asked, "document": number([passage]), "candidate": example.answer}
            for passage in gold
            if states(passage.text, statable(example))
        ),
    ]


def fitting(signature: type[dspy.Signature], labels: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[dspy.Example]]:
    """Of each question's labelled calls those that can show the signature; questions without any are left out.

    An example's own fields can where the last output field, the result, is among them, and the input fields as far as
    any example has them; other calls where they have the signature's fields, reasoning apart, and no others.
    """
    fields = set(signature.fields)
    available = {field for first, *_ in labels for field in first}
    needed = (available & set(signature.input_fields)) | {list(signature.output_fields)[-1]}
    fit = [
        [first] * (needed <= set(first)) + [call for call in calls if set(call) == fields - {"reasoning"}]
        for first, *calls in labels
    ]
    shown = [
        [dspy.Example({field: call[field] for field in signature.fields if field in call}) for call in calls]
        for calls in fit
    ]
    return [calls for calls in shown if calls]


def _partly(
    example: dspy.Example, gold: Sequence[Passage], facts: Sequence[Passage], steps: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """What is missing where the last gold passage that states the answer was not found yet, and how to ask for it."""
    golds = statable(example)
    lacking = next((p for p in reversed(gold) if states(p.text, golds)), gold[-1])
    known = [fact for fact in facts if fact.id != lacking.id]
    if not known or states(number(known), golds):
        return []
    query = steps[-1][0] if steps else lacking.title
    missing = query if steps else f"What is known of {lacking.title}."
    asked = {"question": example.question, "facts": number(known), "missing": missing}
    return [
        {**asked, "answer": "unanswerable", "explanation": f"The facts do not say: {missing}"},
        {**asked, "history": example.question, "queries": [query]},
    ]


def _titled(title: str, retriever: Retriever) -> Passage | None:
    return next((passage for passage in retriever(title, 10) if passage.title == title), None)


def _fact(
    passage: Passage, example: dspy.Example, gold: Sequence[Passage], steps: Sequence[tuple[str, str]]
) -> Passage:
    """The passage cut down to the sentence that matters, with its title in front, since pronouns stand for it."""
    others = [other.title for other in gold if other.id != passage.id]
    leads = [*statable(example), *(answer for _, answer in steps), *others]
    parts = split_sentences(passage.text) or [passage.text]
    return replace(passage, title="", text=f"{passage.title}: {next((p for p in parts if states(p, leads)), parts[0])}")


def _steps(decomposition: object) -> list[tuple[str, str]]:
    """Sub-questions and answers, with earlier answers in place of #1, #2 …; none where the data set has no answers."""
    steps = decomposition if isinstance(decomposition, list) else []
    if not all(isinstance(step, dict) and step.get("question") and step.get("answer") for step in steps):
        return []
    answers = [step["answer"] for step in steps]

    def answer(reference: re.Match[str]) -> str:
        n = int(reference[1])
        return str(answers[n - 1]) if 0 < n <= len(answers) else reference[0]

    return [(re.sub(r"#(\d+)", answer, step["question"]), step["answer"]) for step in steps]
