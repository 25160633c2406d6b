"""Searches with the question, and with drafts in front of it."""

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from programs.steps.search import Search, search_for, search_with_drafts
from retrieval import Memory, Passage
from signatures.answer import AnswerShort, AnswerYesNo

QUESTION = "Where was the finder of Zorx born?"
ZORX, ADA, RAIN = (
    Passage("zorx", "Ada Quill found Zorx."),
    Passage("ada", "Born in Lund."),
    Passage("rain", "It rains."),
)
FIRST, SECOND = f"Ada found it. Oslo {QUESTION}", f"She was born there. Lund {QUESTION}"
RETRIEVER = Memory([ZORX, ADA, RAIN], {QUESTION: ["zorx", "rain"], FIRST: ["ada", "rain"], SECOND: ["rain"]})


def test_a_search_keeps_its_query_and_k_passages() -> None:
    assert search_for(RETRIEVER, QUESTION, 1) == Search(QUESTION, [ZORX])


def test_without_drafts_the_question_alone_is_searched_with_and_no_lm_is_asked() -> None:
    with scripted():
        searches = search_with_drafts(RETRIEVER, dspy.ChainOfThought(AnswerShort), QUESTION, 2, 0)
    assert searches == [Search(QUESTION, [ZORX, RAIN])]


def test_each_draft_reads_what_the_last_search_found_and_is_put_in_front_of_the_question() -> None:
    drafts = [
        Reply(AnswerShort, {"reasoning": " Ada\nfound it. ", "answer": "Oslo"}, when="Ada Quill found Zorx."),
        Reply(AnswerShort, {"reasoning": "She was born there.", "answer": "Lund"}, when="Born in Lund."),
    ]
    with scripted(*drafts) as script:
        searches = search_with_drafts(RETRIEVER, dspy.ChainOfThought(AnswerShort), QUESTION, 2, 2)
    assert [inputs(user) for _, user in script.prompts] == [
        {"context": "[1] Ada Quill found Zorx.\n[2] It rains.", "question": QUESTION},
        {"context": "[1] Born in Lund.\n[2] It rains.", "question": QUESTION},
    ]
    assert searches == [Search(QUESTION, [ZORX, RAIN]), Search(FIRST, [ADA, RAIN]), Search(SECOND, [RAIN])]


@pytest.mark.parametrize(
    ("signature", "fields", "query"),
    [
        (AnswerYesNo, {"reasoning": "So.", "answer": "yes"}, f"So. yes {QUESTION}"),
        (AnswerShort, {"reasoning": "", "answer": " "}, QUESTION),
        # As demonstrations conclude: the answer is in the query once. That the reasoning names it does not conclude it.
        (AnswerShort, {"reasoning": "So the answer is Lund.", "answer": "Lund"}, f"So the answer is Lund. {QUESTION}"),
        (AnswerYesNo, {"reasoning": "So the answer is No.", "answer": "no"}, f"So the answer is No. {QUESTION}"),
        (
            AnswerShort,
            {"reasoning": "She was born in Lund.", "answer": "Lund"},
            f"She was born in Lund. Lund {QUESTION}",
        ),
    ],
)
def test_an_answer_becomes_text_and_an_empty_draft_leaves_the_question(
    signature: type[dspy.Signature], fields: dict[str, str], query: str
) -> None:
    with scripted(Reply(signature, fields)):
        searches = search_with_drafts(Memory([RAIN]), dspy.ChainOfThought(signature), QUESTION, 1, 1)
    assert searches[1].query == query


def test_a_draft_that_cannot_be_parsed_leaves_the_question() -> None:
    with scripted(*[Reply(AnswerShort, "Lund, I should say.")] * 2):
        searches = search_with_drafts(RETRIEVER, dspy.ChainOfThought(AnswerShort), QUESTION, 1, 1)
    assert [search.query for search in searches] == [QUESTION, QUESTION]
