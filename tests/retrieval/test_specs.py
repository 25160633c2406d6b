"""`load`: from a name to a retriever."""

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from retrieval import Passage, Retriever, UsageError, load
from retrieval.bm25 import BM25
from retrieval.corpora import SAMPLE, read


def test_sample_searches_the_packaged_corpus() -> None:
    sample = load("sample")
    assert isinstance(sample, Retriever)
    for passage in list(read(SAMPLE))[::50]:
        assert sample(f"{passage.title}: {passage.text}", 1) == [passage]


def test_sample_leaves_nothing_behind_where_its_index_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(SAMPLE))  # a home that is no directory
    before = sorted(SAMPLE.parent.parent.rglob("*"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sample = load("sample")
    assert len(list(tmp_path.iterdir())) == 1
    assert len(sample("city", 3)) == 3
    del sample
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert sorted(SAMPLE.parent.parent.rglob("*")) == before


def test_bm25_opens_an_index(tmp_path: Path) -> None:
    BM25.build([Passage("a", "Cats chase mice.")], tmp_path / "with:colon")
    assert load(f"bm25:{tmp_path / 'with:colon'}")("cats") == [Passage("a", "")]
    with pytest.raises(UsageError, match="there is no BM25 index in"):
        load(f"bm25:{tmp_path / 'nothing'}")


def test_a_path_says_by_itself_what_it_is(tmp_path: Path) -> None:
    BM25.build([Passage("a", "Cats chase mice.")], tmp_path / "index")
    (tmp_path / "twice.toml").write_text('type = "rrf"\nretrievers = ["bm25:index", "bm25:index"]\n')
    assert load(tmp_path / "index")("cats") == load(tmp_path / "twice.toml")("cats") == [Passage("a", "")]
    for nothing in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="there is no index in"):
            load(nothing)


def test_a_toml_file_puts_retrievers_together(tmp_path: Path) -> None:
    BM25.build([Passage("a", "Cats chase mice."), Passage("b", "Dogs chase cats.")], tmp_path / "index")
    (tmp_path / "two.toml").write_text('type = "rrf"\nretrievers = ["bm25:index", "bm25:index"]\n')
    assert load(str(tmp_path / "two.toml"))("mice", 1) == [Passage("a", "")]
    with pytest.raises(UsageError, match=r"cannot read .*none\.toml"):
        load(str(tmp_path / "none.toml"))


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no retriever None: name one"):
        load(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a question or query is text, not None"):
        load("sample")(None)  # type: ignore[arg-type]


def test_colbertv2_takes_a_url() -> None:
    assert type(load("colbertv2:http://127.0.0.1:8893/api/search")).__name__ == "ColBERTv2"


@pytest.mark.parametrize("spec", ["", "nonsense", "nonsense:x", "bm25", "bm25:", "sample:x", "sample:", ":x"])
def test_anything_else_is_answered_with_what_there_is(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(spec)
    assert str(caught.value).startswith(f"there is no retriever {spec!r}: use sample or bm25:DIR or dense:DIR or ")


def test_the_folder_of_an_index_is_answered_with_its_name_as_a_retriever(tmp_path: Path) -> None:
    index = tmp_path / "index"
    BM25.build([Passage("a", "Cats chase mice.")], index)
    with pytest.raises(UsageError, match=f"use bm25:{index}$"):
        load(str(index))


def test_importing_brings_in_no_backend() -> None:
    code = (
        "import sys, retrieval, programs.blendfilter\n"
        "backends = {'torch', 'faiss', 'bm25s', 'datasets', 'transformers', 'sentence_transformers'}\n"
        "print(backends & sys.modules.keys(), {'Stemmer'} & sys.modules.keys())\n"
        "import retrieval.dense, retrieval.remote, retrieval.compositions, retrieval.corpora.download\n"
        "import retrieval.ranking.filter, retrieval.ranking.entailment, retrieval.ranking.fuse\n"
        "print(backends & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "set()", "set()"]
