"""The directory of a run: the one place that reads and writes it. What is finished is kept, whatever happens to a run.

manifest.json   what is run with what (`eval.runs.record.Manifest`); written first
rows.jsonl      one line per question (`eval.runs.record.Row`), in the order in which they finish, each on disk at once
passages.jsonl  the passages that the rows name, with their texts, each once; on disk before the rows are
calls.jsonl     one line per LM call that was paid for, each on disk at once; see `eval.runs.recorded_calls`
summary.json    the figures; written at the end and when the run is interrupted

When a process is killed while it writes, its last line is cut off: readers leave that line out, and a run that goes on
removes it.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from eval.figures.summary import Figures, Summary
from eval.runs.record import Manifest, PaidCall, Row
from programs.instruments.trace import Trace
from retrieval import Passage, UsageError, union
from retrieval.files import json_line, json_page, replaced, write_whole

__all__ = ["CallLog", "Glance", "Run", "Store", "answered", "glance", "is_finished", "read"]

_Parsed = TypeVar("_Parsed")

_FORMAT = 1
_ELSEWHERE = "choose another directory for the run"


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is on disk, finished or not; or several that count as one."""

    name: str
    directories: tuple[Path, ...]
    """One; of the best of several runs, those of all."""
    manifest: Manifest
    rows: list[Row]
    """The last row of each question."""
    gap: str | None
    """Why the run is not complete, in words; None where it is."""

    def passages(self) -> dict[str, Passage]:
        """The passages that the rows name, by id.

        Raises:
            UsageError: a file cannot be read or is damaged.
        """
        files = [directory / "passages.jsonl" for directory in self.directories]
        with _reading(f"cannot read the passages of {self.name}", f"the passages of {self.name} are damaged"):
            return {passage.id: passage for file in files for passage, _ in _lines(file, _passage)}

    def calls(self) -> Iterator[PaidCall]:
        """The LM calls that were paid for, in the order in which they were answered.

        Raises:
            UsageError: a file cannot be read or is damaged.
        """
        with _reading(f"cannot read the calls of {self.name}", f"the calls of {self.name} are damaged"):
            for directory in self.directories:
                yield from (call for call, _ in _lines(directory / "calls.jsonl", PaidCall.model_validate))


def read(directory: str | Path) -> Run:
    """A run, finished or not.

    Raises:
        UsageError: the directory holds no run, or one that is damaged or of another version's form.
    """
    path = Path(directory)
    with _reading(f"{directory} holds no run", f"the run in {directory} is damaged"):
        manifest = _manifest(path)
        rows = list({row.id: row for row, _ in _lines(path / "rows.jsonl", Row.model_validate)}.values())
        failed = all(row.error is not None for row in rows)
        gap = _gap(_summary(path), manifest.asked, len(rows), all_failed=failed)
        return Run(str(directory), (path,), manifest, rows, gap)


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
    with _reading(f"{directory} holds no run", f"the run in {directory} is damaged"):
        manifest = _manifest(path)
        rows = _count(path / "rows.jsonl")
        summary = _summary(path)
        total = summary["total"] if summary and summary["total"]["n"] == rows else None
        figures = None if total is None else TypeAdapter(Figures).validate_python(total)
        failed = bool(figures and figures.failed == rows)
        return Glance(path, manifest, rows, figures, _gap(summary, manifest.asked, rows, all_failed=failed))


def answered(directory: str | Path) -> int:
    """How many questions the run in the directory has answered; 0 where there is no run yet.

    Raises:
        UsageError: the run is damaged or of another version's form.
    """
    if not (Path(directory) / "manifest.json").exists():
        return 0
    return sum(row.error is None for row in read(directory).rows)


def is_finished(directory: str | Path) -> bool:
    """Whether the run in the directory has answered all of its questions; those that failed would be asked again.

    Raises:
        UsageError: as `answered`.
    """
    count = answered(directory)
    return count > 0 and count == _manifest(Path(directory)).asked


