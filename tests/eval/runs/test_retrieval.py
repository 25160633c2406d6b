"""Retrieval evaluation: the measures against their definitions, files, comparison, and the command line."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.__main__ import main
from eval.metrics import passage_metric
from eval.reports.retrieval import retrieval_table
from eval.runs.retrieval import evaluate_retriever
from retrieval import Memory, Passage, RetrievalError, Retriever, UsageError
from retrieval.bm25.search import BM25
from retrieval.corpora.reader import read

pytestmark = pytest.mark.needs("ir_measures")


DATA = Path(__file__).parents[4] / "shared" / "data"


class Ranking(Retriever):
    """Gives the passages listed for a query."""

    def __init__(self, lists: dict[str, Sequence[Passage]]) -> None:
        self.lists = lists
        self.batches: list[int] = []

    def search(self, query: str, k: int) -> list[Passage]:
        return list(self.lists[query][:k])

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        self.batches.append(len(queries))
        return super().search_batch(queries, k)


def question(name: str, **fields: object) -> dspy.Example:
    return dspy.Example({"id": name, "question": f"{name}?", "answers": ["yes"], **fields}).with_inputs("question")


def rows(path: Path) -> list[dict[str, dict[str, float]]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


P = [Passage(f"p{n}", text, title, 1.0) for n, (title, text) in enumerate([
    ("Rome", "Seat of the pope."),
    ("Rome", "Founded in 753 BC."),
    ("Paris", "On the Seine, with the Eiffel tower."),
    ("Oslo", "On a fjord."),
])]  # fmt: skip


def test_every_measure_of_a_case_done_by_hand(tmp_path: Path) -> None:
    asked = question("q", answers=["Eiffel Tower", "no"], gold_titles=["Paris", "Rome"], gold_passages=["p1", "p9"])
    figures = evaluate_retriever(Ranking({"q?": [P[3], *P[:3]]}), [asked], directory=tmp_path / "run", ks=[2, 4, 3])
    (row,) = rows(tmp_path / "run" / "rows.jsonl")
    assert [p["id"] for p in row["passages"]] == ["p3", "p0", "p1", "p2"]  # the scores tie: the ranks count
    assert row["passages"][0] == {"id": "p3", "title": "Oslo", "score": 1.0}
    ideal = 1 + 1 / math.log2(3)
    # Rome is found at rank 2, and once only, Paris at rank 4
    expected = {"recall@2": 0.5, "recall@3": 0.5, "recall@4": 1.0, "mrr@2": 0.5, "mrr@3": 0.5, "mrr@4": 0.5}
    expected |= {"ndcg@2": 1 / math.log2(3) / ideal, "ndcg@4": (1 / math.log2(3) + 1 / math.log2(5)) / ideal}
    expected |= {"recall_by_id@2": 0.0, "recall_by_id@3": 0.5, "recall_by_id@4": 0.5, "mrr_by_id@2": 0.0}
    expected |= {"mrr_by_id@3": 1 / 3, "mrr_by_id@4": 1 / 3, "ndcg_by_id@2": 0.0, "ndcg_by_id@4": 0.5 / ideal}
    expected |= {"answer_recall@2": 0.0, "answer_recall@3": 0.0, "answer_recall@4": 1.0}
    scores = row["scores"]
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    assert len(scores) == 7 * 3
    assert {name: score.mean for name, score in figures.scores.items()} == scores


KEYS = st.lists(st.sampled_from("abcde"), max_size=12)


@settings(max_examples=50)
@given(found_titles=KEYS, gold=KEYS, k=st.integers(1, 12))
def test_recall_is_that_of_the_metrics(
    found_titles: list[str], gold: list[str], k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    passages = [Passage(f"{title}{n}", "text", title) for n, title in enumerate(found_titles)]
    ids = [f"{title}{n}" for n, title in enumerate(gold)]
    asked = question("q", answers=["text"], gold_titles=gold, gold_passages=ids)
    out = tmp_path_factory.mktemp("run")
    evaluate_retriever(Ranking({"q?": passages}), [asked], directory=out, ks=[k])
    (row,) = rows(out / "rows.jsonl")
    for suffix, by_id in ("", False), ("_by_id", True):
        metric = passage_metric("recall", "passages", by_id=by_id, k=k, name="recall")
        expected = metric(asked, dspy.Prediction(passages=passages))
        assert row["scores"].get(f"recall{suffix}@{k}") == (None if expected is None else pytest.approx(expected))
        assert 0 <= row["scores"].get(f"ndcg{suffix}@{k}", 0) <= 1
    assert row["scores"][f"answer_recall@{k}"] == float(bool(passages))


def test_questions_are_searched_in_batches_and_keep_their_order(tmp_path: Path) -> None:
    asked = [question(f"q{n}", gold_passages=[f"p{n % 4}"]) for n in range(150)]
    retriever = Ranking({f"q{n}?": P[n % 4 : n % 4 + 1] for n in range(150)})
    steps: list[int] = []
    figures = evaluate_retriever(retriever, asked, directory=tmp_path, ks=[1], progress=steps.append)
    assert retriever.batches == steps == [64, 64, 22]
    assert [row["id"] for row in rows(tmp_path / "rows.jsonl")] == [f"q{n}" for n in range(150)]
    assert figures.scores["recall_by_id@1"].mean == 1


def test_questions_without_gold_are_not_counted(tmp_path: Path) -> None:
    asked = [
        question("both", answers=["Seine"], gold_titles=["Paris"]),
        question("titles", gold_titles=["Oslo"]),
        question("answer", answers=["fjord"], gold_titles=[], gold_passages=[]),
        question("nothing"),
    ]
    retriever = Ranking({"both?": [P[2]], "titles?": [], "answer?": [P[0]], "nothing?": P})
    figures = evaluate_retriever(retriever, asked, directory=tmp_path, ks=[5])
    assert {name: (score.mean, score.n) for name, score in figures.scores.items()} == {
        "recall@5": (0.5, 2),
        "answer_recall@5": (0.5, 2),
        "mrr@5": (0.5, 2),
        "ndcg@5": (0.5, 2),
    }
    assert rows(tmp_path / "rows.jsonl")[3]["scores"] == {}
    assert "the others are not counted" in retrieval_table(figures)


def test_comparison_is_by_question(tmp_path: Path) -> None:
    asked = [question(f"q{n}", gold_titles=["Paris"]) for n in range(12)]
    better = Ranking({f"q{n}?": [P[2]] if n < 10 else [] for n in range(12)})
    worse = Ranking({f"q{n}?": [P[2]] if n in (0, 11) else [] for n in range(12)})
    figures = evaluate_retriever(better, asked, directory=tmp_path, ks=[1], against=worse, manifest={"name": "it"})
    assert figures.differences is not None
    difference = figures.differences["recall@1"]
    assert (difference.n, difference.mean) == (12, pytest.approx(8 / 12))
    assert difference.p == pytest.approx((2 + 10) / 2**10, abs=1e-6)  # McNemar's mid-p test: 9 to 1
    assert difference.low < 8 / 12 < difference.high
    assert [row["scores"]["recall@1"] for row in rows(tmp_path / "against.jsonl")] == [1.0, *[0.0] * 10, 1.0]
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["name"] == "it"
    assert summary["against"]["recall@1"]["mean"] == pytest.approx(2 / 12)
    assert "+66.7" in retrieval_table(figures)
    assert "0.012" in retrieval_table(figures)


def test_what_cannot_be_evaluated_is_said_before_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever, asked = Ranking({}), [question("q", gold_titles=["Paris"])]
    for ks in [], [5, 0]:
        with pytest.raises(UsageError, match="must be at least 1"):
            evaluate_retriever(retriever, asked, directory=tmp_path / "run", ks=ks)
    for none in [], [question("q", gold_titles=[])]:
        with pytest.raises(UsageError, match="no question has gold"):
            evaluate_retriever(retriever, none, directory=tmp_path / "run")
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="is not empty"):
        evaluate_retriever(retriever, asked, directory=tmp_path)
    with pytest.raises(UsageError, match="cannot use the directory"):
        evaluate_retriever(retriever, asked, directory=tmp_path / "thesis.tex")
    monkeypatch.setitem(__import__("sys").modules, "ir_measures", None)
    with pytest.raises(UsageError, match=r"ir_measures is not installed, get it by: pip install 'dspy-odqa\[eval\]'"):
        evaluate_retriever(retriever, asked, directory=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_search_that_fails_ends_it(tmp_path: Path) -> None:
    class Down(Memory):
        def search(self, query: str, k: int) -> list[Passage]:
            raise RetrievalError("down")

    with pytest.raises(RetrievalError, match="down"):
        evaluate_retriever(Down([]), [question("q", gold_titles=["Paris"])], directory=tmp_path)
    assert not (tmp_path / "summary.json").exists()


def call(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_from_the_command_to_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "run"
    flags = ["--retriever", "sample", "--questions", "sample", "--run", str(directory)]
    assert call("retrieval", *flags, "--limit", "20", "-k", "3", "10", "--against", "sample") == 0
    output, errors = capsys.readouterr()
    assert output.startswith("20 questions\n")
    assert errors == f"run: {directory}\n"
    header, recall = (line.split() for line in output.splitlines()[2:4])
    assert (header, recall[:3]) == (["n", "@3", "@10"], ["recall,", "titles", "20"])
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert (summary["questions"], summary["retrievers"]) == (20, ["sample", "sample"])
    assert summary["scores"]["recall@10"]["mean"] > 0.5
    assert all((d["mean"], d["p"]) == (0, 1) for d in summary["differences"].values())
    assert sorted(path.name for path in directory.iterdir()) == ["against.jsonl", "rows.jsonl", "summary.json"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: --retriever, --questions"),
        (["--retriever", "none", "--questions", "sample"], "there is no retriever 'none'"),
        (["--retriever", "sample", "--questions", "missing.jsonl"], "cannot read missing.jsonl"),
        (["--retriever", "sample", "--questions", "sample", "-k", "0"], "a cut-off is a number of passages"),
        (["--retriever", "sample", "--questions", "sample", "-k"], "argument -k: expected at least one argument"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("retrieval", *arguments) == 2
    output, errors = capsys.readouterr()
    (line,) = (line for line in errors.splitlines() if not line.startswith("run: "))
    assert f"error: {complaint}" in line
    assert (output, list(tmp_path.iterdir())) == ("", [])


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
def test_the_figures_of_real_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # README of the data: BM25 with k1 0.9, b 0.4, English stop words and stemmer, title and text.
    BM25.build(read(DATA / "strategyqa.corpus.jsonl.gz"), tmp_path / "index")
    questions = str(DATA / "strategyqa.dev.jsonl.gz")
    flags = ["--retriever", f"bm25:{tmp_path / 'index'}", "--questions", questions, "--run", str(tmp_path / "run")]
    assert call("retrieval", *flags) == 0
    scores = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))["scores"]
    assert (round(scores["recall@5"]["mean"], 3), scores["recall@5"]["n"]) == (0.721, 115)
    assert not any(name.startswith("answer") for name in scores)  # all are answered by yes or no
