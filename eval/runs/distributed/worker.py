"""A worker: a process that asks questions for a run whose directory another process writes."""

import contextvars
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

import dspy

from eval.records.record import PaidCall, Row
from eval.records.run import CallLog
from eval.runs.distributed.job import Packed
from eval.runs.distributed.messages import Held, News, Orders
from eval.runs.question import Questioner
from eval.runs.recorded_calls import RecordedCalls, Stopped
from odqa.limits import Limiter
from retrieval import OdqaError, Passage, union

__all__ = ["Worker"]

_PATIENCE = 0.1  # seconds after which an exchange ends without news
_GATHER = 0.005  # seconds in which news gather, because an exchange costs as much as some of them
_ALL = 1 << 20  # more threads than can wait


class Worker:
    """Asks questions, many at a time. One thread calls the methods."""

    def __init__(self) -> None:
        self._link = _Link()
        self._lasting = ExitStack()

    def open(self, packed: Packed, lm_calls: int, seconds: float | None) -> None:
        """Take the job. To be called first.

        Args:
            packed: The job.
            lm_calls: Most that it will have leave for at the same time.
            seconds: By when from now all LM calls have to have ended; None for never.

        Raises:
            UsageError, RetrievalError: the program cannot be made here, as where its index is not on this machine.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        job = packed.open()
        self._calls = _Calls(self._link, at_once=lm_calls, cache=job.cache)
        self._calls.ends = ends
        self._lasting.enter_context(dspy.context(lm=job.lm, adapter=job.adapter))
        self._lasting.enter_context(self._calls.recording())
        self._context = contextvars.copy_context()
        self._questioner = Questioner(job.program, job.metrics, self._calls, self._link.hold, **job.how)

    def exchange(self, orders: Orders) -> News:
        """Follow the orders, and tell the news; waits a moment for some."""
        if orders.stopped:
            self._calls.stop(orders.stopped)
        self._link.take(orders)
        for example, known in orders.questions:
            self._calls.know(example.id, known)
            context = self._context.copy()
            threading.Thread(target=context.run, args=(self._ask, example), daemon=True).start()
        return self._link.news()

    def _ask(self, example: dspy.Example) -> None:
        outcome: Row | Exception | None = None
        try:
            outcome = self._questioner.row(example)
        except Stopped:
            pass
        except Exception as error:
            outcome = _portable(error)
        finally:
            self._link.finish(example.id, outcome)


class _Link:
    """What waits to be told to the driver, and what waits for its answer."""

    def __init__(self) -> None:
        self._leave = threading.Semaphore(0)
        self._is_news = threading.Event()
        self._lock = threading.Lock()  # guards what follows
        self._stopped = False
        self._asked = self._given = 0  # for leave, in all
        self._calls: list[bytes] = []
        self._ended = 0
        self._found: dict[int, list[Passage]] = {}
        self._answers: dict[int, SimpleQueue[Held]] = {}
        self._held: dict[str, int | None] = {}  # by a passage's id: the text that the directory has, as its hash
        self._finished: list[tuple[str, Row | Exception | None]] = []

    def take(self, orders: Orders) -> None:
        with self._lock:
            self._given += orders.leave
            self._stopped = self._stopped or orders.stopped is not None
            answered = [(self._answers.pop(number), held) for number, held in orders.held.items()]
        for queue, held in answered:
            queue.put(held)
        if self._stopped:
            self._leave.release(_ALL)
        elif orders.leave:
            self._leave.release(orders.leave)

    def news(self) -> News:
        if self._is_news.wait(_PATIENCE):
            time.sleep(_GATHER)
        with self._lock:
            self._is_news.clear()
            news = News(self._calls, self._ended, self._asked - self._given, self._found, self._finished)
            self._calls, self._ended, self._found, self._finished = [], 0, {}, []
            return news

    def begin_call(self) -> None:
        """Wait for leave to call an LM.

        Raises:
            Stopped: the run makes no more calls.
        """
        with self._lock:
            self._asked += 1
            self._is_news.set()
        self._leave.acquire()
        if self._stopped:
            raise Stopped

    def end_call(self) -> None:
        with self._lock:
            self._ended += 1
            self._is_news.set()

    def send_call(self, line: bytes) -> None:
        with self._lock:
            self._calls.append(line)
            self._is_news.set()

    def finish(self, question: str, outcome: Row | Exception | None) -> None:
        with self._lock:
            self._finished.append((question, outcome))
            self._is_news.set()

    def hold(self, passages: Sequence[Passage]) -> Held:
        """Have the driver keep the passages; see `eval.runs.store.Store.hold`."""
        new = [passage for passage in union(passages) if passage.id not in self._held]
        if new:
            answer: SimpleQueue[Held] = SimpleQueue()
            with self._lock:
                number = max(self._answers, default=0) + 1
                self._answers[number], self._found[number] = answer, new
                self._is_news.set()
            held = answer.get()
            texts = {passage.id: hash(passage.text) if (passage.id, passage.text) in held else None for passage in new}
            self._held.update(texts)
        return {(p.id, p.text) for p in passages if self._held[p.id] == hash(p.text)}


class _Calls(RecordedCalls):
    """Has each call wait for the driver's leave, and sends it what was paid for."""

    def __init__(self, link: _Link, *, at_once: int, cache: bool) -> None:
        super().__init__(_Sent(link.send_call), done=set(), at_once=at_once, limiter=Limiter(), cache=cache)
        self._link = link

    def begin(self) -> None:
        self._link.begin_call()

    def end(self) -> None:
        self._link.end_call()


class _Sent(CallLog):
    """In the place of the file of a run: lines are sent on."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        super().__init__(Path())
        self._send = send

    def read(self) -> Iterator[PaidCall]:
        return iter(())

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], object]]:
        yield self._send


def _portable(error: Exception) -> Exception:
    """The error, or one with its text where it cannot travel."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # of this very line
    except Exception:
        return OdqaError(f"{type(error).__name__}: {error}")
    return error
