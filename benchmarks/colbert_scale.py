"""How ColBERT grows with the corpus: opening, memory and searching, beside colbert-ai's own searcher.

    python benchmarks/colbert_scale.py --small
    python benchmarks/colbert_scale.py --shape INDEX --sizes 100000 1000000 5200000 --dir /var/tmp/colbert

The indexes are synthetic, in colbert-ai's format, and deleted afterwards; one of 5.2 million passages takes 16 GB. They
have the shape of a real index of thousands of passages (--shape; `retrieval_figures.py --with colbert` makes some).
Each centroid of that is split as more of k-means would split it: the new ones lie between it and vectors of its tokens.
A passage is the first half of a real passage and the second half of another, with their residuals. Half of the tokens
have the nearest of the new centroids, the others any of them, so that no two passages are the same. So clusters have
the sizes of real ones, and the tokens of a passage belong together as real ones do.

A query is twelve words of a passage of the real index. Each row has a process of its own, but for --small. Memory is
in MB: what is private to the process, and pages of the index's files, which the system can drop at any time. Cold is
the first query of a process when none of the files is in memory, and the median of the nine after that. Recall is
measured over the real index: which of the 20 passages with the highest MaxSim, when all are scored, are found. Where
other work keeps the processors busy, milliseconds of processor time (cpu) say more than those of the wall, with
OMP_NUM_THREADS=1, since threads of torch spin while they wait for each other. --small makes its real index of the
packaged sample, and one of 20,000 passages, in less than a minute.
"""

import argparse
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any

from measuring import alone, colbert_checkpoint, memory

CHUNK = 25_000
STAGES = {
    "encode": "encode_queries",
    "candidates and their ranking": "candidates",
    "vectors and MaxSim": "rank",
}


def write_shape(path: Path) -> None:
    """Build a small real index of the packaged sample."""
    from retrieval.colbert import ColBERT
    from retrieval.corpora import SAMPLE, read

    checkpoint = colbert_checkpoint(path.parent / "checkpoint", dim=128)
    ColBERT.build(islice(read(SAMPLE), 120), path, checkpoint=checkpoint, doc_maxlen=110)


