"""The corpora that can be fetched by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from retrieval.corpora.archives import read_hotpotqa17, read_wiki17, read_wiki18
from retrieval.passage import Passage

__all__ = ["SOURCES", "HubFile", "Source"]


@dataclass(frozen=True)
class HubFile:
    """A file in a model repository of the Hugging Face hub.

    Attributes:
        repository: Such as "dspy/cache".
        revision: The commit, so that the file cannot change.
        path: Of the file in the repository.
    """

    repository: str
    revision: str
    path: str

    @property
    def url(self) -> str:
        return f"https://huggingface.co/{self.repository}/resolve/{self.revision}/{self.path}"


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from, and what is known about it.

    Attributes:
        name: What `retrieval.corpora.download.fetch` calls it.
        location: Where the archive is: a file on the hub, or a URL.
        size: Bytes of the archive; None if unknown, and then not checked.
        sha256: SHA-256 of the archive, in hexadecimal; None if unknown, and then not checked.
        records: Number of records in the archive; None if unknown, and then not checked.
        licence: One line: the terms of the texts, and whom to name.
        read_archive: Streams the records of the archive as passages, whose texts may be empty.
    """

    name: str
    location: HubFile | str
    size: int | None
    sha256: str | None
    records: int | None
    licence: str
    read_archive: Callable[[IO[bytes]], Iterator[Passage]]

    @property
    def url(self) -> str:
        return self.location if isinstance(self.location, str) else self.location.url

    @property
    def file(self) -> str:
        """The name of the archive."""
        return self.url.rpartition("/")[2]


# Sizes, checksums and counts were published by others who downloaded the same files.
SOURCES = {
    source.name: source
    for source in (
        Source(
            name="wiki17",
            location=HubFile("dspy/cache", "ef6a5e72a98b47cef31574a400fea8fe149559a3", "wiki.abstracts.2017.tar.gz"),
            size=608_448_121,
            sha256="744183e61af986bde9b25c880b59c1502618a8b673671e189cbc0ee684fceb42",
            records=5_233_330,
            licence="English Wikipedia of October 2017, by its contributors, CC BY-SA 3.0 "
            "(https://creativecommons.org/licenses/by-sa/3.0/); abstracts as distributed by DSPy",
            read_archive=read_wiki17,
        ),
        Source(
            name="wiki18",
            location="https://dl.fbaipublicfiles.com/dpr/wikipedia_split/psgs_w100.tsv.gz",
            size=4_694_541_059,
            sha256="c39b020c855a2b5c25ffef3abe4a3b6f9b829ad7dbc14ec3d163d34d7c53ea8d",
            records=21_015_324,
            licence="English Wikipedia of December 2018, by its contributors, CC BY-SA 3.0 "
            "(https://creativecommons.org/licenses/by-sa/3.0/); passages of DPR (Karpukhin et al., 2020), CC BY-NC 4.0",
            read_archive=read_wiki18,
        ),
        Source(
            name="hotpotqa17",
            location="https://nlp.stanford.edu/projects/hotpotqa/"
            "enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2",
            size=1_553_565_403,
            sha256="1acca1c5cc93c4890ea51091d2bad7c3ef6987aead127ab88728dc9e26555729",
            records=5_233_329,
            licence="English Wikipedia of October 2017, by its contributors, as processed for HotpotQA (Yang et al., "
            "2018), CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)",
            read_archive=read_hotpotqa17,
        ),
    )
}
"""The sources, by name."""
