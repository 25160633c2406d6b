"""Makes labelled calls for every predictor of a program, from what a data set says of its questions."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dspy

from eval.tasks.steps import Step, decomposition_of, steps_of
from optimizers.gold import statable, states
from retrieval import Passage, Retriever, number, union
from retrieval.ranking.sentences import split_sentences

__all__ = ["demonstrations_for", "labelled_calls"]


def labelled_calls(example: dspy.Example, retriever: Retriever | None, *, k: int = 5) -> list[dict[str, Any]]:
    """The calls that predictors should make for this question, as far as the gold tells: the fields of one call each.

    The first call holds the example's own fields and, for predictors that read or write passages,

    - `context`: k numbered passages, shuffled: the gold ones, and others that the question finds
    - `relevant`: the numbers of the gold ones among them
    - `passage`: the text of the gold passages, which is what a passage from memory should say
    - `reasoning`: the sub-questions with their answers, if the data set has them

    The other calls are

    - statements from the gold passages, one sentence each: the one that states an answer or names another gold passage,
      else the first
    - the answer from all these facts
    - what is missing if the fact with the answer is left out, and a query for it
    - knowledge in place of passages
    - the candidate for an answer in each gold passage that states it

    Gold passages are found by searching for their titles. If one cannot be found, the only call holds the example's own
    fields.
    """
    own = dict(example.items())
    titles = example.get("gold_titles") or []
    found = [] if retriever is None else [_titled(title, retriever) for title in titles]
    gold = [passage for passage in found if passage is not None]
    if retriever is None or not gold or len(gold) < len(titles) or len(gold) > k:
        return [own]
    context = union(gold, retriever(example.question, k))[:k]
    random.Random(example.question).shuffle(context)
    steps = _steps(example)
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


def demonstrations_for(
    signature: type[dspy.Signature], labels: Sequence[Sequence[Mapping[str, Any]]]
) -> list[list[dspy.Example]]:
    """The labelled calls that fit the signature, question by question; questions without any are left out.

    The first call of a question fits if it has the last output field, which is the result, and every input field that
    any question's first call has. Another call fits if it has exactly the signature's fields, reasoning apart.
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
    example: dspy.Example, gold: Sequence[Passage], facts: Sequence[Passage], steps: Sequence[Step]
) -> list[dict[str, Any]]:
    """The calls without the last gold passage that states the answer: what is missing, and how to ask for it."""
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


def _fact(passage: Passage, example: dspy.Example, gold: Sequence[Passage], steps: Sequence[Step]) -> Passage:
    """The sentence of the passage that matters, with the title in front because pronouns stand for it."""
    others = [other.title for other in gold if other.id != passage.id]
    leads = [*statable(example), *(answer for _, answer in steps), *others]
    parts = split_sentences(passage.text) or [passage.text]
    return replace(passage, title="", text=f"{passage.title}: {next((p for p in parts if states(p, leads)), parts[0])}")


def _steps(example: dspy.Example) -> list[Step]:
    """The sub-questions with their answers; empty unless the data set has an answer to each."""
    steps = list(decomposition_of(example))
    return steps_of(example) if steps and all(step.answer for step in steps) else []
