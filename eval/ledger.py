"""The directory of a run, which keeps everything that is finished whatever happens to the run.

manifest.json   what is run with what; written first
rows.jsonl      one row per question, in the order in which they finish, each on disk at once
calls.jsonl     one line per LM call that was paid for, each on disk at once; see eval.calls
summary.json    the figures; written at the end and when the run is interrupted
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.summary import Row, Summary
from retrieval import UsageError

__all__ = ["Ledger"]


class Ledger:
    """Makes the directory, or takes up the run in it that was cut short.

    Attributes:
        manifest: As given, with the time when the run was first started.
        rows: The rows so far. Of a run that is taken up those of the answered questions; the rows of questions that
            failed are dropped from the file, to be asked again.

    Args:
        directory: The directory, made where it is missing.
        manifest: What this run is, as JSON holds it.
        resumable: Whether the manifest says enough to tell this run from another.

    Raises:
        UsageError: the directory cannot be used, or holds another run, or is damaged; also from the methods.
    """

    def __init__(self, directory: str | Path, manifest: dict[str, Any], *, resumable: bool) -> None:
        self._directory = Path(directory)
        self._rows_file = self._directory / "rows.jsonl"
        manifest_file = self._directory / "manifest.json"
        self.rows: list[Row] = []
        with self._usable():
            self._directory.mkdir(parents=True, exist_ok=True)
            if manifest_file.exists():
                self.manifest = self._take_up(manifest_file, manifest, resumable)
            elif any(self._directory.iterdir()):
                raise UsageError(f"{directory} holds other files than a run's; choose an empty or a new directory")
            else:
                self.manifest = {**manifest, "started": datetime.now(UTC).isoformat(timespec="seconds")}
                _replace(manifest_file, _pretty(self.manifest))

    def add(self, row: Row) -> None:
        """Write a row; it is safe from the end of this process when this returns."""
        with self._usable(), open(self._rows_file, "ab") as file:
            file.write(_line(row))
        self.rows.append(row)

    def conclude(self, summary: Summary) -> None:
        """Write the summary in place of an older one."""
        with self._usable():
            _replace(self._directory / "summary.json", _pretty(asdict(summary)))

    def _take_up(self, manifest_file: Path, manifest: dict[str, Any], resumable: bool) -> dict[str, Any]:
        if not resumable:
            raise UsageError(f"{self._directory} holds a run already; choose another directory")
        try:
            old: dict[str, Any] = json.loads(manifest_file.read_bytes())
            different = [key for key in {**manifest, **old} if key != "started" and old.get(key) != manifest.get(key)]
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
        _replace(self._rows_file, b"".join(map(_line, self.rows)))
        return old

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot use the directory {self._directory}: {error.strerror}") from error


def _line(row: Row) -> bytes:
    # A lone surrogate, which an LM can write and UTF-8 cannot hold, becomes the escape that JSON has for it.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _pretty(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
