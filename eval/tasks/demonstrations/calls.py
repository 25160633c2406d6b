"""Makes labelled calls for the predictors of a program, from what a data set says of its questions."""

import dspy

from eval.metrics.gold import statable, states
from eval.tasks.demonstrations.known import Call, Known, bare_title, gold_passages, reasoning_of, told_by
from eval.tasks.demonstrations.loops import asking, judging, planning, reasoning_on, searching, taking_notes, thinking
from retrieval import Passage, Retriever, number
from signatures.select import set_aside

__all__ = ["Call", "labelled_calls"]


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
    gold = [] if retriever is None else gold_passages(example, retriever, k)
    if retriever is None or not gold or len(gold) > k:
        return [own | reasoning_of(example, told_by(example))]
    known = Known.of(example, gold, retriever, k)
    asked = {"question": example.question}
    shown = {"context": number(known.context), **asked}
    first = {
        **own,
        **shown,
        **known.reasoning,
        "statements": known.statements,
        **dict.fromkeys(("passage", "background", "document"), known.text),
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
        *thinking(known, shown),
        *(
            {**asked, "document": number([passage]), "candidate": example.answer}
            for passage in gold
            if states(passage.text, statable(example))
        ),
        *([] if "strategy" in example else [{**asked, "strategy": "multiple" if len(gold) > 1 else "single"}]),
        *searching(known),
        *reasoning_on(known),
        *taking_notes(known),
        *planning(known),
        *judging(known),
        *asking(known),
    ]


def _selections(known: Known, shown: Call) -> list[Call]:
    """The selection of the gold passages, without a topic to set aside and with one, as where none was named."""
    relevant = [one["passages"][0] for one in known.statements]
    judged = " ".join(f"Passage {one['passages'][0]} is relevant: {one['statement']}" for one in known.statements)
    others = " The others state nothing that the answer depends on." if len(relevant) < len(known.context) else ""
    selection = {**shown, "reasoning": judged + others, "relevant": relevant}
    return [selection, {**selection, "topic": set_aside("")}]


def _from_facts(known: Known) -> list[Call]:
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
    if not query or states(number(left), golds) or not (open_steps or states(told, [bare_title(lacking.title)])):
        return calls
    missing = query if open_steps else f"A fact about {lacking.title} is missing."
    asked |= {"facts": number(left), "missing": missing}
    return [
        *calls,
        {**asked, "answer": "unanswerable", "explanation": f"The facts do not suffice: {missing}"},
        {**asked, "history": example.question, "queries": [query]},
    ]


def _sentence_by_sentence(known: Known, shown: Call) -> list[Call]:
    """The sentences of a text that answers the question, one call each, and the call that ends it as the second."""
    said = [one["statement"] for one in known.statements]
    calls: list[Call] = [
        {**shown, "history": "\n".join(said[:n]), "rejected_history": "", "statements": known.statements[n : n + 1]}
        for n in range(len(said) + 1)
    ]
    return [calls[0], calls[-1], *calls[1:-1]]
