"""The paper's questions where they are here, and all of a smaller copy in their place."""

import json
from pathlib import Path

import pytest

from eval.papers.questions import find_questions
from retrieval import UsageError


def copy(directory: Path, split: str, count: int, name: str = "musique") -> Path:
    lines = [json.dumps({"id": f"{split}{n}", "question": "q?", "answers": ["a"]}) for n in range(count)]
    (directory / f"{name}.{split}.jsonl").write_text("\n".join(lines))
    return directory


@pytest.mark.parametrize("name", ["musique", "2wikimultihopqa"])
def test_the_papers_questions_where_the_copy_has_enough(name: str, tmp_path: Path) -> None:
    copy(tmp_path, "dev", 700, name)
    found = find_questions(f"{name}:study", None, copy(tmp_path, "train", 600, name))
    drawn = [example.id for example in found.examples]
    assert (len(drawn), len(set(drawn))) == (500, 500)
    assert all(id_.startswith("train") for id_ in drawn)
    assert found.where.startswith(f"{name}:study, ")
    assert found.where.endswith(", from a local copy with 600 questions")
    assert len(find_questions(f"{name}:study", 3, tmp_path).examples) == 3


def test_all_questions_of_a_smaller_copy(tmp_path: Path) -> None:
    found = find_questions("musique:study", None, copy(tmp_path, "train", 3))
    assert [example.id for example in found.examples] == ["train0", "train1", "train2"]
    assert (
        found.where
        == "the local copy of musique, in place of musique:study, MIGRES 2.1: 500 of the training set at random"
    )
    copy(tmp_path, "dev", 4)
    assert len(find_questions("musique:study", None, tmp_path).examples) == 3


def test_both_names_of_a_copy_of_a_training_set_are_known(tmp_path: Path) -> None:
    copy(tmp_path, "dev", 4)
    copy(tmp_path, "train", 3).joinpath("musique.train.jsonl").rename(tmp_path / "musique_train.questions.jsonl")
    found = find_questions("musique:study", None, tmp_path)
    assert [example.id for example in found.examples] == ["train0", "train1", "train2"]


def test_another_split_where_there_is_no_copy_of_the_papers(tmp_path: Path) -> None:
    found = find_questions("musique:study", 2, copy(tmp_path, "dev", 4))
    assert [example.id for example in found.examples] == ["dev0", "dev1"]
    assert "in place of musique:study" in found.where


def test_a_damaged_copy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "musique.train.jsonl").write_text('{"id": "1"}\n')
    with pytest.raises(UsageError, match=r"musique\.train\.jsonl"):
        find_questions("musique:study", None, tmp_path)
