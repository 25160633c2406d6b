import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from support.records import a_row, a_run

from eval.records.record import Row
from eval.records.run import Run
from eval.reports.export import export, table
from programs.instruments.cost import Cost, Spent
from retrieval import UsageError

COST = Cost(7, 2, 700, 30, 0.5, 500, 20, 0.25, searches=3, unparsable=1, seconds=1.5, predictors={"read": Spent(7)})
JUDGED = Spent(2, 0, 90, 4, 0.125, 90, 4, 0.125)


def row(id_: str, answer: str | None = "Rome", error: str | None = None, **fields: Any) -> Row:
    prediction = None if error else {"answer": answer, "queries": ["a", "b"], "passages": [{"id": "1"}]}
    usual = {"question": "Which?", "answers": ["Rome", "Roma"], "scores": {"em": None if error else 1.0}, "cost": COST}
    return a_row(id_, prediction=prediction, error=error, **{**usual, **fields})


def run(*rows: Row, name: str = "runs/a", **manifest: Any) -> Run:
    return a_run(name, rows, {"task": "t", "program": "cot", "lm": "openai/gpt", "retriever": "sample", **manifest})


FORMULAS = ["=1+1", "@x", " =1+1", "\u3000＝1+1", "＠x", "\n+A1"]
STRANGE = ["", " ", "-5", " -5", *FORMULAS, "'", "a\nb\r\nc", 'say "so", or;\tnot', "\0", "Käse 日本 🧀", "NULL", "nan"]
IN_CSV = ["'" + text if text in FORMULAS else text for text in STRANGE]


def written(runs: list[Run], path: Path) -> list[dict[str, Any]]:
    """The rows of the file, read by Arrow with the types that the file or the table says."""
    assert export(runs, path) == sum(len(run.rows) for run in runs)
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    kinds = {field.name: pa.string() if pa.types.is_list(field.type) else field.type for field in table(runs).schema}
    read = arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    ).to_pylist()
    lists = ("answers", "queries")
    return [{n: json.loads(v) if n in lists and v is not None else v for n, v in each.items()} for each in read]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_written_is_what_is_read(suffix: str, tmp_path: Path) -> None:
    rows = [row(str(n), text, question=text, answers=[text, "Rome"]) for n, text in enumerate(STRANGE)]
    rows.append(row("failed", error="LMTimeoutError: late"))
    found = written([run(*rows)], tmp_path / f"out.{suffix}")
    texts = IN_CSV if suffix == "csv" else STRANGE
    assert [each["answer"] for each in found] == [*texts, None]
    assert [each["question"] for each in found] == [*texts, "Which?"]
    assert [each["answers"] for each in found] == [*([text, "Rome"] for text in STRANGE), ["Rome", "Roma"]]
    assert [each["queries"] for each in found] == [*([["a", "b"]] * len(STRANGE)), None]
    assert [each["em"] for each in found] == [*([1.0] * len(STRANGE)), None]
    assert [each["error"] for each in found] == [*([None] * len(STRANGE)), "LMTimeoutError: late"]
    assert [path.name for path in tmp_path.iterdir()] == [f"out.{suffix}"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_any_text_comes_back(suffix: str, tmp_path: Path) -> None:
    texts = st.text(st.characters(codec="utf-8"))

    @settings(max_examples=30)
    @given(st.lists(st.tuples(texts, st.lists(texts)), min_size=1))
    def check(values: list[tuple[str, list[str]]]) -> None:
        rows = [row(str(n), text, answers=several) for n, (text, several) in enumerate(values)]
        found = written([run(*rows)], tmp_path / f"out.{suffix}")
        assert [each["answers"] for each in found] == [several for _, several in values]
        for each, (text, _) in zip(found, values, strict=True):
            assert each["answer"] == text or (suffix == "csv" and each["answer"] == f"'{text}")
            assert suffix == "parquet" or not each["answer"].startswith(("=", "@", "\t", "\r"))

    check()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_lone_surrogate_is_an_escape(suffix: str, tmp_path: Path) -> None:
    (found,) = written([run(row("1", "a\ud800b", answers=["\udfff"]))], tmp_path / f"out.{suffix}")
    assert (found["answer"], found["answers"]) == (r"a\ud800b", [r"\udfff"])


def test_the_columns_of_two_runs() -> None:
    judged = row("1", scores={"em": 0.0, "acc_judge:x": 1.0}, judging={"acc_judge:x": JUDGED}, type="bridge")
    unknown = row("1", cost=replace(COST, usd=None))
    first, second = table([run(judged), run(unknown, name="b", lm="ollama/x")]).to_pylist()
    assert list(first) == [
        *("run", "task", "program", "lm", "retriever", "id", "question", "type", "answers", "answer", "queries"),
        *("em", "acc_judge:x", "error", "lm_calls", "cached_calls", "input_tokens", "output_tokens", "usd"),
        *("paid_input_tokens", "paid_output_tokens", "paid_usd", "searches", "unparsable", "depth", "seconds"),
        *("judge_lm_calls", "judge_cached_calls", "judge_input_tokens", "judge_output_tokens", "judge_usd"),
        *("judge_paid_input_tokens", "judge_paid_output_tokens", "judge_paid_usd"),
    ]
    assert (first["run"], first["lm"], second["run"], second["lm"]) == ("runs/a", "openai/gpt", "b", "ollama/x")
    assert (first["em"], first["acc_judge:x"], second["em"], second["acc_judge:x"]) == (0.0, 1.0, 1.0, None)
    assert (first["type"], first["lm_calls"], first["usd"], first["seconds"]) == ("bridge", 7, 0.5, 1.5)
    assert (first["judge_lm_calls"], first["judge_usd"], second["judge_lm_calls"]) == (2, 0.125, 0)
    assert (second["usd"], second["paid_usd"]) == (None, 0.25)


def test_columns_without_a_value_keep_their_type(tmp_path: Path) -> None:
    export([run(row("1", error="x"))], tmp_path / "out.parquet")
    schema = parquet.read_schema(tmp_path / "out.parquet")
    assert (schema.field("answer").type, schema.field("em").type) == (pa.string(), pa.float64())
    assert schema.field("queries").type == pa.list_(pa.string())
    assert table([run()]).num_rows == 0


def test_pythons_own_reader_reads_it(tmp_path: Path) -> None:
    export([run(*(row(str(n), text) for n, text in enumerate(STRANGE)))], tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        assert [each["answer"] for each in csv.DictReader(file)] == IN_CSV


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    for path, complaint in {
        "out.xlsx": "must end in .csv or .parquet, and out.xlsx does not",
        "missing/out.csv": "cannot write .*/missing/out.csv: No such file or directory",
        "missing/out.parquet": "cannot write .*/missing/out.parquet: No such file or directory",
    }.items():
        with pytest.raises(UsageError, match=complaint):
            export([run(row("1"))], tmp_path / path)
    with pytest.raises(UsageError, match="the metric 'error' cannot be exported"):
        table([run(row("1", scores={"error": 1.0}))])
