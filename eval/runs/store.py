"""The directory of a run, which keeps everything that is finished whatever happens to the run.

manifest.json   what is run with what; written first
rows.jsonl      one row per question, in the order in which they finish, each on disk at once; see eval.figures.summary
passages.jsonl  the passages that the rows speak of, with their texts, each once; on disk before the rows are
calls.jsonl     one line per LM call that was paid for, each on disk at once; see eval.runs.recorded_calls
summary.json    the figures; written at the end and when the run is interrupted
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.figures.summary import Row, Summary
from retrieval import Passage, UsageError, union

__all__ = ["Ledger", "read_passages"]

_OWN = ("started", "asked", "self_tests")  # what the manifest has of the ledger's


class Ledger:
    """Makes the directory, or takes up the run in it that was cut short.

    Attributes:
        manifest: As given, with `started`, the time when the run was first started, `asked`, how many questions it
            is to ask, and `self_tests`, what the tests of its judges cost then.
        rows: The rows so far. Of a run that is taken up those of the answered questions; the rows of questions that
            failed are dropped from the file, to be asked again.

    Args:
        directory: The directory, made where it is missing.
        manifest: What this run is, as JSON holds it.
        asked: How many questions it is to ask.
        self_tests: What the tests of its judges cost, as JSON holds it, by the names of their metrics.
        resumable: Whether the manifest says enough to tell this run from another.

    Raises:
        UsageError: the directory cannot be used, or holds another run, or is damaged; also from the methods.
    """

    def __init__(
        self,
        directory: str | Path,
        manifest: dict[str, Any],
        *,
        asked: int,
        self_tests: dict[str, Any],
        resumable: bool,
    ) -> None:
        self._directory = Path(directory)
        self._rows_file = self._directory / "rows.jsonl"
        self._passages_file = self._directory / "passages.jsonl"
        self._texts: dict[str, int] = {}  # of the passages in the file: hashes, for there may be very many
        manifest_file = self._directory / "manifest.json"
        self.rows: list[Row] = []
        with self._usable():
            self._directory.mkdir(parents=True, exist_ok=True)
            if manifest_file.exists():
                self.manifest = self._take_up(manifest_file, manifest, resumable)
            elif any(self._directory.iterdir()):
                raise UsageError(f"{directory} holds other files than a run's; choose an empty or a new directory")
            else:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                self.manifest = {**manifest, "started": started, "asked": asked, "self_tests": self_tests}
                _replace(manifest_file, _pretty(self.manifest))

    def add(self, row: Row) -> None:
        """Write a row; it is safe from the end of this process when this returns."""
        with self._usable(), open(self._rows_file, "ab") as file:
            file.write(_line(row))
        self.rows.append(row)

    def hold(self, passages: Sequence[Passage]) -> set[tuple[str, str]]:
        """Write those of the passages that were not written before; they are safe when this returns.

        Returns:
            Ids and texts of those that the file has with this text. Another text of the same id it does not take in:
            what speaks of that one has to bring the text along.
        """
        new = [passage for passage in union(passages) if passage.id not in self._texts]
        if new:
            with self._usable(), open(self._passages_file, "ab") as file:
                file.write(b"".join(_line({"id": p.id, "title": p.title, "text": p.text}) for p in new))
            self._texts.update((passage.id, hash(passage.text)) for passage in new)
        return {(p.id, p.text) for p in passages if self._texts[p.id] == hash(p.text)}

    def conclude(self, summary: Summary) -> None:
        """Write the summary in place of an older one."""
        with self._usable():
            _replace(self._directory / "summary.json", _pretty(asdict(summary)))

    def _take_up(self, manifest_file: Path, manifest: dict[str, Any], resumable: bool) -> dict[str, Any]:
        if not resumable:
            raise UsageError(f"{self._directory} holds a run already; choose another directory")
        try:
            old: dict[str, Any] = json.loads(manifest_file.read_bytes())
            different = [key for key in {**manifest, **old} if key not in _OWN and old.get(key) != manifest.get(key)]
            lines = self._rows_file.read_bytes().splitlines(keepends=True) if self._rows_file.exists() else []
            if lines and not lines[-1].endswith(b"\n"):
                del lines[-1]  # the process was killed while it wrote this one
            self.rows = [row for row in map(json.loads, lines) if row["error"] is None]
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise UsageError(f"the run in {self._directory} is damaged; choose another directory") from error
        if different:
            raise UsageError(
                f"{self._directory} holds another run, with different {', '.join(different)}; choose another directory"
            )
        if self._passages_file.exists():  # a run without passages has none, nor one that is older than this file
            end = 0
            for passage, size in _passages(self._passages_file):
                end += size
                self._texts[passage.id] = hash(passage.text)
            os.truncate(self._passages_file, end)
        _replace(self._rows_file, b"".join(map(_line, self.rows)))
        return old

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot use the directory {self._directory}: {error.strerror}") from error


def read_passages(directory: str | Path) -> dict[str, Passage]:
    """A run's passages by their ids, those so far where it is under way; none where it is older than their file.

    Raises:
        UsageError: the file cannot be read or is damaged.
    """
    path = Path(directory) / "passages.jsonl"
    return {passage.id: passage for passage, _ in _passages(path)} if path.exists() else {}


def _passages(path: Path) -> Iterator[tuple[Passage, int]]:
    """The passages in the file, each with the length of its line in bytes. A line without its end is being written, or
    was when the process was killed."""
    try:
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield Passage(**json.loads(line)), len(line)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path} is damaged; choose another directory for the run") from error


def _line(row: dict[str, Any]) -> bytes:
    # A lone surrogate, which an LM can write and UTF-8 cannot hold, becomes the escape that JSON has for it.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _pretty(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
