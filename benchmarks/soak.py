"""A server under attack: 64 clients that mean well or ill, for as long as you like, and what they leave behind.

    odqa serve-passages sample & python benchmarks/soak.py http://127.0.0.1:8893 $! [--minutes 3] [--seed 0]
    odqa serve blendfilter migres --retriever sample --lm extractive &
    python benchmarks/soak.py http://127.0.0.1:8900 $! --server answers
    odqa serve blendfilter migres --retriever sample --lm openai/m --api-base http://127.0.0.1:8899/v1 --lm-total 5 \\
        --lm-arg api_key=none &
    python benchmarks/soak.py http://127.0.0.1:8900 $! --server answers --lm-port 8899 --minutes 1

Each client behaves anew in turn, drawn by the seed: it asks as it should, on any of the server's routes, sends its
head or body a few bytes at a time, connects and stays silent, goes away without reading, sends a body or a head
without end, asks for much and does not read, or sends a request with bytes changed, cut out and doubled. With
--lm-port, the LM that the server asks is here too. During the attack it answers every second call with one of these:
a head or a body that drips or has no end, a gzip bomb, a Retry-After of seconds or of years, JSON that is no
completion.

Prints how often each behaviour was answered with which status, and the server's memory, threads and sockets before,
after the first minute, ten times in between and at the end, when all clients are gone. It fails if there was a 5xx
that is no 503 (nor, with --lm-port, 502 or 504), if memory is more than 5 % above that of the first minute, if there
are more threads or sockets than before, or if the server does not answer any more. Threads, sockets and memory are
read from /proc, so on Linux only.
"""

import argparse
import asyncio
import json
import random
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from urllib.parse import quote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.hostile_lm import ATTACKS, HostileLM
from support.prompt_reading import wanted
from support.scripted import render

WORDS = ["who", "was", "the", "first", "city", "river", "king", "born", "in", "a", "battle", "film", "author", "won"]
PATIENCE = 60.0  # seconds that a client waits for a reply
ENDLESS = 2**26  # bytes, after which a client gives up


@dataclass(frozen=True)
class Routes:
    """How a server is asked."""

    get: tuple[str, ...]  # paths, with {} for the question
    post: tuple[tuple[str, str], ...]  # paths, and JSON with {} for the question in quotes


_CHAT = '{"model": "migres", "messages": [{"role": "user", "content": {}}]'
_TOOL = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
SERVERS = {
    "search": Routes(("/?query={}&k=5",), (("/", '{"query": {}, "k": 100}'),)),
    "answers": Routes(
        (
            *("/", "/page/page.js", "/docs", "/openapi.json", "/health", "/metrics"),
            *("/v1/models", "/v1/methods", "/v1/prompts/blendfilter"),
        ),
        (
            ("/v1/answers", '{"method": "blendfilter", "question": {}}'),
            ("/v1/answers", '{"method": "migres", "question": {}, "settings": {"k": 3}, "stream": true}'),
            ("/v1/chat/completions", _CHAT + "}"),
            ("/v1/chat/completions", _CHAT + ', "stream": true}'),
            ("/v1/responses", '{"model": "blendfilter", "input": {}}'),
            ("/v1/responses", '{"model": "blendfilter", "input": {}, "stream": true}'),
            ("/mcp", _TOOL + '{"name": "answer", "arguments": {"question": {}}}}'),
            ("/mcp", _TOOL + '{"name": "search", "arguments": {"query": {}}}}'),
        ),
    ),
}


@dataclass(frozen=True)
class Target:
    """The server, and how to ask it."""

    host: str
    port: int
    routes: Routes

    def get_request(self, path: str, question: str) -> bytes:
        return f"GET {path.replace('{}', quote(question))} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()

    def post_request(self, path: str, body: str, question: str) -> bytes:
        sent = body.replace("{}", json.dumps(question)).encode()
        return self.post_head(path, f"Content-Length: {len(sent)}") + sent

    def post_head(self, path: str, header: str) -> bytes:
        kinds = "Content-Type: application/json\r\nAccept: application/json, text/event-stream"
        return f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\n{kinds}\r\n{header}\r\n\r\n".encode()


