"""The rows of runs as a table, a row for each question of each run, for pandas, Polars, R or a spreadsheet."""

import json
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from eval.figures.summary import total
from eval.records.record import Row
from eval.records.run import Run
from odqa.files import replaced
from programs.instruments.cost import Cost, Spent
from retrieval import UsageError

__all__ = ["export", "table"]

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_RUN = ("task", "program", "lm", "retriever")  # of the manifest
_ABOUT = {"run": _TEXT, **dict.fromkeys(_RUN, _TEXT)}
_ROW = {"id": _TEXT, "question": _TEXT, "type": _TEXT, "answers": _TEXTS, "answer": _TEXT, "queries": _TEXTS}
_COST = {f.name: pa.int64() if f.type is int else pa.float64() for f in fields(Cost) if f.name != "predictors"}
_JUDGING = {f"judge_{field.name}": _COST[field.name] for field in fields(Spent)}

# How a formula begins, as spreadsheets read it: behind white space too, and in full width. A number alone is none.
_FORMULA = re.compile(r"[\t\r]|\s*(?:[=@\uff1d\uff20]|[+\-\uff0b\uff0d\u2212](?![0-9.,]*$))")


def table(runs: Sequence[Run]) -> pa.Table:
    """The runs' rows with the columns

    run, task, program, lm, retriever
        the directory, and four entries of the manifest
    id, question, type, answers, answer, queries
        the question, its type and its gold answers, the program's answer and its queries
    a column for each metric
        null where it is not defined, and where the question failed
    error
        null where the question did not fail
    lm_calls … seconds
        the program's cost; see `programs.instruments.cost.Cost`
    judge_lm_calls … judge_paid_usd
        the judges' costs, without their self-tests

    A lone surrogate, which an LM can write and UTF-8 cannot hold, becomes an escape such as \\ud800.

    Raises:
        UsageError: a metric has the name of another column.
    """
    metrics = dict.fromkeys(name for run in runs for row in run.rows for name in row.scores)
    scores = dict.fromkeys(metrics, pa.float64())
    parts = (_ABOUT, _ROW, scores, {"error": _TEXT}, _COST, _JUDGING)
    if taken := [name for name in metrics if any(name in part for part in parts if part is not scores)]:
        raise UsageError(f"the metric {taken[0]!r} cannot be exported: another column has this name")
    schema = {name: kind for part in parts for name, kind in part.items()}
    rows = [_cells(run, row) for run in runs for row in run.rows]
    return pa.table(
        {name: pa.array([_cell(row.get(name), kind) for row in rows], kind) for name, kind in schema.items()}
    )


def export(runs: Sequence[Run], path: str | Path) -> int:
    """Write the table to FILE.csv or FILE.parquet, whole or not at all, and give the number of rows.

    In CSV lists are JSON, and a text that a spreadsheet would take for a formula has an apostrophe before it, so that
    nothing that an LM or a passage says is computed where the file is opened. Parquet has the texts as they are.

    Raises:
        UsageError: the file's name ends in something else, or the file cannot be written; or as `table` says.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise UsageError(f"the file to export to must end in .csv or .parquet, and {path.name} does not")
    whole = table(runs)
    try:
        with replaced(path) as file:
            if path.suffix == ".parquet":
                parquet.write_table(whole, file)
            else:
                csv.write_csv(_for_csv(whole), file)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return int(whole.num_rows)


def _cells(run: Run, row: Row) -> dict[str, Any]:
    judging = total(Spent, list(row.judging.values()))
    return {
        "run": run.name,
        **{name: getattr(run.manifest, name) for name in _RUN},
        **{name: getattr(row, name) for name in ("id", "question", "type", "answers")},
        "answer": row.prediction and row.prediction.answer,
        "queries": row.prediction and row.prediction.queries,
        **row.scores,
        "error": row.error and str(row.error),
        **{name: getattr(row.cost, name) for name in _COST},
        **{f"judge_{field.name}": getattr(judging, field.name) for field in fields(Spent)},
    }


def _cell(value: Any, kind: pa.DataType) -> Any:
    """The value as a column of this kind holds it: lone surrogates in texts are escapes."""
    if value is None or kind not in (_TEXT, _TEXTS):
        return value
    if kind == _TEXTS:
        return [_cell(item, _TEXT) for item in value]
    return value.encode("utf-8", "backslashreplace").decode()


def _for_csv(whole: pa.Table) -> pa.Table:
    """The table with nothing but numbers and texts that are no formulas."""
    for number, column in enumerate(whole.schema):
        values = whole[column.name].to_pylist()
        if column.type == _TEXTS:
            texts = [None if texts is None else json.dumps(texts, ensure_ascii=False) for texts in values]
        elif column.type == _TEXT:
            texts = [text if text is None or not _FORMULA.match(text) else f"'{text}" for text in values]
        else:
            continue
        whole = whole.set_column(number, column.name, pa.array(texts, _TEXT))
    return whole
