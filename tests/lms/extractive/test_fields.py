import re
from typing import Literal

import dspy
import pydantic
import pytest
from support.lighthouse import ADAPTERS, CONTEXT, OTHER

from signatures.act import ReasonOn
from signatures.answer import AnswerShort
from signatures.extract import CondensePassages, TakeNotes


class Source(pydantic.BaseModel):
    number: int = pydantic.Field(ge=1)
    useful: bool


class Statement(pydantic.BaseModel):
    text: str = pydantic.Field(description="one sentence")
    sources: list[Source] = pydantic.Field(min_length=1)
    certainty: float | None = None


def test_each_field_gets_what_its_name_asks_for(lm: dspy.LM) -> None:
    question = "Where was the director of The Lighthouse Keeper born?"
    reply = dspy.Predict(
        "context, question -> reasoning, answer, relevant: list[int], topic, queries: list[str], sufficient: bool,"
        " p_unknown: float, verdict: Literal['supported', 'not supported'], missing: str | None"
    )(context=CONTEXT, question=question)
    assert reply.answer == "Whitby"
    assert reply.reasoning.endswith("So the answer is Whitby.")
    assert "directed by Ada Quill" in reply.reasoning
    assert reply.relevant == [2, 4]
    assert reply.topic == "The Lighthouse Keeper"
    assert reply.queries == [f"Ada Quill {question}", question]
    assert reply.sufficient is True
    assert reply.p_unknown < 0.3
    assert reply.verdict == "supported"
    assert reply.missing == "nothing"
    assert len(lm.history) == 1


def test_passages_may_be_refused_only_where_the_prompt_says_so(lm: dspy.LM) -> None:
    class Select(dspy.Signature):
        """Select the relevant passages."""

        context: str = dspy.InputField()
        question: str = dspy.InputField()
        relevant: list[int] = dspy.OutputField()

    asked = {"context": CONTEXT, "question": "Which enzyme unwinds a helix during replication in Finland?"}
    assert dspy.Predict(Select)(**asked).relevant == [3]
    allowed = Select.with_instructions("Select the relevant passages; it can be that none is.")
    assert dspy.Predict(allowed)(**asked).relevant == []


def test_notes_are_the_best_sentences_behind_their_titles_and_can_be_read_again(lm: dspy.LM) -> None:
    question = "Where was the director of The Lighthouse Keeper born?"
    (note,) = {
        dspy.Predict(CondensePassages)(question=question, chain=chain, query=question, context=CONTEXT).information
        for chain in ("", f"Thought 1: hm\nAction 1: search for {question}\nObservation 1:\n[1] Odd | It was so.")
    }
    parts = note.split(" ¶ ")
    assert any(part.startswith("The Lighthouse Keeper | ") and "directed by Ada Quill" in part for part in parts)
    assert any(part.startswith("Ada Quill | ") and "Whitby" in part for part in parts)
    taken = dspy.Predict(TakeNotes)(question=question, notes="[1] Odd | It was so.", context=CONTEXT)
    assert taken.new_notes == parts
    assert taken.relevant == [2, 4]
    assert dspy.Predict(AnswerShort)(question=question, context=f"[1] {note}").answer == "Whitby"
    chain = f"Thought 1: hm\nAction 1: search for {question}\nObservation 1:\n"
    step = dspy.Predict(ReasonOn)(question=question, chain=f"{chain}[1] {note}", searches_left="9")
    assert (step.action, step.answer) == ("finish", "Whitby")
    step = dspy.Predict(ReasonOn)(question=question, chain=f"{chain}nothing was found", searches_left="9")
    assert (step.action, step.answer, step.thought) == ("search", "", "This does not answer the question.")
    other = "Which enzyme unwinds a helix?"
    told = dspy.Predict(CondensePassages)(question=other, chain="", query=other, context="[1] Orm | It flows on.")
    assert told.information == "No helpful information"


def test_it_writes_no_passage_that_it_would_have_to_know(lm: dspy.LM) -> None:
    question = "Who directed The Lighthouse Keeper?"
    told = dspy.Predict("question -> passage, plan")(question=question)
    assert set(re.findall(r"\w+", told.passage)) <= set(re.findall(r"\w+", question))
    assert told.plan == question
    offered = dspy.Signature("question -> passage", "Write a passage, or [NONE] where you know nothing.")
    assert dspy.Predict(offered)(question=question).passage == "[NONE]"
    candidate = dspy.Signature("document, question -> candidate", "Name the entity, or say unknown.")
    assert dspy.Predict(candidate)(document=OTHER.text, question=question).candidate == "unknown"


# XMLAdapter is not among these: it shows no types of what is nested, so that its calls end in the fallback to JSON.
@pytest.mark.parametrize("lm", ADAPTERS[:2], ids=lambda adapter: type(adapter).__name__, indirect=True)
def test_lists_of_objects_have_one_for_each_relevant_passage(lm: dspy.LM) -> None:
    class Extract(dspy.Signature):
        """Take statements from the passages."""

        context: str = dspy.InputField()
        question: str = dspy.InputField()
        statements: list[Statement] = dspy.OutputField()

    asked = {"context": CONTEXT, "question": "Where was the director of The Lighthouse Keeper born?"}
    statements = dspy.Predict(Extract)(**asked).statements
    assert [[source.number for source in s.sources] for s in statements] == [[2], [4]]
    assert "British" in statements[0].text
    assert len(lm.history) == 1


def test_a_loop_searches_until_the_question_is_covered(lm: dspy.LM) -> None:
    class Step(dspy.Signature):
        """Choose the next action."""

        question: str = dspy.InputField()
        steps: str = dspy.InputField()
        action: Literal["search", "finish"] = dspy.OutputField()
        argument: str = dspy.OutputField(desc="for search: the query; for finish: the answer alone")

    step = dspy.Predict(Step)
    question = "Who directed The Lighthouse Keeper?"
    first = step(question=question, steps="")
    assert (first.action, first.argument) == ("search", question)
    then = step(question=question, steps=f"Action 1: search for {question}\nObservation 1:\n{CONTEXT}")
    assert (then.action, then.argument) == ("finish", "Ada Quill")