class Client:
    """Behaves in one way after the other."""

    def __init__(self, target: Target, random_: random.Random) -> None:
        self.target, self.random = target, random_

    async def asks(self) -> str:
        """Several requests on one connection."""
        async with Connection(self.target) as connection:
            for _ in range(self.random.randrange(5)):
                await connection.send(self.request())
                outcome = await connection.status()
                if not outcome.isdecimal():  # what comes now may belong to that request
                    return outcome
            await connection.send(self.request())
            return await connection.status()

    async def sends_slowly(self) -> str:
        """The request in pieces, with breaks."""
        async with Connection(self.target) as connection:
            request = self.request()
            step = len(request) // 8 + 1
            for n in range(0, len(request), step):
                await connection.send(request[n : n + step])
                await asyncio.sleep(self.random.random() / 2)
            return await connection.status()

    async def stays_half_open(self) -> str:
        """Nothing, or a part of a request, and then silence."""
        async with Connection(self.target) as connection:
            request = self.request()
            await connection.send(request[: self.random.choice([0, 0, 10, len(request) - 2])])
            if self.random.random() < 0.1:  # until the server has enough
                return await connection.status()
            await asyncio.sleep(5 * self.random.random())
            return "went"

    async def vanishes(self) -> str:
        """A request, and away, with a reset half of the time."""
        async with Connection(self.target) as connection:
            await connection.send(self.request())
            await asyncio.sleep(self.random.choice([0, 0.01, 0.2]))
            if self.random.random() < 0.5:
                connection.reset()
        return "went"

    async def sends_without_end(self) -> str:
        """A body, or a head, that does not stop, and reads nothing before it is refused."""
        async with Connection(self.target) as connection:
            kind = self.random.randrange(3)
            path, _ = self.random.choice(self.target.routes.post)
            if kind == 0:
                await connection.send(self.target.post_head(path, "Content-Length: 1000000000000"))
            elif kind == 1:
                await connection.send(self.target.post_head(path, "Transfer-Encoding: chunked"))
            else:
                await connection.send(b"GET /?query=")
            chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n" if kind == 1 else b"a" * 2**16
            with suppress(OSError):
                for _ in range(ENDLESS // len(chunk)):
                    await connection.send(chunk)
            return await connection.status()

    async def does_not_read(self) -> str:
        """Many requests at once, and no reply is read."""
        async with Connection(self.target) as connection:
            await connection.send(b"".join(self.request() for _ in range(30)))
            await asyncio.sleep(3 * self.random.random())
        return "went"

    async def fuzzes(self) -> str:
        """A request with bytes changed, cut out, doubled and put in."""
        request = bytearray(self.request())
        for _ in range(self.random.randint(1, 5)):
            at, until = sorted(self.random.randrange(len(request) + 1) for _ in range(2))
            until = min(until, at + self.random.choice([1, 1, 4, 1000]))
            change = self.random.randrange(4)
            if change == 0:
                request[at:until] = self.random.randbytes(until - at)
            elif change == 1:
                del request[at:until]
            elif change == 2:
                request[at:at] = request[at:until] * self.random.choice([1, 1, 100])
            else:
                odd = [
                    b"\r\n",
                    b"\0",
                    b"%ff",
                    b"\xed\xa0\x80",
                    b"[" * 5000,
                    b'{"a":' * 2000,
                    b"1e999",
                    b"-1",
                    b"9" * 5000,
                ]
                request[at:at] = self.random.choice(odd)
            request = request or bytearray(b"\n")
        async with Connection(self.target) as connection:
            await connection.send(bytes(request))
            return await connection.status(patience=1.0)  # half of them are no whole request

    def request(self) -> bytes:
        question = " ".join(self.random.choices(WORDS, k=self.random.randint(1, 30)))
        if self.random.random() < 0.5:
            return self.target.get_request(self.random.choice(self.target.routes.get), question)
        return self.target.post_request(*self.random.choice(self.target.routes.post), question)


BEHAVIOURS: dict[Callable[[Client], Awaitable[str]], int] = {
    Client.asks: 40,
    Client.fuzzes: 40,
    Client.vanishes: 10,
    Client.sends_slowly: 3,
    Client.stays_half_open: 3,
    Client.does_not_read: 3,
    Client.sends_without_end: 1,
}
"""What clients do, and how often."""


class LM(HostileLM):
    """Answers as it should; while `hostile`, every second call by an attack.

    Attributes:
        attacks: How often each was tried.
    """

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(port)
        self.random, self.lock = random.Random(seed), Lock()
        self.hostile = False
        self.attacks: Counter[str] = Counter()

    def behaviour(self, path: str) -> str:
        with self.lock:
            if not self.hostile or self.random.random() < 0.5:
                return "well"
            attack = self.random.choice(ATTACKS)
            self.attacks[attack] += 1
            return attack

    def reply(self, body: bytes) -> str:
        return render(dict.fromkeys(wanted(json.loads(body)["messages"][-1]["content"]), "yes"))

    def handle_error(self, request: object, client_address: object) -> None:
        """The server hangs up where it has had enough."""


class Connection:
    """A connection to the server, closed at the end whatever happens."""

    def __init__(self, target: Target) -> None:
        self.target = target

    async def __aenter__(self) -> "Connection":
        self.reader, self.writer = await asyncio.open_connection(self.target.host, self.target.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        with suppress(OSError):
            await self.writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def status(self, patience: float = PATIENCE) -> str:
        """The status of the next reply, which is read in full; or what came instead."""
        try:
            async with asyncio.timeout(patience):
                head = await self.reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                await self.reader.readexactly(int(length or 0))
                if b"transfer-encoding: chunked" in head.lower():
                    while size := int((await self.reader.readline()).removesuffix(b"\r\n"), 16):
                        await self.reader.readexactly(size + 2)
                    await self.reader.readline()
        except TimeoutError:
            return "no reply in time"
        except (OSError, asyncio.IncompleteReadError, ValueError):  # ValueError: no size of a chunk, where it ends
            return "closed"
        return head[9:12].decode("latin-1")

    def reset(self) -> None:
        """Have closing tell the server that all is lost, where it would say goodbye."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclass(frozen=True)
class Vitals:
    """What the server holds."""

    memory: int  # KiB, resident
    threads: int
    sockets: int

    @classmethod
    def of(cls, pid: int) -> "Vitals":
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        sockets = 0
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                sockets += str(file.readlink()).startswith("socket:")
        return cls(int(status["VmRSS"].split()[0]), int(status["Threads"]), sockets)

    def __str__(self) -> str:
        return f"{self.memory / 1024:8.1f} MiB {self.threads:5d} threads {self.sockets:5d} sockets"


async def attack(
    target: Target, pid: int, lm: LM | None, *, minutes: float, clients: int, seed: int, rest: float
) -> int:
    """Attack, and print what came of it; 0 if the server is well, else 1."""
    made = [Client(target, random.Random(f"{seed} {n}")) for n in range(clients)]
    for _ in range(3):  # the server's threads start, and its caches fill
        await asyncio.gather(*(client.asks() for client in made))
    await settled(pid, Vitals(2**60, 2**60, 1), 30)
    before = Vitals.of(pid)
    end = time.monotonic() + 60 * minutes
    seen: Counter[tuple[str, str]] = Counter()

    async def act(client: Client) -> None:
        while time.monotonic() < end:
            (behaviour,) = client.random.choices(list(BEHAVIOURS), list(BEHAVIOURS.values()))
            try:
                outcome = await behaviour(client)
            except (OSError, TimeoutError):
                outcome = "cut off"
            seen[behaviour.__name__, outcome] += 1
            await asyncio.sleep(2 * rest * client.random.random())

    if lm:
        lm.hostile = True
    print(f"  {'before':18} {before}", flush=True)
    acting = asyncio.gather(*map(act, made))
    await asyncio.sleep(min(60, 30 * minutes))
    first = Vitals.of(pid)
    print(f"  {'after a minute':18} {first}", flush=True)
    for tenth in range(1, 10):
        await asyncio.sleep(max(0, end - 6 * minutes * (10 - tenth) - time.monotonic()))
        print(f"  {f'{tenth * minutes / 10:g} minutes':18} {Vitals.of(pid)}  {seen.total():,} behaviours", flush=True)
    await acting
    if lm:
        lm.hostile = False
        lm.over.set()
    after = await settled(pid, before, 120)
    asked = [await client.asks() for client in made]

    print(f"  {'at the end':18} {after}")
    print(f"{clients} clients, {minutes:g} minutes, seed {seed}: {seen.total():,} behaviours")
    for behaviour in BEHAVIOURS:
        counts = sorted((outcome, n) for (name, outcome), n in seen.items() if name == behaviour.__name__)
        print(f"  {behaviour.__name__:18}", ", ".join(f"{outcome}: {n:,}" for outcome, n in counts))
    if lm:
        print(f"  {'the LM':18}", ", ".join(f"{what}: {n:,}" for what, n in sorted(lm.attacks.items())))
    allowed = {"502", "503", "504"} if lm else {"503"}
    problems = {
        f"a 5xx that is none of {sorted(allowed)}": any(
            outcome[0] == "5" and outcome not in allowed for _, outcome in seen
        ),
        "more than 5 % above the memory of the first minute": after.memory > 1.05 * first.memory,
        "threads left": after.threads > before.threads,
        "sockets left": after.sockets > before.sockets,
        "does not answer any more": set(asked) != {"200"},
    }
    found = [problem for problem, there in problems.items() if there]
    print("; ".join(found) or "the server is well")
    return int(bool(found))


async def settled(pid: int, wanted: Vitals, seconds: float) -> Vitals:
    """The vitals when threads and sockets are back, or after that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = Vitals.of(pid)
        if now.threads <= wanted.threads and now.sockets <= wanted.sockets:
            return now
        await asyncio.sleep(0.5)
    return Vitals.of(pid)


def main() -> int:
    parser = argparse.ArgumentParser(description="Attack a server.")
    parser.add_argument("url", help="such as http://127.0.0.1:8893")
    parser.add_argument("pid", type=int, help="of the server's process")
    parser.add_argument("--minutes", type=float, default=3.0, help="(default: %(default)s)")
    parser.add_argument("--clients", type=int, default=64, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--server", choices=SERVERS, default="search", help="which it is (default: %(default)s)")
    parser.add_argument(
        "--rest", type=float, default=0.0, help="seconds a client rests on average between behaviours (default: none)"
    )
    parser.add_argument("--lm-port", type=int, help="be the server's LM too, at this port, and attack it from there")
    arguments = parser.parse_args()
    url = urlsplit(arguments.url)
    if not (url.hostname and url.port):
        parser.error("the URL names no host and port")
    target = Target(url.hostname, url.port, SERVERS[arguments.server])
    lm = LM(arguments.lm_port, arguments.seed) if arguments.lm_port else None
    if lm:
        Thread(target=lm.serve_forever, daemon=True).start()
    return asyncio.run(
        attack(
            target,
            arguments.pid,
            lm,
            minutes=arguments.minutes,
            clients=arguments.clients,
            seed=arguments.seed,
            rest=arguments.rest,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
