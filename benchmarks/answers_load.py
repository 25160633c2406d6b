"""The answers server under load: clients that ask, then clients that hang up in the middle, and what they leave behind.

    python benchmarks/answers_load.py [--seconds 30] [--clients 64] [--latency 0.05] [--method blendfilter]

The server runs in a process of its own, and asks the stand-in for a language model in `stand_in.py`, which replies
after the latency. First every client asks one question after the other, and every reply is checked. Then a quarter as
many clients ask for half as long and hang up: at the first step of a streamed answer, or some time before a whole one.

Prints questions per second, their times, and the server's memory, threads and sockets when it is warm, after the
clients that ask and after those that hang up. Most sockets are those to the LM, which stay open. It fails if any reply
is wrong, if a question that was hung up on took as many LM calls as one that was answered, if threads or connections of
clients are left, or if memory is more than a tenth above that after the clients that ask. Threads, sockets and memory
are read from /proc, so on Linux only.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import time
from collections import Counter
from contextlib import suppress

import httpx
from measuring import Server, quantile, serving
from soak import Vitals, settled
from stand_in import MODEL, stand_in

from programs.instruments.words import QUESTIONS

SETTLING = 60.0  # seconds after which what is still there is left


async def ask(client: httpx.AsyncClient, method: str, seen: Counter[str], end: float) -> list[float]:
    """Ask one question after the other until the end; the seconds that each took."""
    times = []
    while time.monotonic() < end:
        began = time.monotonic()
        reply = await client.post("/v1/answers", json={"question": random.choice(QUESTIONS), "method": method})
        times.append(time.monotonic() - began)
        seen["answered" if reply.status_code == 200 and reply.json()["answer"] else str(reply.status_code)] += 1
    return times


async def hang_up(client: httpx.AsyncClient, method: str, seen: Counter[str], end: float) -> None:
    """Ask and hang up until the end."""
    while time.monotonic() < end:
        body = {"question": random.choice(QUESTIONS), "method": method}
        if random.random() < 0.5:
            async with client.stream("POST", "/v1/answers", json={**body, "stream": True}) as reply:
                await anext(reply.aiter_raw())
            seen["hung up at the first step"] += 1
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(random.random() / 5):
                    await client.post("/v1/answers", json=body)
                seen["was quicker"] += 1
                continue
            seen["hung up on the whole answer"] += 1


async def count(client: httpx.AsyncClient, name: str) -> float:
    """One of the counts that the server tells of itself, over all methods."""
    metrics = (await client.get("/metrics")).text
    return sum(map(float, re.findall(rf"^answers_{name}(?:{{.*}})? (\S+)$", metrics, re.MULTILINE)))


async def load(server: Server, *, method: str, clients: int, seconds: float) -> int:
    """Put the load on the server, and print what came of it; 0 if the server is well, else 1."""
    limits = httpx.Limits(max_connections=clients + 1, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=server.url, limits=limits, timeout=60.0, trust_env=False) as client:
        await asyncio.gather(*(ask(client, method, Counter(), time.monotonic() + 3) for _ in range(clients)))
        vitals = {"warm": await settled(server.pid, Vitals(2**60, 8, 2**60), SETTLING)}
        most = Vitals(2**60, vitals["warm"].threads, 2**60)
        seen, per_question = await asked(client, server, method, clients, seconds)
        vitals["after the clients that ask"] = await settled(server.pid, most, SETTLING)
        per_hung_up = await hung_up(client, method, max(1, clients // 4), seconds / 2)
        vitals["after those that hang up"] = after = await settled(server.pid, most, SETTLING)
        well: Counter[str] = Counter()
        await ask(client, method, well, time.monotonic() + 1)
    patience = time.monotonic() + SETTLING
    while (left := connections(server.port)) and time.monotonic() < patience:
        await asyncio.sleep(0.1)
    for name, each in vitals.items():
        print(f"  {name:28} {each}")
    problems = {
        "a wrong reply": set(seen) != {"answered"},
        "as many LM calls for a question that nobody waits for": per_hung_up >= per_question,
        "threads left": after.threads > vitals["warm"].threads,
        "connections left": left > 0,
        "memory left": after.memory > 1.1 * vitals["after the clients that ask"].memory,
        "does not answer any more": set(well) != {"answered"},
    }
    found = [problem for problem, there in problems.items() if there]
    print("; ".join(found) or "the server is well")
    return int(bool(found))


async def asked(
    client: httpx.AsyncClient, server: Server, method: str, clients: int, seconds: float
) -> tuple[Counter[str], float]:
    """Ask from so many clients: what was answered, and the LM calls of a question."""
    seen: Counter[str] = Counter()
    calls, cpu, began = await count(client, "lm_calls_total"), server.cpu(), time.monotonic()
    rounds = await asyncio.gather(*(ask(client, method, seen, began + seconds) for _ in range(clients)))
    took, times = time.monotonic() - began, [each for round_ in rounds for each in round_]
    per_question = (await count(client, "lm_calls_total") - calls) / len(times)
    print(f"{clients} clients, {method}, load {os.getloadavg()[0]:.1f}: {dict(seen)}")
    print(
        f"  {len(times) / took:.1f} questions/s, {per_question:.1f} LM calls each, "
        f"p50 {1000 * quantile(times, 0.5):.0f} ms, p99 {1000 * quantile(times, 0.99):.0f} ms, "
        f"{1000 * (server.cpu() - cpu) / len(times):.0f} ms of CPU each"
    )
    return seen, per_question


async def hung_up(client: httpx.AsyncClient, method: str, clients: int, seconds: float) -> float:
    """Hang up from so many clients: the LM calls of a question."""
    gone: Counter[str] = Counter()
    calls, end = await count(client, "lm_calls_total"), time.monotonic() + seconds
    await asyncio.gather(*(hang_up(client, method, gone, end) for _ in range(clients)))
    while await count(client, "in_flight"):
        await asyncio.sleep(0.1)
    each = (await count(client, "lm_calls_total") - calls) / gone.total()
    print(f"{clients} clients that hang up: {dict(gone)}, {each:.1f} LM calls each")
    return each


def connections(port: int) -> int:
    """How many connections of clients the server has open."""
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table][1:]
    return sum(int(line[1].rpartition(":")[2], 16) == port and line[3] == "01" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Load test of the answers server.")
    parser.add_argument("--seconds", type=float, default=30.0, help="of asking (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=64, help="(default: %(default)s)")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds of an LM call (default: %(default)s)")
    parser.add_argument("--method", default="blendfilter", help="(default: %(default)s)")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "odqa", "serve", arguments.method, "--retriever", "sample", "--port", "0"]
    with (
        stand_in() as address,
        serving([*command, "--lm", MODEL, "--api-base", f"{address}/{arguments.latency}"]) as server,
    ):
        return asyncio.run(load(server, method=arguments.method, clients=arguments.clients, seconds=arguments.seconds))


if __name__ == "__main__":
    sys.exit(main())
