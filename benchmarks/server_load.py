"""The search server under load: many clients at once, beside one client that asks one query after the other.

    python benchmarks/server_load.py [SPEC] [--questions FILE.jsonl[.gz]] [--clients 64] [--seconds 20]

The server runs in a process of its own, over the retriever SPEC (default: `sample`); the clients are threads of this
one, each with a connection that stays open. Both loads take turns, and share the cores with the server: the figures are
a floor. Every reply is checked: a status other than 200, or nothing found, is an error. The first row is the retriever
itself, called here, with no server. The last line compares the rows.
"""

import argparse
import gzip
import http.client
import itertools
import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from retrieval import load
from retrieval.corpora import SAMPLE

ROUNDS = 3
SERVER = (
    "import sys; from retrieval import load; from retrieval.remote.server import serve; "
    "serve(load(sys.argv[1]), port=0)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Load test of the search server.")
    parser.add_argument("spec", nargs="?", default="sample")
    parser.add_argument("--questions", type=Path, help="file with a question per line (default: titles of the sample)")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of the two loads (default: %(default)s)")
    parser.add_argument("-k", type=int, default=5)
    arguments = parser.parse_args()
    queries = read(arguments.questions or SAMPLE, "question" if arguments.questions else "title")
    span = arguments.seconds / ROUNDS

    one, many = Load(), Load()
    with serving(arguments.spec) as url:
        Load().run(url, queries, arguments.k, clients=arguments.clients, seconds=1)  # connections, caches
        for _ in range(ROUNDS):
            one.run(url, queries, arguments.k, clients=1, seconds=span)
            many.run(url, queries, arguments.k, clients=arguments.clients, seconds=span)
    alone = Load()
    retriever = load(arguments.spec)
    alone.measure(lambda query: bool(retriever(query, arguments.k)), itertools.cycle(queries), span)

    print(f"{'':22} {'queries/s':>9} {'p50 ms':>8} {'p95 ms':>8} {'errors':>7}")
    alone.show("retriever, no server")
    one.show("1 client")
    many.show(f"{arguments.clients} clients")
    print(
        f"{arguments.clients} clients beside 1: {many.rate() / one.rate():.2f} times the throughput, "
        f"{many.median() / one.median():.1f} times the latency; "
        f"beside the retriever alone: {many.rate() / alone.rate():.2f} times the throughput"
    )


def read(path: Path, field: str) -> list[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8") as lines:
        return [json.loads(line)[field] for line in lines]


@contextmanager
def serving(spec: str) -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER, spec], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield next(line.split()[3].rstrip(",") for line in process.stderr if "Serving on" in line)
        finally:
            process.send_signal(signal.SIGINT)


class Load:
    """What came of asking queries for some time, once or more often."""

    def __init__(self) -> None:
        self.times: list[float] = []  # seconds per answered query
        self.errors = 0
        self.seconds = 0.0

    def run(self, url: str, queries: list[str], k: int, *, clients: int, seconds: float) -> None:
        """Ask from `clients` threads."""
        host, port = urlsplit(url).hostname, urlsplit(url).port
        assert host is not None

        def client(start: int) -> None:
            connection = http.client.HTTPConnection(host, port, timeout=60)
            turn = itertools.chain(queries[start:], itertools.cycle(queries))

            def ask(query: str) -> bool:
                connection.request("GET", "/?" + urlencode({"query": query, "k": k}))
                reply = connection.getresponse()
                body = reply.read()
                return reply.status == 200 and len(json.loads(body)["topk"]) > 0

            part = Load()
            part.measure(ask, turn, seconds)
            connection.close()
            with lock:
                self.times += part.times
                self.errors += part.errors

        lock = threading.Lock()
        threads = [
            threading.Thread(target=client, args=(n * len(queries) // clients % len(queries),)) for n in range(clients)
        ]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds += time.perf_counter() - begin

    def measure(self, ask: Callable[[str], bool], queries: Iterator[str], seconds: float) -> None:
        """Ask one query after the other."""
        begin = time.perf_counter()
        while (now := time.perf_counter()) < begin + seconds:
            try:
                answered = ask(next(queries))
            except (OSError, http.client.HTTPException):
                answered = False
            if answered:
                self.times.append(time.perf_counter() - now)
            else:
                self.errors += 1
        self.seconds += time.perf_counter() - begin

    def rate(self) -> float:
        return len(self.times) / self.seconds

    def median(self) -> float:
        return statistics.median(self.times)

    def show(self, name: str) -> None:
        p95 = statistics.quantiles(self.times, n=20)[-1]
        print(f"{name:22} {self.rate():9.1f} {1000 * self.median():8.2f} {1000 * p95:8.2f} {self.errors:7d}")


if __name__ == "__main__":
    main()
