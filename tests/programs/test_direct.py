"""Direct prompting with and without retrieval, in all styles."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from programs.direct import Direct
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage
from signatures.answer import (
    AnswerEntity,
    AnswerInThreeWords,
    AnswerInThreeWordsFromMemory,
    AnswerShortDirectly,
    AnswerShortFromMemory,
    AnswerYesNoDirectly,
    AnswerYesNoFromMemory,
)

QUESTION = "Where was the astronomer Ada Quill born?"
PASSAGES = [Passage(str(n), f"Ada Quill, note {n}.", "Quill") for n in range(8)]
CONTEXT = "\n".join(f"[{n + 1}] Quill | Ada Quill, note {n}." for n in range(5))


def run(*replies: Reply, closed: bool = False, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    retriever = None if closed else Memory(PASSAGES)
    with scripted(*replies) as script, measured() as cost:
        seen = Direct(retriever, **settings)(question=QUESTION)
    return seen, cost, script.prompts


def test_with_retrieval() -> None:
    seen, cost, prompts = run(Reply(AnswerShortDirectly, {"answer": " Lund "}))
    assert inputs(prompts[0][1]) == {"context": CONTEXT, "question": QUESTION}
    assert "reasoning" not in prompts[0][1]
    assert (seen.answer, seen.queries) == ("Lund", [QUESTION])
    assert seen.passages == seen.evidence == PASSAGES[:5]
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (1, 1, 0)


def test_closed_book_the_prompt_knows_of_no_passages() -> None:
    seen, cost, prompts = run(Reply(AnswerShortFromMemory, {"answer": "Lund"}), closed=True)
    assert inputs(prompts[0][1]) == {"question": QUESTION}
    assert not any("passage" in message for message in prompts[0])
    assert dict(seen.items()) == {"answer": "Lund", "queries": [], "passages": [], "evidence": []}
    assert (cost.lm_calls, cost.searches) == (1, 0)


@pytest.mark.parametrize(("said", "answer"), [("yes", "yes"), ("no", "no")])
@pytest.mark.parametrize(("closed", "signature"), [(False, AnswerYesNoDirectly), (True, AnswerYesNoFromMemory)])
def test_yes_no_style(closed: bool, signature: type[dspy.Signature], said: str, answer: str) -> None:
    seen, cost, _ = run(Reply(signature, {"answer": said}), closed=closed, style="yesno")
    assert seen.answer == answer
    assert cost.lm_calls == 1


def test_nothing_found_is_answered_all_the_same() -> None:
    with scripted(Reply(AnswerShortDirectly, {"answer": "Lund"}, when="[[ ## context ## ]]\n\n")):
        seen = Direct(Memory([]))(question=QUESTION)
    assert dict(seen.items()) == {"answer": "Lund", "queries": [QUESTION], "passages": [], "evidence": []}


@pytest.mark.parametrize(
    ("style", "closed", "signature"),
    [
        ("three-words", True, AnswerInThreeWordsFromMemory),
        ("three-words", False, AnswerInThreeWords),
        ("entity", True, AnswerShortFromMemory),
        ("entity", False, AnswerEntity),
    ],
)
def test_the_prompts_of_the_papers_whose_tables_it_is_in(
    style: str, closed: bool, signature: type[dspy.Signature]
) -> None:
    assert run(Reply(signature, {"answer": "Lund"}), closed=closed, style=style)[0].answer == "Lund"
