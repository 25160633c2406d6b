"""The directory of a run: the one place that reads and writes it. What is finished is kept, whatever happens to a run.

manifest.json   what is run with what (`eval.records.record.Manifest`); written first
rows.jsonl      one line per question (`eval.records.record.Row`), as they finish, each on disk at once
passages.jsonl  the passages that the rows name, with their texts, each once; on disk before the rows are
calls.jsonl     one line per LM call that was paid for, each on disk at once; see `eval.runs.recorded_calls`
summary.json    the figures; written at the end and when the run is interrupted
lock            as long as a process makes the run

When a process is killed while it writes, its last line is cut off: readers leave that line out, and a run that goes on
removes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator

from eval.figures.summary import Figures, Summary
from eval.records.record import Manifest, Row, jsonable
from eval.records.run import CallLog, Run, read_passage, say_left_out
from odqa.files import json_line, json_page, locked, open_regular, replaced, write_whole, writing_lines
from odqa.limits import Limiter, Limits
from odqa.reading import Damaged, lines_as, read_as, reading
from programs.instruments.cost import Cost
from programs.instruments.trace import Trace
from retrieval import Passage, UsageError, union

__all__ = ["Glance", "Store", "answered", "count_paid", "glance", "is_finished", "making", "read", "read_begun"]

_Parsed = TypeVar("_Parsed")

_FORMAT = 2  # 1 had replies as DSPy's cache holds them
_MANIFEST, _CALLS, _LOCK = "manifest.json", "calls.jsonl", "lock"


def read(directory: str | Path, *, skip_damaged: bool = False) -> Run:
    """A run, finished or not.

    Args:
        directory: Of the run.
        skip_damaged: Leave damaged lines out of the rows, passages and calls, and say so in a warning. A question whose
            row is left out is in no figure, and the run is not complete.

    Raises:
        UsageError: the directory holds no run, or one that is damaged or of another version's form.
    """
    path = Path(directory)
    left_out: list[Damaged] = []
    with reading(f"{directory} holds no run"):
        manifest = _manifest(path)
        found = lines_as(path / "rows.jsonl", Row.model_validate, left_out=left_out if skip_damaged else None)
        rows = sorted({row.id: row for row, _ in found}.values(), key=lambda row: row.number)
        failed = all(row.error is not None for row in rows)
        gap = _gap(_summary(path), manifest.asked, len(rows), all_failed=failed)
    if left_out:
        say_left_out(left_out, f"the figures are of the other {len(rows)} of {manifest.asked} questions")
        gap = f"damaged lines of rows.jsonl are left out ({len(left_out)})"
    return Run(str(directory), (path,), manifest, rows, gap, skip_damaged)


def read_begun(directory: str | Path) -> Run | None:
    """As `read`; None where there is no run yet."""
    return read(directory) if (Path(directory) / _MANIFEST).exists() else None


@dataclass(frozen=True, slots=True)
class Glance:
    """What can be said of a run without reading all that happened."""

    directory: Path
    manifest: Manifest
    rows: int
    """How many questions have a row."""
    total: Figures | None
    """Their figures; None where there is no summary of just these rows."""
    gap: str | None
    """Why the run is not complete; None where it is."""


def glance(directory: str | Path) -> Glance:
    """A look at a run that takes no longer for many questions.

    Raises:
        UsageError: the directory holds no run, or one that is damaged or of another version's form.
    """
    path = Path(directory)
    with reading(f"{directory} holds no run"):
        manifest = _manifest(path)
        rows = _count(path / "rows.jsonl")
        summary = _summary(path)
        figures = summary.total if summary and summary.total.n == rows else None
        failed = bool(figures and figures.failed == rows)
        return Glance(path, manifest, rows, figures, _gap(summary, manifest.asked, rows, all_failed=failed))


def answered(directory: str | Path) -> int:
    """How many questions the run in the directory has answered; 0 where there is no run yet.

    Raises:
        UsageError: the run is damaged or of another version's form.
    """
    run = read_begun(directory)
    return 0 if run is None else sum(row.error is None for row in run.rows)


def is_finished(directory: str | Path) -> bool:
    """Whether the run in the directory has answered all of its questions; those that failed would be asked again.

    Raises:
        UsageError: as `answered`.
    """
    count = answered(directory)
    return count > 0 and count == _manifest(Path(directory)).asked


def count_paid(limiter: Limiter, directory: Path) -> None:
    """Count what a run has paid for so far, where it is to be made later within this limiter. A call of unknown price
    counts as free: within a limit of dollars the run stops at its next one.

    Raises:
        UsageError: the run is damaged or of another version's form.
    """
    log = CallLog(directory / _CALLS)
    if limiter.limits == Limits() or not (directory / _MANIFEST).exists() or not limiter.take_up(log.path):
        return
    for call in log.read():
        limiter.count(call.usd or 0.0)
    for test in glance(directory).manifest.self_tests.values():
        limiter.count(test.paid_usd or 0.0, test.lm_calls - test.cached_calls)


@contextmanager
def making(directory: str | Path) -> Iterator[None]:
    """Make a run, or go on with it, in the block, and nobody else meanwhile; the directory is made where it is missing.

    Raises:
        UsageError: another process writes to the directory, or it cannot be used.
    """
    path = Path(directory)
    with ExitStack() as held:
        with reading(f"cannot use the directory {path}"):
            path.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(path / _LOCK, f"{path} is in use: another process writes to it"))
        yield


class Store:
    """Writes the files of a run, or goes on with a run that was cut short. Use it in a block of `making`.

    Attributes:
        manifest: As given, with what the store adds.
        rows: The rows so far, with no more of each than its figures: id, type, scores, error and what it cost. Whole
            rows of a large run would fill the memory. When a run is taken up, those of the answered questions; the rows
            of failed questions are dropped from the file, and these questions are asked again.

    Args:
        directory: The directory of the run.
        manifest: What this run is, as JSON holds it; see `eval.records.record.Manifest`.
        asked: How many questions it is to ask.
        self_tests: What the tests of its judges cost, by metric.
        resumable: Whether the manifest says enough to tell this run from another.

    Raises:
        UsageError: the directory cannot be used, or holds another run, or is damaged; also from the methods.
    """

    OWN = ("format", "started", "asked", "self_tests")
    """What the manifest has of the store's."""

    def __init__(
        self,
        directory: str | Path,
        manifest: Mapping[str, Any],
        *,
        asked: int,
        self_tests: Mapping[str, Any],
        resumable: bool,
    ) -> None:
        self._directory = Path(directory)
        self._rows_file = self._directory / "rows.jsonl"
        self._passages_file = self._directory / "passages.jsonl"
        self._texts: dict[str, int] = {}  # of the passages in the file: hashes, for there may be very many
        self.rows: list[Row] = []
        with self._usable():
            if (self._directory / _MANIFEST).exists():
                self.manifest = self._take_up(manifest, resumable)
            elif {file.name for file in self._directory.iterdir()} - {_LOCK, f"{_MANIFEST}.part"}:
                raise UsageError(f"{directory} holds other files than a run's; choose an empty or a new directory")
            else:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                own = {"format": _FORMAT, "started": started, "asked": asked, "self_tests": self_tests}
                self.manifest = Manifest.model_validate({**manifest, **own})
                write_whole(self._directory / _MANIFEST, json_page(self.manifest.entries()))

    @property
    def calls(self) -> "CallLog":
        """The replies that this run paid for."""
        return CallLog(self._directory / _CALLS)

    def add(self, row: Row) -> None:
        """Write a row; when this returns, the row outlives this process."""
        with self._usable(), writing_lines(self._rows_file) as write:
            write(json_line(row.model_dump()))
        self.rows.append(_figures_of(row))

    def whole_rows(self) -> Iterator[Row]:
        """The rows so far, as they are on disk."""
        return (row for row, _ in lines_as(self._rows_file, Row.model_validate))

    def hold(self, passages: Sequence[Passage]) -> set[tuple[str, str]]:
        """Write those of the passages that were not written before; they are safe when this returns.

        Returns:
            Ids and texts of the passages that the file has with just this text. The file keeps one text per id: where
            a passage comes with a second text, the row has to keep that text itself.
        """
        new = [passage for passage in union(passages) if passage.id not in self._texts]
        if new:
            with self._usable(), writing_lines(self._passages_file) as write:
                write(b"".join(json_line({"id": p.id, "title": p.title, "text": p.text}) for p in new))
            self._texts.update((passage.id, hash(passage.text)) for passage in new)
        return {(p.id, p.text) for p in passages if self._texts[p.id] == hash(p.text)}

    def conclude(self, summary: Summary) -> None:
        """Write the summary in place of an older one."""
        with self._usable():
            write_whole(self._directory / "summary.json", json_page(jsonable(summary)))

    def _take_up(self, manifest: Mapping[str, Any], resumable: bool) -> Manifest:
        if not resumable:
            raise UsageError(f"{self._directory} holds a run already; choose another directory")
        with reading(f"cannot use {self._directory}", "choose another directory for the run"):
            old = _manifest(self._directory)
            was = old.entries()
            different = [
                key for key in {**manifest, **was} if key not in self.OWN and was.get(key) != manifest.get(key)
            ]
            if different:
                raise UsageError(
                    f"{self._directory} holds another run, with different {', '.join(different)}; choose another "
                    "directory"
                )
            self._drop_failed()
            for passage, _ in lines_as(self._passages_file, read_passage):
                self._texts[passage.id] = hash(passage.text)
            if self._passages_file.exists():
                with writing_lines(self._passages_file):
                    pass  # a last line that is cut off is gone
        return old

    def _drop_failed(self) -> None:
        with replaced(self._rows_file) as file:
            for row, line in lines_as(self._rows_file, Row.model_validate):
                if row.error is None:
                    file.write(line)
                    self.rows.append(_figures_of(row))

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"cannot write to the directory {self._directory}: {error.strerror}; make room and start again"
            ) from error