def grown(real: Any, size: int, drawn: Any) -> tuple[Any, Any, int]:
    """The centroids of an index of `size` passages; for each token of the real one which of its centroid's new ones is
    nearest; and how many new ones each centroid has."""
    import numpy as np
    import torch

    codes, residuals = np.concatenate(real.codes), np.concatenate(real.residuals)
    parents = real.codec.centroids
    partitions = 2 ** int(math.log2(16 * math.sqrt(size * real.lengths.mean())))  # colbert-ai's rule
    children = max(1, partitions // len(parents))
    by_code, counts = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=len(parents))
    picks = (drawn.random((len(parents), children)) * np.maximum(counts, 1)[:, None]).astype(np.int64)
    some = by_code[np.minimum((np.cumsum(counts) - counts)[:, None] + picks, len(codes) - 1)].ravel()
    vectors = real.codec.vectors(codes[some], residuals[some]) + parents.repeat_interleave(children, 0)
    centroids = torch.nn.functional.normalize(vectors, dim=-1) if children > 1 else parents
    split = centroids.view(len(parents), children, -1)
    nearest = np.concatenate(
        [
            (split[codes[part]] @ real.codec.vectors(codes[part], residuals[part])[:, :, None]).squeeze(2).argmax(1)
            for part in np.array_split(np.arange(len(codes)), len(codes) // 4096 + 1)
        ]
    )
    return centroids, nearest, children


def write(shape: Path, out: Path, size: int) -> dict[str, Any]:
    """Write an index of `size` passages with the shape of a real one."""
    import numpy as np
    import torch

    from retrieval.colbert.build import DESCRIPTION, FORMAT, METADATA, write_inverted_lists
    from retrieval.colbert.storage import Storage
    from retrieval.descriptions import write_description
    from retrieval.indexes import CORPUS, Corpus, LineWriter, passage_line
    from retrieval.passage import Passage

    begin, drawn = time.monotonic(), np.random.default_rng(0)
    metadata = json.loads((shape / METADATA).read_bytes())
    real = Storage(shape, metadata["num_chunks"], metadata["config"]["nbits"], torch.device("cpu"))
    centroids, nearest, children = grown(real, size, drawn)
    codes, residuals = np.concatenate(real.codes), np.concatenate(real.residuals)
    firsts = np.cumsum(real.lengths) - real.lengths
    out.mkdir(parents=True)
    for name in "avg_residual.pt", "buckets.pt":
        shutil.copyfile(shape / name, out / name)
    torch.save(centroids.half(), out / "centroids.pt")
    chunks = [range(first, min(first + CHUNK, size)) for first in range(0, size, CHUNK)]
    tokens = 0
    for n, rows in enumerate(chunks):
        one, other = drawn.integers(0, len(real), (2, len(rows)))
        front, back = (real.lengths[one] + 1) // 2, real.lengths[other] // 2
        spans = np.stack([front, back], 1).ravel()
        starts = np.stack([firsts[one], firsts[other] + real.lengths[other] - back], 1).ravel()
        token = np.arange(spans.sum()) + np.repeat(starts - np.cumsum(spans) + spans, spans)
        any_ = drawn.integers(0, children, len(token))
        child = np.where(drawn.random(len(token)) < 0.5, nearest[token], any_)
        torch.save(torch.from_numpy((codes[token] * children + child).astype(np.int32)), out / f"{n}.codes.pt")
        torch.save(torch.from_numpy(residuals[token]), out / f"{n}.residuals.pt")
        (out / f"doclens.{n}.json").write_text(json.dumps((front + back).tolist()))
        described = {"passage_offset": rows.start, "num_passages": len(rows), "num_embeddings": len(token)}
        (out / f"{n}.metadata.json").write_text(json.dumps(described))
        tokens += len(token)
    passages = [Corpus(shape).passage(row) for row in range(len(real))]
    with LineWriter(out / CORPUS) as lines:
        for row in range(size):
            passage = passages[row % len(passages)]
            lines.write(passage_line(Passage(str(row), passage.text, passage.title)))
    write_inverted_lists(out, chunks, len(centroids))
    metadata |= {"num_chunks": len(chunks), "num_partitions": len(centroids), "num_embeddings": tokens}
    (out / METADATA).write_text(json.dumps(metadata | {"avg_doclen": tokens / size}))
    write_description(out, DESCRIPTION, {"format": FORMAT, "config": metadata["config"]})
    new = Storage(out, len(chunks), metadata["config"]["nbits"], torch.device("cpu"))
    shares = [0.1, 0.5, 0.9, 0.99, 0.999]
    sizes = [np.diff(cells) / np.diff(cells).mean() for cells in (real.cells, new.cells)]
    return {
        "tokens per passage": tokens / size,
        "centroids": len(centroids),
        "GB": sum(file.stat().st_size for file in out.iterdir()) / 1e9,
        "passages of a centroid, beside the mean, at " + "/".join(map(str, shares)): [
            np.quantile(each, shares).round(2).tolist() for each in sizes
        ],
        "written in s": time.monotonic() - begin,
    }


def queries(shape: Path, count: int) -> list[str]:
    """Twelve words in a row of passages of the real index."""
    from retrieval.indexes import Corpus

    corpus, pick, asked = Corpus(shape), random.Random(0), []
    for _ in range(count):
        words = corpus.passage(pick.randrange(len(corpus))).text.split()
        first = pick.randrange(max(1, len(words) - 11))
        asked.append(" ".join(words[first : first + 12]))
    return asked


def drop(path: Path) -> None:
    """Have the system forget the files of a directory."""
    for file in path.iterdir():
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def ours(out: Path) -> tuple[Any, dict[str, list[float]]]:
    """Our index, and the seconds of the stages, which grow with each search."""
    from retrieval.colbert import ColBERT

    index = ColBERT(out, device="cpu")
    seconds: dict[str, list[float]] = defaultdict(list)

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                seconds[name].append(time.perf_counter() - begin)

        return run

    for name, method in STAGES.items():
        owner = index._checkpoint if name == "encode" else index._scorer
        setattr(owner, method, timed(name, getattr(owner, method)))
    return index, seconds


def colbert_ai(out: Path) -> Any:
    from retrieval.colbert.libraries import ColBERTConfig  # contains what importing colbert-ai does

    metadata = json.loads((out / "metadata.json").read_bytes())
    from colbert import Searcher

    with redirect_stdout(sys.stderr):
        searcher = Searcher(
            index=str(out.resolve()),
            checkpoint=metadata["config"]["checkpoint"],
            collection=[""],
            config=ColBERTConfig(query_maxlen=32),
            verbose=0,
        )
    return lambda query, k: searcher.search(query, k=k)[0]


def measure(out: Path, asked: Sequence[str], who: str, ks: Sequence[int]) -> dict[str, Any]:
    """Open an index and search it."""
    import torch

    drop(out)
    begin, seconds = time.perf_counter(), {}
    if who == "colbert-ai":
        index = colbert_ai(out)
    else:
        index, seconds = ours(out)
    row: dict[str, Any] = {"threads": torch.get_num_threads(), "open s": time.perf_counter() - begin}
    row |= {f"MB when open, {what}": size for what, size in memory().items()}
    drop(out)
    cold = latencies(index, asked[:10], 20)
    row |= {"first ms": cold[0], "cold ms": statistics.median(cold[1:])}
    latencies(index, asked, 20)
    for k in ks:
        seconds.clear()
        processor = time.process_time()
        warm = sorted(latencies(index, asked, k))
        row |= {f"k={k} cpu ms": 1000 * (time.process_time() - processor) / len(warm)}
        row |= {f"k={k} p50 ms": statistics.median(warm), f"k={k} p99 ms": warm[int(0.99 * len(warm))]}
        row |= {f"k={k} queries/s": 1000 * len(warm) / sum(warm)}
        if k == 20 and seconds:
            row["ms by stage, p50/p99"] = {
                name: [round(1000 * sorted(parts)[int(share * len(parts))], 1) for share in (0.5, 0.99)]
                for name, parts in seconds.items()
            }
        if who != "colbert-ai":
            begin, processor = time.perf_counter(), time.process_time()
            for first in range(0, len(asked), 32):
                index.batch(asked[first : first + 32], k)
            row |= {f"k={k} queries/s in batches": len(asked) / (time.perf_counter() - begin)}
            row |= {f"k={k} cpu ms in batches": 1000 * (time.process_time() - processor) / len(asked)}
    return row | {f"MB at the end, {what}": size for what, size in memory().items()}


def best(shape: Path, asked: Sequence[str], who: str) -> tuple[list[set[int]], float]:
    """The rows of the 20 best passages of each query, and the milliseconds of processor time per query."""
    from retrieval.colbert import ColBERT

    if who == "colbert-ai":
        search = colbert_ai(shape)
    else:
        index = ColBERT(shape, device="cpu", exact=True) if who == "exact" else ours(shape)[0]
        rows = {index.passage(row).id: row for row in range(len(index))}

        def search(query: str, k: int) -> list[int]:
            return [rows[passage.id] for passage in index(query, k)]

    latencies(search, asked[:20], 20)
    begin = time.process_time()
    found = [set(search(query, 20)) for query in asked]
    return found, 1000 * (time.process_time() - begin) / len(asked)


def latencies(index: Callable[[str, int], Any], asked: Sequence[str], k: int) -> list[float]:
    found = []
    for query in asked:
        begin = time.perf_counter()
        index(query, k)
        found.append(1000 * (time.perf_counter() - begin))
    return found


def here(step: Callable[..., Any], *arguments: Any) -> Any:
    return step(*arguments)


def rounded(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="everything else by itself, in less than a minute")
    parser.add_argument("--shape", type=Path, help="a real index of ours")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="(default: %(default)s)")
    parser.add_argument("--who", nargs="+", default=["ours", "colbert-ai"], help="(default: all)")
    parser.add_argument("--most", type=int, default=1_000_000, help="colbert-ai up to this size (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument("--dir", type=Path, help="for the indexes, which are deleted (default: a temporary directory)")
    arguments = parser.parse_args()
    if not (arguments.small or arguments.shape):
        parser.error("name a real index by --shape, or use --small")
    with tempfile.TemporaryDirectory(dir=arguments.dir) as temporary:
        work = Path(temporary)
        shape, sizes, count, ks = arguments.shape, arguments.sizes, arguments.queries, (5, 20, 100)
        run, everyone = alone, arguments.who
        if arguments.small:
            shape, sizes, count, ks = work / "shape", [20_000], 32, (20,)
            run, everyone = here, ["ours"]  # what colbert-ai compiles takes minutes
            run(write_shape, shape)
        asked = queries(shape, count)
        exact, _ = run(best, shape, asked, "exact")
        for who in everyone:
            found, cost = run(best, shape, asked, who)
            shares = [len(one & two) / len(two) for one, two in zip(found, exact, strict=True)]
            row = {"recall@20": round(statistics.fmean(shares), 3), "cpu ms": rounded(cost)}
            print(json.dumps({"real index, with": who} | row), flush=True)
        for size in sizes:
            out = work / "index"
            written = run(write, shape, out, size)
            print(json.dumps({"passages": size} | {key: rounded(value) for key, value in written.items()}), flush=True)
            for who in everyone:
                if who != "colbert-ai" or size <= arguments.most:
                    row = {"passages": size, "with": who} | run(measure, out, asked, who, ks)
                    print(json.dumps({key: rounded(value) for key, value in row.items()}), flush=True)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
