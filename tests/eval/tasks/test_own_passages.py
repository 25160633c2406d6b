from pathlib import Path
from typing import Any

import pytest

from eval.tasks.own_passages import write_corpus
from retrieval import Passage, UsageError
from retrieval.corpora.reader import read


@pytest.mark.parametrize("name", ["oracle.jsonl", "oracle.jsonl.gz"])
def test_an_oracle_corpus_has_everything_once(name: str, tmp_path: Path) -> None:
    own = [Passage("a", "Bo was born.", "Bo"), Passage("b", "Ada was born.", "Ada"), Passage("c", "A river.", "Cy")]
    base = [Passage("1", "Bo was  born.", "Bo"), Passage("2", "Another text.", "Ada"), Passage("3", "\ud800 é")]
    assert write_corpus(tmp_path / name, iter(own), iter(base)) == (3, 2)
    written = list(read(tmp_path / name))
    assert [passage.title for passage in written] == ["Bo", "Ada", "", "Ada", "Cy"]
    assert [passage.text for passage in written[:3]] == [passage.text for passage in base]
    assert len({passage.id for passage in written}) == 5
    assert write_corpus(tmp_path / f"again-{name}", own, written) == (5, 0)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted([name, f"again-{name}"])


def test_an_oracle_corpus_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*corpus.jsonl: No such file"):
        write_corpus(tmp_path / "missing" / "corpus.jsonl", [])

    def broken() -> Any:
        yield Passage("1", "a")
        raise UsageError("line 2 is bad")

    with pytest.raises(UsageError, match="line 2"):
        write_corpus(tmp_path / "corpus.jsonl", [], broken())
    assert not list(tmp_path.glob("corpus*"))
