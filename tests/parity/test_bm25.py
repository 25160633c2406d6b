"""BM25 against the figures of the README of `../shared/data`, on real questions and passages.

R@5 is the mean share of a question's gold titles among the titles of the five best passages, over the questions that
have gold titles; A@k the share of questions with an answer string in the k best, answers that are yes or no left out.
"""

import gzip
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from retrieval import Passage
from retrieval.bm25 import BM25
from retrieval.corpora import read

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the question sets of ../shared/data")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "corpus", "r5", "a"),
    [
        ("hotpotqa", "hotpotqa", 74.5, (77.1, 83.3, 89.9)),
        ("2wikimultihopqa", "2wikimultihopqa", 68.2, (57.8, 65.4, 69.9)),
        ("musique", "musique", 51.4, (30.8, 37.7, 47.3)),
        ("strategyqa", "strategyqa", 72.1, None),
        ("nq", "nq", 85.7, (87.7, 92.3, 94.3)),
        ("popqa", "popqa", 48.0, (82.4, 85.4, 87.0)),
        ("triviaqa", "wiki18_pool", None, (64.6, 66.2, 68.6)),
    ],
)
def test_recall_is_the_reference_s(
    name: str, corpus: str, r5: float | None, a: tuple[float, float, float] | None, tmp_path: Path
) -> None:
    with gzip.open(DATA / f"{name}.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    index = BM25.build(read(DATA / f"{corpus}.corpus.jsonl.gz"), tmp_path / "index")
    found = list(zip(questions, index.batch([q["question"] for q in questions], 20), strict=True))
    if r5:
        shares = [titles_found(q["gold_titles"], passages[:5]) for q, passages in found if q.get("gold_titles")]
        assert mean(shares) == pytest.approx(r5, abs=0.5)
    if a:
        asked = [(q, passages) for q, passages in found if not {"yes", "no"} & set(q["answers"])]
        ranks = [answer_rank(q["answers"], passages) for q, passages in asked]
        assert [mean([rank <= k for rank in ranks]) for k in (5, 10, 20)] == pytest.approx(a, abs=0.6)


def mean(values: list[Any]) -> float:
    return 100 * sum(values) / len(values)


def titles_found(gold: list[str], passages: list[Passage]) -> float:
    return len(set(gold) & {p.title for p in passages}) / len(set(gold))


def answer_rank(answers: list[str], passages: list[Passage]) -> float:
    """Rank, from 1, of the first passage that has the words of an answer in a row; infinite if there is none."""
    wanted = [words(answer) for answer in answers]
    for rank, passage in enumerate(passages, 1):
        text = words(f"{passage.title} {passage.text}")
        if any(answer in text for answer in wanted):
            return rank
    return float("inf")


def words(text: str) -> str:
    return " ".join(["", *re.findall(r"\w+|[^\w\s]", unicodedata.normalize("NFD", text.lower())), ""])
