"""Chain-of-thought prompting with and without retrieval, in all styles."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs, wanted
from support.scripted import Reply, scripted

from programs.blendfilter import BlendFilter
from programs.cot import CoT
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.answer import (
    AnswerInThreeWords,
    AnswerInThreeWordsFromMemory,
    AnswerShort,
    AnswerShortFromMemory,
    AnswerYesNo,
    AnswerYesNoFromMemory,
)

QUESTION = "Where was the astronomer Ada Quill born?"
PASSAGES = [Passage(str(n), f"Ada Quill, note {n}.", "Quill") for n in range(8)]
CONTEXT = "\n".join(f"[{n + 1}] Quill | Ada Quill, note {n}." for n in range(5))
SAID = {"reasoning": " She is from Lund. ", "answer": " Lund "}


def run(*replies: Reply, closed: bool = False, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    retriever = None if closed else Memory(PASSAGES)
    with scripted(*replies) as script, measured() as cost:
        seen = CoT(retriever, **settings)(question=QUESTION)
    return seen, cost, script.prompts


def test_with_retrieval() -> None:
    seen, cost, prompts = run(Reply(AnswerShort, SAID))
    assert inputs(prompts[0][1]) == {"context": CONTEXT, "question": QUESTION}
    assert wanted(prompts[0][1]) == ["reasoning", "answer"]
    assert (seen.answer, seen.reasoning, seen.queries) == ("Lund", "She is from Lund.", [QUESTION])
    assert seen.passages == seen.evidence == PASSAGES[:5]
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (1, 1, 0)


def test_closed_book_the_prompt_knows_of_no_passages() -> None:
    seen, cost, prompts = run(Reply(AnswerShortFromMemory, SAID), closed=True)
    assert inputs(prompts[0][1]) == {"question": QUESTION}
    assert wanted(prompts[0][1]) == ["reasoning", "answer"]
    assert not any("passage" in message for message in prompts[0])
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [],
        "passages": [],
        "evidence": [],
        "reasoning": "She is from Lund.",
    }
    assert (cost.lm_calls, cost.searches) == (1, 0)


@pytest.mark.parametrize(("said", "answer"), [("yes", "yes"), ("no", "no")])
@pytest.mark.parametrize(("closed", "signature"), [(False, AnswerYesNo), (True, AnswerYesNoFromMemory)])
def test_yes_no_style(closed: bool, signature: type[dspy.Signature], said: str, answer: str) -> None:
    seen, cost, _ = run(Reply(signature, {"reasoning": "So.", "answer": said}), closed=closed, style="yesno")
    assert (seen.answer, seen.reasoning) == (answer, "So.")
    assert cost.lm_calls == 1


def test_it_is_blendfilters_answering_call() -> None:
    settings = {"external": False, "internal": False, "filter": "off"}
    with scripted(Reply(AnswerShort, SAID)) as script:
        BlendFilter(Memory(PASSAGES), **settings)(question=QUESTION)
    assert run(Reply(AnswerShort, SAID))[2] == script.prompts


@pytest.mark.parametrize(("closed", "signature"), [(True, AnswerInThreeWordsFromMemory), (False, AnswerInThreeWords)])
def test_the_limit_of_qpaugs_table(closed: bool, signature: type[dspy.Signature]) -> None:
    reply = Reply(signature, {"reasoning": "So.", "answer": "Lund"})
    assert run(reply, closed=closed, style="three-words")[0].answer == "Lund"
