import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eval.tasks import load
from retrieval import UsageError
from retrieval.corpora.reader import SAMPLE, read

GOOD = {"id": "1", "question": "Who?", "answers": ["She", "Her"], "type": "bridge", "gold_titles": ["T"], "s_pop": 3}
DATA = Path(__file__).parents[3] / ".." / "shared" / "data"


def write(path: Path, *lines: Any) -> str:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return f"file:{path}"


def test_the_sample_goes_with_the_sample_corpus() -> None:
    passages = {passage.id: passage for passage in read(SAMPLE)}
    examples = load("sample")
    assert len(examples) >= 80
    assert len(load("sample", 7)) == 7
    for example in examples:
        assert {passages[id_].title for id_ in example.gold_passages} == set(example.gold_titles)


def test_what_cannot_be_read_is_the_callers_mistake(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode() * 100)[:-9])
    for spec, complaint in {
        "nothing": "there is no task 'nothing': use sample, QUESTIONS",
        "missing.csv": "there is no file missing.csv",
        "file:": "there is no task 'file:'",
        f"file:{tmp_path}/missing.jsonl": "cannot read .*missing.jsonl: No such file or directory",
        f"file:{tmp_path}": "cannot read .*: Is a directory",
        f"file:{tmp_path}/cut.jsonl.gz": "cut.jsonl.gz is a damaged gzip file, from line 1 on",
        write(tmp_path / "empty.jsonl"): "empty.jsonl has no questions",
    }.items():
        with pytest.raises(UsageError, match=complaint):
            load(spec)
    with pytest.raises(UsageError, match="at least 1, not 0"):
        load("sample", 0)


@pytest.mark.skipif(not DATA.exists(), reason="needs the data in ../shared/data")
def test_real_questions_load() -> None:
    files = [*DATA.glob("*.dev.jsonl.gz"), *DATA.glob("*.questions.jsonl.gz")]
    sizes = {file.name.split(".")[0]: len(load(f"file:{file}")) for file in files}
    assert sizes["hotpotqa"] == 245
    assert len(sizes) == 12
