from pathlib import Path

import pytest

from eval.runs.fingerprints import fingerprints
from retrieval import Passage
from retrieval.bm25.search import BM25


def index(path: Path, *texts: str) -> str:
    BM25.build([Passage(str(n), text) for n, text in enumerate(texts)], path)
    return f"bm25:{path}"


def test_an_index_has_a_fingerprint_of_its_settings_and_one_of_its_corpus(tmp_path: Path) -> None:
    first = fingerprints(index(tmp_path / "a", "Rome is big", "Paris is old"))
    same = fingerprints(index(tmp_path / "b", "Rome is big", "Paris is old"))
    other = fingerprints(index(tmp_path / "c", "Rome is old", "Paris is big"))  # all files are as long
    assert list(first) == [str(tmp_path / "a")]
    assert set(first[str(tmp_path / "a")]) == {"index", "corpus"}
    assert list(first.values()) == list(same.values())
    assert first[str(tmp_path / "a")]["corpus"] != other[str(tmp_path / "c")]["corpus"]
    BM25.build([Passage("0", "Rome is big"), Passage("1", "Paris is old")], tmp_path / "d", k1=1.2)
    (settings,) = fingerprints(f"bm25:{tmp_path / 'd'}").values()
    assert settings["corpus"] == first[str(tmp_path / "a")]["corpus"]
    assert settings["index"] != first[str(tmp_path / "a")]["index"]


def test_what_is_put_together_has_the_fingerprints_of_its_parts(tmp_path: Path) -> None:
    index(tmp_path / "a", "Rome is big")
    (tmp_path / "inner.toml").write_text('type = "rerank"\nretriever = "bm25:a"\nscorer = "lexical"\n')
    outer = tmp_path / "outer.toml"
    outer.write_text('type = "rrf"\nretrievers = ["inner.toml", "bm25:a", "colbertv2:http://127.0.0.1:9"]\n')
    found = fingerprints(str(outer))
    assert set(found) == {str(outer), str(tmp_path / "inner.toml"), str(tmp_path / "a")}
    outer.write_text(outer.read_text() + "depth = 7\n")
    assert fingerprints(str(outer))[str(outer)] != found[str(outer)]


def test_an_index_that_a_file_sets_has_its_fingerprint(tmp_path: Path) -> None:
    for name in ("a", "colbert"):
        index(tmp_path / name, "Rome is big")
    (tmp_path / "set.toml").write_text('type = "colbert"\nindex = "a"\nquery_maxlen = 96\n')
    assert set(fingerprints(str(tmp_path / "set.toml"))) == {str(tmp_path / "set.toml"), str(tmp_path / "a")}


@pytest.mark.needs("qdrant_client")
def test_a_collection_of_qdrant_has_the_fingerprint_of_what_is_in_it(tmp_path: Path) -> None:
    from retrieval.qdrant import Qdrant

    built = Qdrant.build([Passage("0", "Rome is big"), Passage("1", "Paris is old")], tmp_path / "a")
    spec = f"qdrant:{tmp_path / 'a'}?search=bm25"
    first = fingerprints(spec)
    assert list(first) == [spec]
    (tmp_path / "one.toml").write_text('type = "rerank"\nretriever = "qdrant:a?search=bm25"\nscorer = "lexical"\n')
    assert fingerprints(str(tmp_path / "one.toml"))[spec] == first[spec]
    built.update(delete=["0"])
    assert fingerprints(spec) != first


def test_the_sample_and_what_has_no_files() -> None:
    assert list(fingerprints("sample")) == ["sample"]
    assert fingerprints("colbertv2:http://127.0.0.1:9") == fingerprints("none") == {}
