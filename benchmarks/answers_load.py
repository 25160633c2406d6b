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
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
from soak import Vitals, settled
from stand_in import MODEL, stand_in

from programs.instruments.words import QUESTIONS

SETTLING = 60.0  # seconds after which what is still there is left


@contextmanager
def serving(method: str, api_base: str) -> Iterator[tuple[str, int]]:
    """The address and the process of a server with one method."""
    command = [sys.executable, "-m", "programs", "serve", method, "--retriever", "sample", "--port", "0"]
    command += ["--lm", MODEL, "--api-base", api_base]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        line = next(line for line in server.stderr if "Serving on" in line)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        try:
            yield line.split("Serving on ")[1].split(",")[0], server.pid
        finally:
            server.terminate()


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


async def lm_calls(client: httpx.AsyncClient) -> float:
    """How many LM calls the server made."""
    metrics = (await client.get("/metrics")).text
    return sum(map(float, re.findall(r"^answers_lm_calls_total.* (\S+)$", metrics, re.MULTILINE)))


async def in_flight(client: httpx.AsyncClient) -> float:
    """How many questions are in flight."""
    return float(re.findall(r"^answers_in_flight (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)[0])


async def load(url: str, pid: int, *, method: str, clients: int, seconds: float) -> int:
    """Put the load on the server, and print what came of it; 0 if the server is well, else 1."""
    limits = httpx.Limits(max_connections=clients + 1, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60.0, trust_env=False) as client:
        await asyncio.gather(*(ask(client, method, Counter(), time.monotonic() + 3) for _ in range(clients)))
        warm = await settled(pid, Vitals(2**60, 8, 2**60), SETTLING)

        seen: Counter[str] = Counter()
        calls, cpu, began = await lm_calls(client), cpu_seconds(pid), time.monotonic()
        rounds = await asyncio.gather(*(ask(client, method, seen, began + seconds) for _ in range(clients)))
        took = time.monotonic() - began
        times = sorted(seconds for round_ in rounds for seconds in round_)
        per_question = (await lm_calls(client) - calls) / len(times)
        print(f"{clients} clients, {method}, load {os.getloadavg()[0]:.1f}: {dict(seen)}")
        print(f"  {len(times) / took:.1f} questions/s, {per_question:.1f} LM calls each, ", end="")
        print(
            f"p50 {1000 * statistics.median(times):.0f} ms, p99 {1000 * times[int(0.99 * len(times))]:.0f} ms, ", end=""
        )
        print(f"{1000 * (cpu_seconds(pid) - cpu) / len(times):.0f} ms of CPU each")
        asked = await settled(pid, Vitals(2**60, warm.threads, 2**60), SETTLING)

        gone: Counter[str] = Counter()
        calls, end = await lm_calls(client), time.monotonic() + seconds / 2
        await asyncio.gather(*(hang_up(client, method, gone, end) for _ in range(max(1, clients // 4))))
        while await in_flight(client):
            await asyncio.sleep(0.1)
        per_hung_up = (await lm_calls(client) - calls) / gone.total()
        print(f"{max(1, clients // 4)} clients that hang up: {dict(gone)}, {per_hung_up:.1f} LM calls each")
        after = await settled(pid, Vitals(2**60, warm.threads, 2**60), SETTLING)
        well: Counter[str] = Counter()
        await ask(client, method, well, time.monotonic() + 1)
    port, patience = int(url.rpartition(":")[2]), time.monotonic() + SETTLING
    while (left := connections(port)) and time.monotonic() < patience:
        await asyncio.sleep(0.1)
    for name, vitals in {"warm": warm, "after the clients that ask": asked, "after those that hang up": after}.items():
        print(f"  {name:28} {vitals}")
    problems = {
        "a wrong reply": set(seen) != {"answered"},
        "as many LM calls for a question that nobody waits for": per_hung_up >= per_question,
        "threads left": after.threads > warm.threads,
        "connections left": left > 0,
        "memory left": after.memory > 1.1 * asked.memory,
        "does not answer any more": set(well) != {"answered"},
    }
    found = [problem for problem, there in problems.items() if there]
    print("; ".join(found) or "the server is well")
    return int(bool(found))


def connections(port: int) -> int:
    """How many connections of clients the server has open."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return sum(int(row[1].rpartition(":")[2], 16) == port and row[3] == "01" for row in rows)


def cpu_seconds(pid: int) -> float:
    """Of the process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description="Load test of the answers server.")
    parser.add_argument("--seconds", type=float, default=30.0, help="of asking (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=64, help="(default: %(default)s)")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds of an LM call (default: %(default)s)")
    parser.add_argument("--method", default="blendfilter", help="(default: %(default)s)")
    arguments = parser.parse_args()
    with stand_in() as address, serving(arguments.method, f"{address}/{arguments.latency}") as (url, pid):
        return asyncio.run(
            load(url, pid, method=arguments.method, clients=arguments.clients, seconds=arguments.seconds)
        )


if __name__ == "__main__":
    sys.exit(main())
