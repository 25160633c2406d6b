from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from eval.commands.options import add_data, add_runs, load_lm, read_runs, task_name
from eval.tasks import load
from retrieval import UsageError


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("sample", "sample"),
        ("hotpotqa:blendfilter", "hotpotqa-blendfilter"),
        ("file:some/where/mine.jsonl.gz", "mine"),
        ("file:mine.jsonl", "mine"),
    ],
)
def test_a_task_is_part_of_the_name_of_a_directory(spec: str, name: str) -> None:
    assert task_name(spec) == name


def test_each_of_several_joined_directories_must_hold_a_run() -> None:
    parser = ArgumentParser()
    add_runs(parser)
    with pytest.raises(UsageError, match=r"^here holds no run"):
        read_runs(parser.parse_args(["here,there"]))


def test_local_copies_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, data in ("", None), (str(tmp_path), str(tmp_path)):
        monkeypatch.setenv("ODQA_DATA", value)
        parser = ArgumentParser()
        add_data(parser)
        assert parser.parse_args([]).data == data


def test_the_oracle_is_made_for_the_questions() -> None:
    flags = {"lm": "oracle", "api_base": None, "temperature": None, "seed": 0, "attempts": 1}
    lm = load_lm(Namespace(**flags, lm_args=[]), load("sample", 1), None)
    assert lm.model.startswith("oracle/")
    with pytest.raises(UsageError, match="the oracle has no setting 'top_p'"):
        load_lm(Namespace(**flags, lm_args=[("top_p", 0.5)]), load("sample", 1), None)
