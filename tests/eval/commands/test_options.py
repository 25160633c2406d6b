import pytest

from eval.__main__ import make_parser
from eval.commands.options import request_of, task_name
from eval.runs.request import Pace, Request


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


def test_what_flags_leave_out_is_what_code_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ODQA_RETRIEVER", "ODQA_API_BASE", "ODQA_DATA"):
        monkeypatch.delenv(name, raising=False)
    words = ["sample", "--program", "migres"]
    assert request_of(make_parser(words).parse_args(["run", *words])) == Request(task="sample", program="migres")
    flags = ["--k", "3", "--temperature", "0", "--lm-arg", "top_p=0.5", "--metrics", "em,f1", "--threads", "2"]
    asked = request_of(make_parser(words).parse_args(["run", *words, *flags, "--adapter", "json", "--seed", "4"]))
    assert asked == Request(
        task="sample",
        program="migres",
        settings={"k": 3},
        lm_settings={"temperature": 0, "top_p": 0.5},
        metrics=("em", "f1"),
        adapter="json",
        seed=4,
        pace=Pace(threads=2),
    )
