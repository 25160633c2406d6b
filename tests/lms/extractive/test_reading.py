import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.lighthouse import CONTEXT, FILM

from lms.extractive.reading import Reader, passages
from retrieval.passage import Passage, number

DATA = Path(__file__).parents[4] / "shared" / "data"


def answer(question: str, context: str = CONTEXT) -> str:
    return Reader(question, passages(context)).answer


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who directed The Lighthouse Keeper?", "Ada Quill"),
        ("who directed the lighthouse keeper", "Ada Quill"),
        ("When was Ada Quill born?", "3 May 1910"),
        ("When did Ada Quill die?", "9 June 1987"),
        ("In what year was Ada Quill born?", "1910"),
        ("Where was Berta Holm born?", "Bergen"),
        ("How many dams does the Salka have?", "12"),
        ("What is the occupation of Berta Holm?", "painter"),
        ("Which river is longer, the Orm or the Salka?", "Orm"),
        ("Who is older, Ada Quill or Berta Holm?", "Berta Holm"),
        ("Who was born later, Ada Quill or Berta Holm?", "Ada Quill"),
        ("Are the Orm and the Salka in the same country?", "no"),
        ("Are the Orm and the Salka both rivers?", "yes"),
        ("Are the Orm and Ada Quill both rivers?", "no"),
        ("Was Berta Holm a Norwegian painter?", "yes"),
        ("Did Napoleon sell Louisiana to Jefferson?", "no"),
    ],
)
def test_answers_have_the_form_that_the_question_asks_for(question: str, expected: str) -> None:
    assert answer(question) == expected


def test_a_second_hop_goes_through_the_title_that_the_first_names() -> None:
    question = "Where was the director of The Lighthouse Keeper born?"
    assert answer(question) == "Whitby"
    assert Reader(question, passages(CONTEXT)).relevant(may_be_none=False) == [2, 4]


def test_words_of_the_question_are_no_answer_where_there_are_others() -> None:
    assert answer("Who is Ada Quill?", number([FILM])) == "The Lighthouse Keeper"
    assert answer("Who is Ada Quill?", "Ada Quill.") == "Ada Quill"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which river is longer, the Orm or the Salka?", "Orm"),
        ("Is the Orm a river?", "yes"),
        ("Who directed The Lighthouse Keeper?", "unknown"),
        ("", "unknown"),
    ],
)
def test_without_a_context_it_knows_nothing(question: str, expected: str) -> None:
    assert answer(question, "") == expected


def test_passages_are_read_as_they_are_numbered() -> None:
    assert [(p.number, p.title) for p in passages(CONTEXT)] == [
        (1, "Orm (river)"), (2, "The Lighthouse Keeper"), (3, "Salka"), (4, "Ada Quill"), (5, "Berta Holm"),
    ]  # fmt: skip
    assert passages("") == []
    assert passages(json.dumps(["One | a", "b"])) == [(1, "One", "a"), (2, "", "b")]
    assert passages("a first line\n\na second one") == [(1, "", "a first line"), (2, "", "a second one")]
    assert passages("Observation 1:\n[1] One | a\nThought 2: b") == [(1, "One", "a")]


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize(("name", "least"), [("hotpotqa", 0.3), ("nq", 0.15), ("popqa", 0.25), ("strategyqa", 0.4)])
def test_it_is_of_use_on_real_questions(name: str, least: float) -> None:
    """Share of exact answers to 60 questions, each over its gold passages among eight others of the corpus."""

    def lines(path: str) -> list[dict[str, Any]]:
        with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def plain(text: str) -> list[str]:
        return [word for word in re.findall(r"\w+", text.lower()) if word not in ("a", "an", "the")]

    corpus = {row["id"]: Passage(row["id"], row["text"], row["title"]) for row in lines(f"{name}.corpus.jsonl.gz")}
    ids = list(corpus)
    right = 0
    for n, row in enumerate(lines(f"{name}.dev.jsonl.gz")[:60]):
        near = [corpus[i] for i in ids[8 * n : 8 * n + 8]]
        found = answer(row["question"], number([*near, *(corpus[i] for i in row["gold_passages"] if i in corpus)]))
        right += any(plain(found) == plain(gold) for gold in row["answers"])
    assert right >= 60 * least
