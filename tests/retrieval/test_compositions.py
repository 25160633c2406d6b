"""Composition files: what they make, and what is said about mistakes in them."""

from pathlib import Path

import pytest

from retrieval import Memory, Passage, Retriever, UsageError
from retrieval.compositions import load_composition

A = Memory([Passage("1", "a cat"), Passage("2", "a dog")], {"q": "12"})
B = Memory([Passage("2", "a dog"), Passage("3", "a cow")], {"q": "32"})


class Opener:
    """Opens `a:…` and `b:…`; remembers the specs."""

    def __init__(self) -> None:
        self.specs: list[str] = []

    def __call__(self, spec: str) -> Retriever:
        self.specs.append(spec)
        return {"a": A, "b": B}[spec.partition(":")[0]]


def scores(retriever: Retriever, k: int = 9) -> dict[str, float | None]:
    return {passage.id: passage.score for passage in retriever("q", k)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hybrid.toml"


def test_reciprocal_rank_fusion(file: Path) -> None:
    file.write_text('type = "rrf"\nretrievers = ["a:x", "b:y"]\n')
    assert scores(load_composition(file, Opener())) == pytest.approx({"2": 2 / 62, "1": 1 / 61, "3": 1 / 61})
    file.write_text('type = "rrf"\nretrievers = ["a:x", "b:y"]\nconstant = 0\nweights = [1, 0.5]\ndepth = 1')
    assert scores(load_composition(file, Opener()), 1) == {"1": 1.0}
    assert scores(load_composition(file, Opener())) == {"1": 1.0, "2": 0.75, "3": 0.5}


def test_interpolation(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = Memory([Passage("1", "cat cow"), Passage("2", "cat")])
    file.write_text('type = "interpolate"\nretrievers = ["a", "b"]\nweights = [2, 1]')
    assert load_composition(file, lambda spec: scored)("cat cow", 2)[0].score == 3.0
    file.write_text('type = "interpolate"\nretrievers = ["a", "b"]\nnormalize = "zscore"')
    assert load_composition(file, lambda spec: scored)("cat cow", 2)[0].score == 2.0


def test_reranking(file: Path) -> None:
    file.write_text('type = "rerank"\nretriever = "a:x"\nscorer = "lexical"\ndepth = 7')
    reranked = load_composition(file, lambda spec: Memory([Passage("1", "a cat"), Passage("2", "the black cat")]))
    assert [passage.id for passage in reranked("a black cat", 2)] == ["2", "1"]


def test_tables_and_files_in_files(file: Path) -> None:
    (file.parent / "sub").mkdir()
    (file.parent / "sub" / "part.toml").write_text(
        'type = "rrf"\nretrievers = ["a:index", "b:/abs/index", "a:http://h/x"]'
    )
    file.write_text("""
        type = "rerank"
        scorer = "lexical"
        [retriever]
        type = "rrf"
        retrievers = ["sub/part.toml", {type = "interpolate", retrievers = ["a:../up", "b"]}]
    """)
    opener = Opener()
    with pytest.raises(UsageError, match="needs a score on every passage"):  # scripted answers have none
        load_composition(file, opener)("q")
    folder = file.parent
    assert opener.specs == [f"a:{folder}/sub/index", "b:/abs/index", "a:http://h/x", f"a:{folder}/../up", "b"]


def test_a_file_may_come_twice_but_not_contain_itself(file: Path) -> None:
    part = file.parent / "part.toml"
    part.write_text('type = "rrf"\nretrievers = ["a:x"]')
    file.write_text('type = "rrf"\nretrievers = ["part.toml", "part.toml"]')
    assert scores(load_composition(file, Opener())) == pytest.approx({"1": 2 / 61, "2": 2 / 62})
    part.write_text('type = "rrf"\nretrievers = ["hybrid.toml"]')
    with pytest.raises(UsageError, match=r"hybrid\.toml contains itself"):
        load_composition(file, Opener())


def test_the_model_of_a_scorer_may_be_a_path_beside_the_file(file: Path) -> None:
    (file.parent / "model").mkdir()
    for model in "model", "org/none":
        file.write_text(f'type = "rerank"\nretriever = "a:x"\nscorer = "cross:{model}"')
        with pytest.raises(UsageError, match=r"unknown scorer 'cross:(.*)': use") as error:
            load_composition(file, Opener())
        assert (str(file.parent) in str(error.value)) == (model == "model")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "type must be one of rrf, interpolate, rerank, colbert, hipporag, not None"),
        ('type = "rff"', "type must be one of rrf, interpolate, rerank, colbert, hipporag, not 'rff'"),
        ("type = [1]", r"type must be one of .*, not \[1\]"),
        ('type = "rrf"', "retrievers: this key is needed"),
        ('type = "rrf"\nretrievers = []', "retrievers: .*at least 1"),
        ('type = "rrf"\nretrievers = "a"', "retrievers: .*valid list"),
        ('type = "rrf"\nretrievers = [1]', r"retrievers\.0: "),
        ('type = "rrf"\nretrievers = ["a"]\nconst = 1', "const: there is no such key"),
        ('type = "rrf"\nretrievers = ["a"]\nnormalize = "minmax"', "normalize: there is no such key"),
        ('type = "rrf"\nretrievers = ["a"]\nconstant = -1', "constant: .*greater than or equal to 0"),
        ('type = "rrf"\nretrievers = ["a"]\nconstant = "60"', "constant: .*number"),
        ('type = "rrf"\nretrievers = ["a"]\ndepth = 0', "depth: .*greater than or equal to 1"),
        ('type = "rrf"\nretrievers = ["a"]\ndepth = 1.5', "depth: .*integer"),
        ('type = "rrf"\nretrievers = ["a"]\nweights = [1, 1]', "weights: there must be one for each of 1 retrievers"),
        ('type = "interpolate"\nretrievers = ["a"]\nweights = [-1]', r"weights\.0: "),
        ('type = "interpolate"\nretrievers = ["a"]\nnormalize = "max"', "normalize: .*'minmax' or 'zscore'"),
        ('type = "rerank"\nretriever = "a"', "scorer: this key is needed"),
        pytest.param('type = "colbert"', "index: this key is needed", marks=pytest.mark.needs("faiss")),
        pytest.param(
            *('type = "colbert"\nindex = "x"\nnprobe = 2', "nprobe: there is no such key"),
            marks=pytest.mark.needs("faiss"),
        ),
        ('type = "rrf"\nretrievers = [{type = "rrf"}]', r"retrievers\.0\.retrievers: this key is needed"),
        ('type = "rerank"\nscorer = "lexical"\nretriever = {}', r"retriever\.type must be one of"),
        ("type = \n", r"is no TOML: .*line 1"),
        (f"type = {'[' * 9_999}", "is nested too deeply"),
    ],
)
def test_mistakes_are_named_with_file_and_key(file: Path, text: str, problem: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=rf"hybrid\.toml:? {problem}") as error:
        load_composition(file, Opener())
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.toml: No such file"):
        load_composition(tmp_path / "none.toml", Opener())
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(UsageError, match=r"latin\.toml is no TOML"):
        load_composition(tmp_path / "latin.toml", Opener())