class Store:
    """Makes the directory of a run, or goes on with the run in it that was cut short.

    Attributes:
        manifest: As given, with what the store adds.
        rows: The rows so far, with no more of each than its figures: id, type, scores, error and what it cost. Whole
            rows of a large run would fill the memory. When a run is taken up, those of the answered questions; the rows
            of failed questions are dropped from the file, and these questions are asked again.

    Args:
        directory: The directory, made where it is missing.
        manifest: What this run is, as JSON holds it; see `eval.runs.record.Manifest`.
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
            self._directory.mkdir(parents=True, exist_ok=True)
            if (self._directory / "manifest.json").exists():
                self.manifest = self._take_up(manifest, resumable)
            elif any(self._directory.iterdir()):
                raise UsageError(f"{directory} holds other files than a run's; choose an empty or a new directory")
            else:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                own = {"format": _FORMAT, "started": started, "asked": asked, "self_tests": self_tests}
                self.manifest = Manifest.model_validate({**manifest, **own})
                write_whole(self._directory / "manifest.json", json_page(self.manifest.entries()))

    @property
    def calls(self) -> "CallLog":
        """The replies that this run paid for."""
        return CallLog(self._directory / "calls.jsonl")

    def add(self, row: Row) -> None:
        """Write a row; when this returns, the row outlives this process."""
        with self._usable(), open(self._rows_file, "ab") as file:
            file.write(json_line(row.model_dump(mode="json")))
        self.rows.append(_figures_of(row))

    def whole_rows(self) -> Iterator[Row]:
        """The rows so far, as they are on disk."""
        return (row for row, _ in _lines(self._rows_file, Row.model_validate))

    def hold(self, passages: Sequence[Passage]) -> set[tuple[str, str]]:
        """Write those of the passages that were not written before; they are safe when this returns.

        Returns:
            Ids and texts of the passages that the file has with just this text. The file keeps one text per id: where
            a passage comes with a second text, the row has to keep that text itself.
        """
        new = [passage for passage in union(passages) if passage.id not in self._texts]
        if new:
            with self._usable(), open(self._passages_file, "ab") as file:
                file.write(b"".join(json_line({"id": p.id, "title": p.title, "text": p.text}) for p in new))
            self._texts.update((passage.id, hash(passage.text)) for passage in new)
        return {(p.id, p.text) for p in passages if self._texts[p.id] == hash(p.text)}

    def conclude(self, summary: Summary) -> None:
        """Write the summary in place of an older one."""
        with self._usable():
            write_whole(self._directory / "summary.json", json_page(to_jsonable_python(summary)))

    def _take_up(self, manifest: Mapping[str, Any], resumable: bool) -> Manifest:
        if not resumable:
            raise UsageError(f"{self._directory} holds a run already; choose another directory")
        with _reading(f"cannot use {self._directory}", f"the run in {self._directory} is damaged; {_ELSEWHERE}"):
            old = _manifest(self._directory)
            was = old.entries()
            different = [
                key for key in {**manifest, **was} if key not in self.OWN and was.get(key) != manifest.get(key)
            ]
            if not different:
                self._drop_failed()
        if different:
            raise UsageError(
                f"{self._directory} holds another run, with different {', '.join(different)}; choose another directory"
            )
        if self._passages_file.exists():
            end = 0
            with _reading(f"cannot use {self._passages_file}", f"{self._passages_file} is damaged; {_ELSEWHERE}"):
                for passage, line in _lines(self._passages_file, _passage):
                    end += len(line)
                    self._texts[passage.id] = hash(passage.text)
            os.truncate(self._passages_file, end)
        return old

    def _drop_failed(self) -> None:
        with replaced(self._rows_file) as file:
            for row, line in _lines(self._rows_file, Row.model_validate):
                if row.error is None:
                    file.write(line)
                    self.rows.append(_figures_of(row))

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot use the directory {self._directory}: {error.strerror}") from error


class CallLog:
    """The file with the LM calls that were paid for, each with its reply.

    Args:
        path: The file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Iterator[PaidCall]:
        """The calls so far, one at a time. When all are read, a last line that is cut off is removed from the file.

        Raises:
            UsageError: the file cannot be used or is damaged.
        """
        end = 0
        with _reading(f"cannot use {self._path}", f"{self._path} is damaged; {_ELSEWHERE}"):
            for call, line in _lines(self._path, PaidCall.model_validate):
                end += len(line)
                yield call
            if self._path.exists():
                os.truncate(self._path, end)

    def begin_with(self, directory: Path) -> None:
        """Take in the calls of the run in this directory, unless there are calls already.

        Raises:
            UsageError: a file cannot be used.
        """
        with _reading(f"cannot use {self._path}", f"{self._path} is damaged; {_ELSEWHERE}"):
            if not self._path.exists() and (directory / "calls.jsonl").exists():
                write_whole(self._path, (directory / "calls.jsonl").read_bytes())

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], object]]:
        """Gives a function that writes a call, as a line; when it returns, the call outlives this process.

        Any thread may write, and writes after the block are refused with a ValueError: a question that was left behind
        may still be under way.
        """
        file, lock = self._path.open("ab", buffering=0), threading.Lock()

        def write(line: bytes) -> None:
            with lock:
                while line:  # a disk that is nearly full takes a part, and refuses the rest
                    line = line[file.write(line) :]

        try:
            yield write
        finally:
            with lock:  # closed under a writer, the file's number could be another file's by the time it writes
                file.close()


@contextmanager
def _reading(missing: str, damaged: str) -> Iterator[None]:
    """Turn whatever is wrong with a file into a UsageError of one line."""
    try:
        yield
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"{missing}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(damaged) from error


def _manifest(directory: Path) -> Manifest:
    content = json.loads((directory / "manifest.json").read_bytes())
    if content.get("format") != _FORMAT:
        raise UsageError(f"the run in {directory} has the form of another version of dspy-odqa: run it again")
    return Manifest.model_validate(content)


_passage = TypeAdapter(Passage).validate_python


def _figures_of(row: Row) -> Row:
    """The row without its texts."""
    without = {"question": None, "answers": (), "gold_titles": None, "gold_passages": None, "prediction": None}
    return row.model_copy(update={**without, "trace": Trace(), "cost": replace(row.cost, predictors={})})


def _lines(path: Path, parse: Callable[[Any], _Parsed]) -> Iterator[tuple[_Parsed, bytes]]:
    """What each line of a file holds, and the line. A last line that is cut off is left out; a file that is missing has
    no lines."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield parse(json.loads(line)), line


def _count(path: Path) -> int:
    """How many whole lines a file has."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


def _summary(directory: Path) -> Any:
    """The summary on disk, which may be older than the rows; None where there is none."""
    file = directory / "summary.json"
    return json.loads(file.read_bytes()) if file.exists() else None


def _gap(summary: Any, asked: int, rows: int, *, all_failed: bool) -> str | None:
    """Why the run is not complete; None where it is."""
    if rows == asked:
        return None
    if summary is None or summary["total"]["n"] != rows:
        return "it was killed, or is under way"
    if summary["stopped"]:
        return str(summary["stopped"])
    return "all of the first questions failed" if rows and all_failed else "it was interrupted"
