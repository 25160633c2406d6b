"""Building a ColBERT index, step by step: a build that was interrupted goes on after its last finished step."""

import json
import math
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odqa.cluster import Workers
from odqa.errors import UsageError
from odqa.files import replaced, write_whole
from retrieval.colbert.codec import Codec, load_lengths, load_tensors
from retrieval.colbert.encoder import Checkpoint, find_device
from retrieval.colbert.libraries import faiss, torch
from retrieval.descriptions import write_description
from retrieval.encoding import do_tasks
from retrieval.indexes import Corpus, Progress, checked_passages, store_passages
from retrieval.passage import Passage, joined

__all__ = [
    "DESCRIPTION",
    "FORMAT",
    "IVF",
    "METADATA",
    "Builder",
    "chunks_of",
    "describe",
    "save",
    "write_chunk",
    "write_inverted_lists",
    "write_metadata",
]

DESCRIPTION, METADATA, IVF = "colbert.json", "metadata.json", "ivf.pid.pt"
FORMAT = 1


_CHUNK = 25_000  # passages in a file, colbert-ai's number
_PART = 1000  # passages encoded between two steps of the progress; divides the chunk


class Builder:
    """Makes the files of an index that are not there yet, in the working directory of a build."""

    def __init__(
        self,
        work: Path,
        config: dict[str, Any],
        checkpoint: Checkpoint,
        batch_size: int,
        progress: Progress,
        workers: Workers | None = None,
    ) -> None:
        self._out, self._settings, self._sample = work / "index", work / "settings.json", work / "sample"
        self._config, self._checkpoint = config, checkpoint
        self._batch_size, self._progress, self._workers = batch_size, progress, workers

    def run(self, passages: Iterable[Passage], resume: bool) -> Path:
        """Returns the directory of the finished index."""
        if not resume:
            for directory in self._out, self._sample:
                shutil.rmtree(directory, ignore_errors=True)
            self._settings.unlink(missing_ok=True)
        self._out.mkdir(exist_ok=True)
        self._sample.mkdir(exist_ok=True)
        description = describe(self._config, store_passages(self._out, checked_passages(passages)))
        self._check(description)
        self._corpus = Corpus(self._out)
        if not (self._out / "centroids.pt").is_file():
            self._train()
        chunks = chunks_of(range(len(self._corpus)))
        missing = [(n, some) for n, some in enumerate(chunks) if not (self._out / f"{n}.metadata.json").is_file()]
        self._codec = Codec.load_from(self._out, self._config["nbits"], self._checkpoint.device)
        if self._workers:
            self._have_done("compress", missing, "encoding")
        else:
            self.compress(missing)
        write_inverted_lists(self._out, chunks, len(self._codec.centroids))
        self._describe(chunks)
        write_description(self._out, DESCRIPTION, description)
        return self._out

    def _check(self, description: dict[str, Any]) -> None:
        """Check that the work that is there was done for the same passages, with the same settings."""
        if not self._settings.is_file():
            write_whole(self._settings, json.dumps(description))
        elif json.loads(self._settings.read_bytes()) != description:
            raise UsageError(
                f"{self._settings.parent} has an unfinished build of other passages or with other settings: "
                "give those passages and settings to finish it, or build without resuming to delete it"
            )

    def _train(self) -> None:
        """Train the centroids on a sample of the passages, and the residuals' buckets on a part held out of it."""
        total, dim, bits = len(self._corpus), self._checkpoint.dim, self._config["nbits"]
        size = _sample_size(total)
        parts = _parts(sorted(random.Random(12345).sample(range(total), size)))
        missing = [part for part in parts if not self._kept(part).is_file()]
        if self._workers:
            self._have_done("sample", missing, "sampling")
        else:
            self.sample(missing)
        vectors = torch.cat([load_tensors(self._kept(part))[0] for part in parts])
        shuffled = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(12345))
        held = max(1, min(len(vectors) // 20, 50_000, 2**24 // dim))  # quantile takes at most 2**24 values
        held_out = torch.zeros(len(vectors), dtype=torch.bool)
        held_out[shuffled[:held]] = True
        partitions = 2 ** int(math.log2(16 * math.sqrt(len(vectors) * total / size)))  # colbert-ai's rule
        kmeans = faiss.Kmeans(
            dim,
            min(partitions, len(vectors) - held),
            niter=self._config["kmeans_niters"],
            gpu=self._checkpoint.device.type == "cuda" and faiss.get_num_gpus() > 0,
            seed=123,
            min_points_per_centroid=1,  # or it writes to stderr that it would like more
        )
        for trained in self._progress([vectors[~held_out].float().numpy()], desc="clustering"):
            kmeans.train(trained)
        centroids = torch.nn.functional.normalize(torch.from_numpy(kmeans.centroids), dim=-1)
        rest = vectors[held_out].float()
        nearest = Codec(bits, self._checkpoint.device, centroids=centroids).compress_into_codes(rest)
        residuals = rest - centroids[nearest]
        steps = torch.arange(2**bits) / 2**bits
        buckets = residuals.quantile(steps[1:]), residuals.quantile(steps + 0.5 / 2**bits)
        save(self._out / "avg_residual.pt", residuals.abs().mean())
        save(self._out / "buckets.pt", buckets)
        save(self._out / "centroids.pt", centroids.half())  # last: shows that all three are there
        if size < total:
            shutil.rmtree(self._sample)

    def sample(self, parts: Sequence[Sequence[int]]) -> None:
        """Encode these parts of the corpus and keep their vectors."""
        for part, encoded in zip(parts, self._encoded(parts, "sampling"), strict=True):
            save(self._kept(part), encoded)

    def compress(self, chunks: Sequence[tuple[int, range]]) -> None:
        """Write these chunks, each with its number."""
        encoded = self._encoded([part for _, rows in chunks for part in _parts(rows)], "encoding")
        for n, rows in chunks:
            self._compress(n, rows, islice(encoded, len(_parts(rows))))
        next(encoded, None)  # or the progress would not see its end

    def take_up(self) -> None:
        """Prepare for `sample`, and for `compress` if there is a codec, in another process than that of `run`."""
        self._corpus = Corpus(self._out)
        if (self._out / "centroids.pt").is_file():
            self._codec = Codec.load_from(self._out, self._config["nbits"], self._checkpoint.device)

    def _have_done(self, what: str, tasks: Sequence[Any], stage: str) -> None:
        """Have workers do `what`, which is a method, with each task."""
        device = None if self._checkpoint.device.type == "cuda" else str(self._checkpoint.device)
        of_builder = str(self._out.parent), self._config, str(self._checkpoint.path), device, self._batch_size
        assert self._workers
        do_tasks(self._workers, _Worker, (what, *of_builder), tasks, progress=self._progress, stage=stage)

    def _kept(self, part: Sequence[int]) -> Path:
        """The file for the vectors of a part of the sample, named by the part's ends and size."""
        return self._sample / f"{part[0]}-{part[-1]}-{len(part)}.pt"

    def _encoded(self, parts: Sequence[Sequence[int]], stage: str) -> Iterator[tuple[torch.Tensor, list[int]]]:
        """For each part of the corpus what the encoder gives: its vectors, and how many each passage has."""
        for part in self._progress(parts, desc=stage):
            if stage == "encoding" and self._kept(part).is_file():  # where the sample is the whole corpus
                yield load_tensors(self._kept(part))
            else:
                texts = [joined(self._corpus.passage(row)) for row in part]
                yield self._checkpoint.encode_passages(texts, self._batch_size)

    def _compress(self, n: int, rows: range, encoded: Iterable[tuple[torch.Tensor, list[int]]]) -> None:
        """Write chunk `n`, the passages in `rows`."""
        packed, lengths = [], []
        for vectors, some in encoded:
            packed.append(self._codec.compress(vectors))
            lengths += some
        codes, residuals = (torch.cat([getattr(part, name) for part in packed]) for name in ("codes", "residuals"))
        write_chunk(self._out, n, rows.start, codes, residuals, lengths)

    def _describe(self, chunks: Sequence[range]) -> None:
        """Write what the index is, for colbert-ai."""
        tokens = sum(int(load_lengths(self._out, n).sum()) for n in range(len(chunks)))
        write_metadata(self._out, self._config, len(chunks), len(self._codec.centroids), tokens, len(self._corpus))


class _Worker:
    """A builder in another process, which does parts of the work."""

    def __init__(
        self, what: str, work: str, config: dict[str, Any], checkpoint: str, device: str | None, batch_size: int
    ) -> None:
        loaded = Checkpoint(Path(checkpoint), find_device(device), doc_maxlen=config["doc_maxlen"])
        builder = Builder(Path(work), config, loaded, batch_size, lambda parts, desc: parts)
        builder.take_up()
        self._do = getattr(builder, what)

    def __call__(self, task: Any) -> None:
        self._do([task])


def describe(config: dict[str, Any], digest: str) -> dict[str, Any]:
    """What the description says of an index with passages of that digest."""
    return {"format": FORMAT, "config": config, "chunk": _CHUNK, "sha256": digest}


def chunks_of(rows: range) -> list[range]:
    """The rows of the files of an index."""
    return [rows[begin : begin + _CHUNK] for begin in range(0, len(rows), _CHUNK)]


def write_chunk(
    path: Path, n: int, offset: int, codes: torch.Tensor, residuals: torch.Tensor, lengths: Sequence[int]
) -> None:
    """Write chunk `n` of an index, whose first row is `offset`: the centroids of its tokens, what their vectors
    differ by from them (tokens x bytes), and the number of tokens of each passage."""
    save(path / f"{n}.codes.pt", codes)
    save(path / f"{n}.residuals.pt", residuals)
    write_whole(path / f"doclens.{n}.json", json.dumps(lengths))
    sizes = {"passage_offset": offset, "num_passages": len(lengths), "num_embeddings": sum(lengths)}
    write_whole(path / f"{n}.metadata.json", json.dumps(sizes))  # last: shows that the chunk is whole


def write_metadata(
    path: Path, config: dict[str, Any], chunks: int, partitions: int, tokens: int, passages: int
) -> None:
    """Write what an index of that size is, for colbert-ai."""
    metadata = {"config": config, "num_chunks": chunks, "num_partitions": partitions}
    metadata |= {"num_embeddings": tokens, "avg_doclen": tokens / passages}
    write_whole(path / METADATA, json.dumps(metadata))


def save(path: Path, tensors: object) -> None:
    """Write tensors to a file, whole or not at all."""
    with replaced(path) as file:
        torch.save(tensors, file)


def write_inverted_lists(path: Path, chunks: Sequence[range], partitions: int) -> None:
    """Write which passages have a token at each of the centroids, of which there are `partitions`.

    Only one chunk is in memory at a time. So there are two passes: one counts, one puts each passage in its place.
    """
    sizes = np.zeros(partitions, np.int64)
    for n, rows in enumerate(chunks):
        sizes += np.bincount(_pairs(path, n, rows)[0], minlength=partitions)
    places = np.cumsum(sizes) - sizes
    ivf = np.empty(sizes.sum(), np.int32)
    for n, rows in enumerate(chunks):
        cells, found = _pairs(path, n, rows)
        counts = np.bincount(cells, minlength=partitions)
        ivf[np.arange(len(cells)) + (places - np.cumsum(counts) + counts)[cells]] = found
        places += counts
    save(path / IVF, (torch.from_numpy(ivf), torch.from_numpy(sizes)))


def _pairs(path: Path, n: int, rows: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All different pairs of a centroid and a passage of chunk `n` with a token there, sorted by centroid."""
    codes = load_tensors(path / f"{n}.codes.pt").numpy().astype(np.int64)
    pairs = np.sort(codes << 32 | np.repeat(rows, load_lengths(path, n)))
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]  # np.unique, which makes a hash table, takes 20 times as long
    return pairs >> 32, pairs & 0xFFFFFFFF


def _sample_size(passages: int) -> int:
    """How many passages the centroids are trained on: colbert-ai's rule."""
    return min(passages, 1 + int(16 * math.sqrt(120 * passages)))


def _parts(rows: Sequence[int]) -> list[Sequence[int]]:
    return [rows[begin : begin + _PART] for begin in range(0, len(rows), _PART)]
