"""A model that llama.cpp has loaded, and whose turn it is to be computed.

llama.cpp keeps the prompt of the last call of each of its slots and computes of the next one only what is new. Methods
ask in turns for different things, each with an instruction of its own. So there are more slots than calls that are
computed at the same time: each kind of call finds its own beginning again, and llama.cpp chooses the slot that has most
of it.
"""

import asyncio
import json
import os
import queue
import secrets
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from odqa.errors import UsageError

__all__ = ["Model"]

_PROMPT_CACHE = 512  # MiB of main memory for prompts that no slot has any more; llama.cpp would take 8192
_SPIN = "GOMP_SPINCOUNT"
_WORTH_WAITING = 400  # characters, about a hundred tokens; less is read again in the time that waiting takes


class Model:
    """A model that is loaded, and the threads in which calls wait for it.

    Args:
        path: The GGUF file.
        context: Tokens of prompt and reply of one call.
        parallel: Calls that are computed at the same time.
        prompts: Prompts whose beginnings are kept.
        threads: Threads that compute.

    Raises:
        UsageError: llama.cpp cannot load the file, or xllamacpp is not installed.
    """

    def __init__(self, path: Path, context: int, parallel: int, prompts: int, threads: int) -> None:
        xllamacpp = _xllamacpp()
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_parallel = max(parallel, prompts)
        params.n_ctx = context * params.n_parallel  # each slot gets its share
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = _PROMPT_CACHE
        params.enable_reasoning = 0  # models that can think first do so when a request asks for it
        params.verbosity = -1  # not a line on stderr
        params.api_keys = [secrets.token_hex()]  # llama.cpp opens a port of this machine too; nobody is told the key
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError:
            raise UsageError(
                f"llama.cpp cannot load {path}: the file is damaged, its architecture is newer than the installed "
                "xllamacpp, or model and context do not fit into memory"
            ) from None
        on_gpu = any("GPU" in device["type"].name for device in xllamacpp.get_device_info())
        self._turns = _Turns(parallel, alike=on_gpu)

    def chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What llama.cpp replies, chunk by chunk. Decoding stops when the iterator is closed."""
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        closed = self._start(body, arrived.put)
        try:
            while (chunk := _raised(arrived.get())) is not None:
                yield chunk
        finally:
            closed.set()

    async def chunks_async(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """`chunks` for asynchronous callers."""
        arrived: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        closed = self._start(body, lambda chunk: loop.call_soon_threadsafe(arrived.put_nowait, chunk))
        try:
            while (chunk := _raised(await arrived.get())) is not None:
                yield chunk
        finally:
            closed.set()

    def _start(self, body: dict[str, Any], put: Callable[[Any], object]) -> threading.Event:
        """Compute the reply in another thread. `put` gets each chunk, then None, or the exception that ended it.

        In a thread of its own in every case: while llama.cpp reads a long prompt, its caller cannot be interrupted.
        """
        closed = threading.Event()

        def take(chunk: Any) -> bool:
            if not closed.is_set():
                put(chunk)
            return closed.is_set()  # llama.cpp stops then

        def work() -> None:
            try:
                if not closed.is_set():
                    self._server.handle_chat_completions(body, take)
            except Exception as error:
                take(error)
            else:
                take(None)

        self._turns.take(json.dumps(body["messages"], ensure_ascii=False), work)
        return closed


class _Turns:
    """Which calls are computed now: so many at the same time, and the others in the order in which they came.

    A prompt whose beginning another call is reading waits for that call, and then finds it read. On a processor that is
    faster than reading it twice, since replies that are written side by side take as long as one after the other. A
    graphics card reads fast and writes side by side: there, calls that begin alike do not wait.
    """

    def __init__(self, parallel: int, *, alike: bool) -> None:
        self._parallel = parallel
        self._alike = alike
        self._threads = ThreadPoolExecutor(parallel, thread_name_prefix="gguf")
        self._lock = threading.Lock()  # guards what follows
        self._waiting: list[tuple[str, Callable[[], None]]] = []
        self._computed: list[str] = []

    def take(self, prompt: str, work: Callable[[], None]) -> None:
        """Do the work when its turn has come, in another thread."""
        with self._lock:
            self._waiting.append((prompt, work))
            self._begin()

    def _begin(self) -> None:
        for turn in list(self._waiting):
            prompt, _ = turn
            if len(self._computed) == self._parallel:
                return
            if self._alike or not any(_begin_alike(prompt, other) for other in self._computed):
                self._waiting.remove(turn)
                self._computed.append(prompt)
                self._threads.submit(self._do, *turn)

    def _do(self, prompt: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._computed.remove(prompt)
                self._begin()


def _begin_alike(prompt: str, other: str) -> bool:
    """Whether the other one begins with the first half of this prompt."""
    return other.startswith(prompt[: max(_WORTH_WAITING, len(prompt) // 2)])


def _raised(chunk: Any) -> Any:
    if isinstance(chunk, Exception):
        raise chunk
    return chunk


def _xllamacpp() -> Any:
    """The package. Its threads wait for each other hundreds of times per token, by GNU's OpenMP, which reads when it
    is loaded how long a thread keeps its core while it waits: as a rule milliseconds, in which a thread that it waits
    for may not get one. So it is told what it takes where there are more threads than cores."""
    told = {} if {_SPIN, "OMP_WAIT_POLICY"} & os.environ.keys() else {_SPIN: "1000"}
    os.environ.update(told)
    try:
        import xllamacpp
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[local]'") from error
    finally:
        for name in told:
            del os.environ[name]
    return xllamacpp
