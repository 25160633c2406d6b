"""The driver of workers: hands out questions and leave to call LMs, and keeps what comes back."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import dspy

from eval.records.record import Row
from eval.runs.distributed.job import Job
from eval.runs.distributed.messages import Held, News, Orders
from eval.runs.distributed.worker import Worker
from eval.runs.recorded_calls import RecordedCalls, Stopped
from eval.runs.request import Pace
from odqa.cluster import connected, gpus_each, workers_in
from odqa.deadlines import remaining
from odqa.http import one_line
from retrieval import OdqaError, Passage

__all__ = ["Desk", "employed"]

logger = logging.getLogger(__name__)

_AT_ONCE = 64  # questions in a worker, and LM calls for each
_LIVES = 4  # how often a worker is started, the first time included
_LOOK = 0.5  # seconds after which who waits for a worker looks whether the run is over


class Desk(Protocol):
    """The run, which gives out questions and takes in what became of them."""

    def next_question(self) -> dspy.Example | None: ...
    def put_back(self, examples: Sequence[dspy.Example]) -> None: ...
    def finish(self, make_row: Callable[[], Row]) -> None: ...
    def fail(self, trouble: Exception) -> None: ...
    def left(self) -> int: ...
    def hold(self, passages: Sequence[Passage]) -> Held: ...


@contextmanager
def employed(pace: Pace, job: Job, desk: Desk, calls: RecordedCalls) -> Iterator[list[Callable[[], None]]]:
    """Gives one task for each worker, to be done in a thread: to start it, and to exchange news until the run is over.

    Args:
        pace: How many workers, and where; how many questions and LM calls are in flight.
        job: What they do.
        desk: The run.
        calls: Records the LM calls.

    Raises:
        UsageError: there is no such cluster, it is too small, or the job cannot be sent.
    """
    workers = pace.workers
    assert workers is not None
    packed = job.packed()
    with connected(workers.address, cpus=workers.count) as ray:
        count = workers_in(ray, workers.count)
        team = _Team(
            ray,
            ray.put(packed),
            desk,
            calls,
            count=count,
            questions=pace.threads or _AT_ONCE,
            lm_calls=pace.lm_calls or count * _AT_ONCE,
        )
        try:
            yield [team.employ] * count
        finally:
            team.dismiss()


@dataclass(slots=True)
class _Member:
    """One worker, as long as it lives."""

    actor: Any
    asked: dict[str, dspy.Example] = field(default_factory=dict)
    """The questions that it has, by their ids."""
    calls: int = 0
    """LM calls that it has leave for and that have not ended."""
    wanted: int = 0
    """LM calls that wait for leave."""
    held: dict[int, Held] = field(default_factory=dict)
    """What it is to be told of passages."""


class _Over(Exception):
    """The run is over, and nobody waits for this worker any more."""


class _Team:
    def __init__(
        self,
        ray: Any,
        packed: Any,
        desk: Desk,
        calls: RecordedCalls,
        *,
        count: int,
        questions: int,
        lm_calls: int,
    ) -> None:
        self._ray = ray
        self._packed = packed
        self._desk = desk
        self._calls = calls
        self._count = count
        self._questions = questions
        self._make = ray.remote(num_cpus=1, num_gpus=gpus_each(ray, count))(Worker)
        self._changed = threading.Condition()  # guards what follows
        self._lm_calls = lm_calls
        self._free = lm_calls
        self._members: list[_Member] = []
        self._employing = count
        self._dismissed = False

    def employ(self) -> None:
        """Start a worker, again when it dies, and exchange news with it until the run is over."""
        try:
            for life in range(_LIVES):
                try:
                    self._serve(life)
                    return
                except self._ray.exceptions.RayActorError as error:
                    last = one_line(error)
                    if self._is_over():
                        return
                    logger.warning("a worker died; its questions are asked again, with the replies so far (%s)", last)
            if self._employing == 1:
                raise OdqaError(f"every worker died {_LIVES} times, the last time because: {last}")
        except _Over:
            pass
        except self._ray.exceptions.RayTaskError as error:
            self._desk.fail(error.cause if isinstance(error.cause, Exception) else OdqaError(str(error)))
        except Exception as error:
            self._desk.fail(error)
        finally:
            with self._changed:
                self._employing -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """End all workers, whatever they do."""
        with self._changed:
            self._dismissed = True
            members = list(self._members)
        for member in members:
            self._ray.kill(member.actor)
        with self._changed:
            self._changed.wait_for(lambda: not self._employing)

    def _serve(self, life: int) -> None:
        member = _Member(self._make.remote())
        with self._changed:
            self._members.append(member)
        try:
            self._wait(member.actor.open.remote(self._packed, self._lm_calls, remaining(self._calls.ends)))
            while not self._is_over():
                self._hear(member, self._wait(member.actor.exchange.remote(self._orders(member))))
        finally:
            self._ray.kill(member.actor)
            with self._changed:
                self._members.remove(member)
                self._free += member.calls
            self._desk.put_back(list(member.asked.values()))

    def _is_over(self) -> bool:
        return self._dismissed or not self._desk.left()

    def _wait(self, answer: Any) -> Any:
        while True:
            try:
                return self._ray.get(answer, timeout=_LOOK)
            except self._ray.exceptions.GetTimeoutError:
                if self._is_over():
                    raise _Over from None

    def _orders(self, member: _Member) -> Orders:
        stopped = self._calls.stopped if self._calls.exhausted() else None
        questions = []
        share = min(self._questions, -(-self._desk.left() // self._count))
        while len(member.asked) < share and (example := self._desk.next_question()) is not None:
            member.asked[example.id] = example
            questions.append((example, self._calls.replies_to(example.id)))
        with self._changed:
            busy = sum(bool(other.asked) for other in self._members)
            most = -(-self._lm_calls // max(busy, 1))
            free = self._free - self._lm_calls + self._calls.limiter.allowed(self._lm_calls)
            leave = 0 if stopped else max(0, min(member.wanted, free, most - member.calls))
            self._free -= leave
            member.calls += leave
        held, member.held = member.held, {}
        return Orders(questions, leave, held, stopped)

    def _hear(self, member: _Member, news: News) -> None:
        for line in news.calls:
            self._calls.take(line)
        with self._changed:
            member.wanted = news.wanted
            member.calls -= news.ended
            self._free += news.ended
        member.held = {number: self._desk.hold(passages) for number, passages in news.found.items()}
        for question, outcome in news.finished:
            del member.asked[question]
            self._calls.forget(question)
            self._desk.finish(partial(_row, outcome))


def _row(outcome: Row | Exception | None) -> Row:
    """The row that a worker made of a question, or what came instead of it."""
    if outcome is None:
        raise Stopped
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
