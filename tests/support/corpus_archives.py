"""Small archives in the layouts of the corpora that can be fetched."""

import bz2
import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable
from typing import Any

__all__ = ["ABSTRACTS", "ARCHIVES", "BIG", "BIG_RECORDS", "READ", "lines", "linked", "tar"]


def tar(files: dict[str, bytes], *, pack: Callable[[bytes], bytes]) -> bytes:
    """A packed tar of these files, and a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return pack(buffer.getvalue())


def lines(*records: Any) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


ABSTRACTS = [
    {"title": "Anarchism", "text": ["Anarchism is a philosophy.", "It is – old. "]},
    {"title": "No text", "text": []},
    {"title": "Zürich", "text": ["A city.", " ", " On a lake."]},
]
WIKI17 = tar({"wiki.abstracts.2017.jsonl": lines(*ABSTRACTS)}, pack=gzip.compress)
WIKI18 = gzip.compress(
    'id\ttext\ttitle\n1\t"Aaron ( or ; ""Ahärôn"") is a prophet."\tAaron\n2\tGod at Sinai\t"""Heroes"""\n'.encode()
)


def linked(identifier: Any, title: str, *text: str) -> dict[str, Any]:
    """A record of HotpotQA's archive."""
    return {
        "id": identifier,
        "url": f"https://en.wikipedia.org/wiki?curid={identifier}",
        "title": title,
        "text": text,
        "text_with_links": [f'<a href="x">{sentence}</a>' for sentence in text],
        "charoffset": [[[0, 1]]],
        "charoffset_with_links": [[[0, 1]]],
    }


HOTPOTQA17 = tar(
    {
        "enwiki/AA/wiki_00.bz2": bz2.compress(lines(linked("12", "AT&amp;T", "One.", " Two < three."))),
        "enwiki/AA/wiki_01.bz2": bz2.compress(lines(linked("39", "Albedo", "Four."), linked(40, "Blank", " "))),
    },
    pack=bz2.compress,
)
READ = {
    "wiki17": [("0", "Anarchism", "Anarchism is a philosophy. It is – old."), ("2", "Zürich", "A city. On a lake.")],
    "wiki18": [("1", "Aaron", 'Aaron ( or ; "Ahärôn") is a prophet.'), ("2", '"Heroes"', "God at Sinai")],
    "hotpotqa17": [("12", "AT&amp;T", "One. Two < three."), ("39", "Albedo", "Four.")],
}
ARCHIVES = {"wiki17": WIKI17, "wiki18": WIKI18, "hotpotqa17": HOTPOTQA17}
"""What is read from them: ids, titles and texts."""


def big(size: int = 300_000) -> bytes:
    """An archive of wiki17 that does not compress."""
    noise = random.Random(0).randbytes(size).hex()
    texts = [{"title": str(n), "text": [noise[n : n + 2000]]} for n in range(0, len(noise), 2000)]
    return tar({"wiki.abstracts.2017.jsonl": lines(*texts)}, pack=gzip.compress)


BIG, BIG_RECORDS = big(), 300
