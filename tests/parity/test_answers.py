"""Metrics of answers against the scripts that they reproduce.

The values come from the scripts' own functions, run on these cases; the best over the gold answers counts:

em, f1          SQuAD's evaluate-v1.1.py: exact_match_score, f1_score
hotpot_f1       github.com/hotpotqa/hotpot, hotpot_evaluate_v1.py (4c0fa5e): f1_score
rouge_l         rouge-score 0.1.2 from PyPI: RougeScorer(["rougeL"]) on both sides as normalised by SQuAD's script
popqa_accuracy  github.com/AlexTMallen/adaptive-retrieval, run_model.py (5b56a22): the loop that sets is_correct
cover_em,       github.com/AdelWang/MIGRES, code/evaluate.py (111a442): the loop that sets answer_match and strict
migres_em

So do those of has_answer of github.com/facebookresearch/DPR, dpr/data/qa_validation.py (10ca720, match type string),
and of update_sp of hotpot_evaluate_v1.py.
"""

import dspy
import pytest

from eval.metrics import (
    cover_em,
    em,
    f1,
    hotpot_f1,
    load,
    migres_em,
    popqa_accuracy,
    rouge_l,
)
from eval.metrics.passages import has_answer
from retrieval import Passage

# answer, gold answers, and what em, f1, hotpot_f1, rouge_l, popqa_accuracy, cover_em and migres_em are
ANSWERS = [
    ("Denver Broncos", ["Denver Broncos"], 1, 1, 1, 1, 1, 1, 1),
    ("the Broncos of Denver", ["Denver Broncos"], 0, 4 / 5, 4 / 5, 2 / 5, 0, 0, 0),
    ("Broncos", ["The Denver Broncos", "Panthers"], 0, 2 / 3, 2 / 3, 2 / 3, 0, 0, 0),
    ("yes", ["yes"], 1, 1, 1, 1, 1, 1, 1),
    ("Yes.", ["yes"], 1, 1, 1, 1, 1, 1, 1),
    ("yes, it is", ["yes"], 0, 1 / 2, 0, 1 / 2, 1, 1, 0),
    ("no", ["no reason"], 0, 2 / 3, 0, 2 / 3, 0, 0, 0),
    ("noanswer", ["no answer"], 0, 0, 0, 0, 0, 0, 1),
    ("yes", ["true"], 0, 0, 0, 0, 0, 0, 1),
    ("yes it is", ["yes it was"], 0, 2 / 3, 2 / 3, 2 / 3, 0, 0, 0),
    ("one two three four", ["four three two one"], 0, 1, 1, 1 / 4, 0, 0, 1),
    ("one two three four", ["one three four five"], 0, 3 / 4, 3 / 4, 3 / 4, 0, 0, 0),
    ("one two one", ["one one two"], 0, 1, 1, 2 / 3, 0, 0, 1),
    ("b c", ["b b"], 0, 1 / 2, 1 / 2, 1 / 2, 0, 0, 1),
    ("b b", ["b c"], 0, 1 / 2, 1 / 2, 1 / 2, 0, 0, 0),
    ("newyork", ["New York"], 0, 0, 0, 0, 0, 0, 1),
    ("New York City", ["new york"], 0, 4 / 5, 4 / 5, 4 / 5, 0, 1, 0),
    ("in new York", ["NEW YORK"], 0, 4 / 5, 4 / 5, 4 / 5, 0, 1, 0),
    ("a New york minute", ["new York"], 0, 4 / 5, 4 / 5, 4 / 5, 1, 1, 0),
    ("music", ["US"], 0, 0, 0, 0, 1, 1, 0),
    ("a party", ["art"], 0, 0, 0, 0, 1, 1, 0),
    ("U.S.", ["US"], 1, 1, 1, 1, 0, 1, 1),
    ("The", ["a"], 1, 0, 0, 0, 0, 1, 1),
    ("", ["a"], 1, 0, 0, 0, 0, 1, 1),
    ("", ["Rome"], 0, 0, 0, 0, 0, 0, 0),
    ("anything", ["The The"], 0, 0, 0, 0, 0, 1, 0),
    ("42 km", ["42km"], 0, 0, 0, 0, 0, 0, 1),
    ("Rome, Italy", ["Paris", "Italy"], 0, 2 / 3, 2 / 3, 2 / 3, 1, 1, 0),
    ("twenty-one", ["21", "twenty one", "twentyone"], 1, 1, 1, 1, 0, 1, 1),
    ("Chris Nolan and Emma Thomas", ["Emma Thomas and Chris Nolan"], 0, 1, 1, 2 / 5, 0, 0, 1),
    ("10 July 1856", ["July 10, 1856"], 0, 1, 1, 2 / 3, 0, 0, 1),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: f"{case[0]} for {' or '.join(case[1])}")
