import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.tasks import load
from retrieval import UsageError

GOOD = {"id": "1", "question": "Who?", "answers": ["She", "Her"], "type": "bridge", "gold_titles": ["T"], "s_pop": 3}


def write(path: Path, *lines: Any) -> str:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return f"file:{path}"


def test_an_example_has_the_fields_of_its_line(tmp_path: Path) -> None:
    (example,) = load(write(tmp_path / "q.jsonl", GOOD))
    assert example.toDict() == {**GOOD, "answer": "She"}
    assert example.inputs().toDict() == {"question": "Who?"}


def test_the_mark_that_some_editors_put_first_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps(GOOD), encoding="utf-8-sig")
    assert [example.id for example in load(f"file:{tmp_path / 'q.jsonl'}")] == ["1"]


def test_gzipped_files_blank_lines_and_keys_that_dspy_uses_itself(tmp_path: Path) -> None:
    line = {**GOOD, "base": "a key", "inputs": "another"}
    with gzip.open(tmp_path / "q.jsonl.gz", "wt") as file:
        file.write("\n" + json.dumps(line) + "\n\n")
    (example,) = load(f"file:{tmp_path / 'q.jsonl.gz'}")
    assert example.toDict() == {**line, "answer": "She"}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object with id, question and answers"),
        ({"id": "2", "answers": ["a"]}, "no question"),
        ({"id": "2"}, "no question and no answers"),
        ({**GOOD, "id": 2}, "the id must be a string that is not blank, not 2"),
        ({**GOOD, "id": "2", "question": " "}, "the question must be a string that is not blank"),
        ({**GOOD, "id": "2", "answers": []}, "answers must be a list of at least one string"),
        ({**GOOD, "id": "2", "answers": "She"}, "answers must be a list of at least one string"),
        ({**GOOD, "id": "2", "type": 1}, "the type must be a string"),
        ({**GOOD, "id": "2", "gold_titles": [1]}, "gold_titles must be a list of strings"),
        ({**GOOD, "id": "2", "gold_passages": None}, "gold_passages must be a list of strings"),
        (GOOD, "the id '1' is already that of line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: Any, complaint: str) -> None:
    spec = write(tmp_path / "q.jsonl", GOOD, line)
    with pytest.raises(UsageError) as caught:
        load(spec)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'q.jsonl'}, line 2: {complaint}")
    assert "\n" not in message
    assert len(load(spec, 1)) == 1  # the line is not reached


@given(line=st.binary(min_size=1, max_size=40))
def test_whatever_a_line_holds_it_is_read_or_named(tmp_path_factory: pytest.TempPathFactory, line: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "anything.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + line)
    with pytest.raises(UsageError, match=", line ") if line.strip() else nullcontext():
        load(f"file:{path}")
