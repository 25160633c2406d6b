"""Writes oracle corpora: a corpus, and the passages that the questions of a data set bring along (MIGRES 4.1).

Over such a corpus retrieval never fails for want of a passage: the gold ones are there, among distractors.
"""

import gzip
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from odqa.files import json_line, replaced
from retrieval import Passage, UsageError

__all__ = ["write_corpus"]


def write_corpus(out: str | Path, own: Iterable[Passage], base: Iterable[Passage] = ()) -> tuple[int, int]:
    """Write a corpus for `odqa index`: the base, then the questions' passages that the base lacks.

    Two passages are the same if their titles and texts are, apart from white space. The file appears whole or not at
    all.

    Args:
        out: The file of JSON lines to write, gzipped if the name ends in .gz.
        own: The questions' passages, as from `Task.passages`.
        base: The passages to add them to, as from `retrieval.corpora.reader.read`; they stay as they are.

    Returns:
        How many passages of the base were written, and how many of the questions' own.

    Raises:
        UsageError: the file cannot be written.
    """
    out = Path(out)
    missing = {_key(passage): passage for passage in own}
    count = 0
    try:
        with replaced(out) as plain, gzip.open(plain, "wb") if out.suffix == ".gz" else nullcontext(plain) as file:
            for passage in base:
                count += 1
                missing.pop(_key(passage), None)
                file.write(_line(passage))
            file.writelines(map(_line, missing.values()))
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}") from error
    return count, len(missing)


def _key(passage: Passage) -> tuple[str, str]:
    return " ".join(passage.title.split()), " ".join(passage.text.split())


def _line(passage: Passage) -> bytes:
    return json_line({"id": passage.id, "title": passage.title, "text": passage.text})
