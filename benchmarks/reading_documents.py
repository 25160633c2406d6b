"""Seconds to cut one document into passages, by its kind and size: twice the size takes about twice the time.

    python benchmarks/reading_documents.py --megabytes 0.5 1 2

The documents are what cutting is slow at: a paragraph without an end of a sentence, Chinese without punctuation, markup
that is opened and never closed, a table of many columns.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import docx
from measuring import Timer, header, row

from retrieval.corpora.folder import Folder

WORDS = "some words here, "


def of(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode()))


def wide_table(size: int) -> str:
    columns = size // 100
    return "\n".join(",".join(f"c{n}" for n in range(columns)) for _ in range(20))


KINDS: dict[str, Callable[[int], str]] = {
    "words.txt": lambda size: of(WORDS, size),
    "words.md": lambda size: of(WORDS, size),
    "words.html": lambda size: f"<p>{of(WORDS, size)}</p>",
    "words.csv": lambda size: f'id,text\n1,"{of(WORDS, size)}"\n',
    "words.docx": lambda size: of(WORDS, size),
    "chinese.txt": lambda size: of("河流", size),
    "chinese.html": lambda size: f"<p>{of('河流', size)}</p>",
    "stars.md": lambda size: of("*a ", size),
    "bold.html": lambda size: f"<p>{of('<b>a</b> ', size)}</p>",
    "wide.csv": wide_table,
    "rows.csv": lambda size: "id,text\n" + "\n".join(f'{n},"{WORDS * 5}"' for n in range(size // 92)),
}


def seconds(path: Path, text: str) -> float:
    if path.suffix == ".docx":
        made = docx.Document()
        made.add_paragraph(text)
        made.save(str(path))
    else:
        path.write_text(text, encoding="utf-8")
    timer = Timer()
    for _ in Folder(path):
        pass
    return timer.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.5, 1, 2])
    sizes = parser.parse_args().megabytes
    header("document", *(f"{size:g} MB" for size in sizes))
    with tempfile.TemporaryDirectory() as folder:
        for name, make in KINDS.items():
            row(name, *(seconds(Path(folder) / name, make(round(size * 1_000_000))) for size in sizes))


if __name__ == "__main__":
    main()
