"""How often the extractive reader answers, and how often it is right when it does, with one method over the sample.

    python benchmarks/extractive_reader.py --program direct
    python benchmarks/extractive_reader.py --program blendfilter --set held-out --show

The sets: `development`, `held-out` and `plain` are easy questions, 60, 30 and 40 that the packaged corpus answers and
40, 20 and 20 that it does not (tests/data/first_questions.jsonl); the last were written without a look at the reader.
`packaged` has the packaged questions, by type. An answer is right when it is one of the gold answers, after SQuAD's
normalisation.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
from measuring import header, row

import lms
import retrieval
from eval.metrics import em
from programs import load, names

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "tests" / "data" / "first_questions.jsonl"
PACKAGED = ROOT / "eval" / "tasks" / "sample.questions.jsonl"
SETS = ("development", "held-out", "plain", "packaged")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--program", choices=names(), default="direct")
    parser.add_argument("--set", choices=SETS, nargs="+", default=SETS, dest="sets")
    parser.add_argument("--show", action="store_true", help="also print each question with its answer")
    arguments = parser.parse_args()

    method = load(arguments.program)(retrieval.load("sample"))
    header("questions", "number", "answered", "right", "right of answered")
    for name, rows in _sets(arguments.sets):
        with dspy.context(lm=lms.load("extractive")):
            answers = [method(question=asked["question"]).answer for asked in rows]
        right = [
            answer != "" and is_right(answer, asked["answers"]) for answer, asked in zip(answers, rows, strict=True)
        ]
        answered = sum(map(bool, answers))
        share = f"{100 * sum(right) / answered:.0f} %" if answered and rows[0]["answers"] else ""
        row(name, len(rows), answered, sum(right), share)
        if arguments.show:
            for asked, answer, is_it in zip(rows, answers, right, strict=True):
                print(
                    f"    {'+' if is_it else '-' if answer else ' '} {asked['question']} {answer!r} {asked['answers']}"
                )


def is_right(answer: str, golds: list[str]) -> bool:
    """Whether an answer is one of the gold answers."""
    return bool(golds) and em(dspy.Example(answers=golds), dspy.Prediction(answer=answer)) == 1


def _sets(chosen: list[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The chosen questions in groups, each with its name."""
    own = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    packaged = [json.loads(line) for line in PACKAGED.read_text(encoding="utf-8").splitlines()]
    for name in SETS[:3]:
        if name in chosen:
            for inside in (True, False):
                rows = [row for row in own if row["split"] == name and bool(row["answers"]) is inside]
                yield f"{name}, {'inside' if inside else 'outside'}", rows
    if "packaged" in chosen:
        for kind in sorted({row["type"] for row in packaged}):
            yield f"packaged, {kind}", [row for row in packaged if row["type"] == kind]


if __name__ == "__main__":
    main()
