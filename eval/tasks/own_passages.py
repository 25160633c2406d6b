"""Oracle corpora: what the questions of a data set bring along, added to a corpus (MIGRES 4.1).

With them retrieval cannot fail for want of a passage: the gold ones are there, among the distractors.
"""

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path

from retrieval import Passage, UsageError

__all__ = ["write_corpus"]


def write_corpus(out: str | Path, own: Iterable[Passage], base: Iterable[Passage] = ()) -> tuple[int, int]:
    """Write a corpus for `python -m retrieval index`: the base, then what it does not have of the questions' own.

    Two passages are the same when title and text are, but for white space. The file appears whole or not at all.

    Args:
        out: JSON lines, gzipped where the name ends in .gz.
        own: The questions' passages, as from `Task.passages`.
        base: The passages to add them to, as from `retrieval.corpora.reader.read`; they stay as they are.

    Returns:
        How many passages of the base were written, and how many of the questions' own.

    Raises:
        UsageError: the file cannot be written.
    """
    out = Path(out)
    part = out.with_name(out.name + ".part")
    missing = {_key(passage): passage for passage in own}
    count = 0
    try:
        with gzip.open(part, "wb") if out.suffix == ".gz" else part.open("wb") as file:
            for passage in base:
                count += 1
                missing.pop(_key(passage), None)
                file.write(_line(passage))
            file.writelines(map(_line, missing.values()))
        os.replace(part, out)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return count, len(missing)


def _key(passage: Passage) -> tuple[str, str]:
    return " ".join(passage.title.split()), " ".join(passage.text.split())


def _line(passage: Passage) -> bytes:
    fields = {"id": passage.id, "title": passage.title, "text": passage.text}
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
