import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.lighthouse import CONTEXT, DIRECTOR, FILM

from lms.extractive.passages import passages
from lms.extractive.reading import Reader
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
        ("Was Berta Holm a Swedish painter?", "no"),
        ("How long is the Salka?", "97 km"),
        ("What does Berta Holm do for a living?", "painter"),
    ],
)
def test_answers_have_the_form_that_the_question_asks_for(question: str, expected: str) -> None:
    assert answer(question) == expected


def test_a_second_hop_goes_through_the_title_that_the_first_names() -> None:
    question = "Where was the director of The Lighthouse Keeper born?"
    assert answer(question) == "Whitby"
    assert Reader(question, passages(CONTEXT)).relevant(may_be_none=False) == [2, 4]


@pytest.mark.parametrize(
    "question",
    [
        "Did Napoleon sell Louisiana to Jefferson?",
        "Who directed The Last Ferry?",  # not in the passages
        "Who produced The Lighthouse Keeper?",  # another relation
        "Who was the mother of Ada Quill?",
        "How deep is the Salka?",  # lengths, but of something else
        "How many bridges does the Salka have?",
        "Which river is deeper, the Orm or the Salka?",
        "What is the longest river in the world?",
        "",
    ],
)
def test_it_declines_what_the_passages_do_not_bear(question: str) -> None:
    assert answer(question) == ""


@pytest.mark.parametrize(
    "question", ["Which river is longer, the Orm or the Salka?", "Is the Orm a river?", "Who is it?"]
)
def test_without_a_context_it_knows_nothing(question: str) -> None:
    assert answer(question, "") == ""


def test_the_passage_of_the_answer_is_relevant() -> None:
    context = number(
        [FILM, Passage("6", "Keeper of the Lighthouse: who directed lights.", "Directed Keeper"), DIRECTOR]
    )
    reader = Reader("When did Ada Quill die?", passages(context))
    assert reader.answer == "9 June 1987"
    assert 3 in reader.relevant(may_be_none=True)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize(("name", "least"), [("hotpotqa", 0.15), ("nq", 0.05), ("popqa", 0.5), ("strategyqa", 0.1)])
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