class _Concluded(BaseModel):
    """What is read of a summary."""

    model_config = ConfigDict(allow_inf_nan=False)

    total: Figures
    stopped: str | None = None

    @field_validator("total")
    @classmethod
    def _whole(cls, total: Figures) -> Figures:
        missing = {field.name for field in fields(Cost)} - {"predictors", "usd", "paid_usd"} - total.cost.keys()
        if missing:
            raise ValueError(f"the cost has no {min(missing)}")
        return total


def _manifest(directory: Path) -> Manifest:
    def parse(content: Any) -> Manifest:
        if isinstance(content, dict) and content.get("format") != _FORMAT:
            raise _OtherForm
        return Manifest.model_validate(content)

    try:
        return read_as(directory / _MANIFEST, parse)
    except _OtherForm:
        raise UsageError(f"the run in {directory} has the form of another version of dspy-odqa: run it again") from None


class _OtherForm(Exception):
    """A run is not in the form that is read here."""


def _figures_of(row: Row) -> Row:
    """The row without its texts."""
    without = {"question": None, "answers": (), "gold_titles": None, "gold_passages": None, "prediction": None}
    return row.model_copy(update={**without, "trace": Trace(), "cost": replace(row.cost, predictors={})})


def _count(path: Path) -> int:
    """How many whole lines a file has."""
    if not path.exists():
        return 0
    with open_regular(path) as file:
        return sum(line.endswith(b"\n") for line in file)


def _summary(directory: Path) -> _Concluded | None:
    """What is read of the summary on disk, which may be older than the rows; None where there is none."""
    file = directory / "summary.json"
    return read_as(file, _Concluded.model_validate) if file.exists() else None


def _gap(summary: _Concluded | None, asked: int, rows: int, *, all_failed: bool) -> str | None:
    """Why the run is not complete; None where it is."""
    if rows == asked:
        return None
    if summary is None or summary.total.n != rows:
        return "it was killed, or is under way"
    if summary.stopped:
        return summary.stopped
    return "all of the first questions failed" if rows and all_failed else "it was interrupted"