def test_answers(case: tuple[str, list[str], *tuple[float, ...]]) -> None:
    answer, golds, *expected = case
    example, prediction = dspy.Example(answers=golds), dspy.Prediction(answer=answer)
    metrics = (em, f1, hotpot_f1, rouge_l, popqa_accuracy, cover_em, migres_em)
    assert [metric(example, prediction) for metric in metrics] == pytest.approx(expected)


def test_where_ours_differs_from_the_script() -> None:
    def score(answer: str, gold: str) -> float | None:
        return migres_em(dspy.Example(answers=[gold]), dspy.Prediction(answer=answer))

    # The script expects gold answers that are true or false, as in its files of StrategyQA; ours say yes and no.
    assert (score("true", "yes"), score("False", "no"), score("yes", "false")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("Arthur's Magazine was first.", ["Arthur's Magazine"], True),
        ("Arthur’s Magazine", ["Arthur's Magazine"], False),  # another apostrophe
        ("in São Paulo", ["São Paulo"], True),
        ("in Sao Paulo", ["São Paulo"], False),
        ("sa\u0303o paulo", ["São Paulo"], True),  # decomposed already
        ("the U.S. Navy", ["U.S."], True),
        ("the US Navy", ["U.S."], False),
        ("twenty-one guns", ["twenty one"], False),  # the hyphen is a token
        ("twenty-one guns", ["Twenty - One"], True),
        ("music", ["us"], False),
        ("the cat sat", ["the sat"], False),
        ("Rome\nItaly", ["Rome Italy"], True),
        ("北京市", ["北京"], False),
        ("1,000 m", ["1000"], False),
        ("1,000 m", ["1,000"], True),
        ("C++ and C", ["c+"], True),
        ("a zero\u200bwidth space", ["zero width"], True),
        ("nothing of it", ["neither", "of it"], True),
        ("", ["a"], False),
        ("anything", [""], True),
        ("", [""], True),
    ],
)
def test_an_answer_in_a_text(text: str, answers: list[str], expected: bool) -> None:
    assert has_answer(text, answers) is expected


@pytest.mark.parametrize(
    ("found", "exactly", "precision", "recall"),  # of the gold facts A and B
    [
        ("AB", 1, 1, 1),
        ("ABC", 0, 2 / 3, 1),
        ("A", 0, 1, 1 / 2),
        ("AC", 0, 1 / 2, 1 / 2),
        ("AAB", 1, 1, 1),
        ("CD", 0, 0, 0),
        ("", 0, 0, 0),
    ],
)
def test_gold_among_what_was_found(found: str, exactly: float, precision: float, recall: float) -> None:
    example = dspy.Example(gold_titles=["A", "B"])
    prediction = dspy.Prediction(passages=[Passage(str(n), "", title) for n, title in enumerate(found)])
    scores = [load(f"{name}_passages")(example, prediction) for name in ("s_precision", "precision", "recall")]
    assert scores == pytest.approx([exactly, precision, recall])
