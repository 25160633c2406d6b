"""The LM calls of a run: every reply is on disk at once, so that none is paid twice; limits say when to stop.

While a run lasts, this watches the boundary in front of its LMs (`odqa.bridge`) and answers what is on record. A
question that is asked again, after an error or after the run was killed, gets the replies that were paid for before,
whether its LM's cache is on or off. A program that asks the same thing twice still gets two replies: the first time the
first one, the second time the second.

DSPy's own cache is left alone unless the run is told to use it: it would give a second run the replies of the first.
"""

import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import dspy

from eval.records.record import Message, PaidCall
from eval.records.run import CallLog
from odqa.bridge import Call, Watcher, prompt_of, readable, recordable, watchers, watching
from odqa.files import check_room, json_line
from odqa.limits import Limiter
from programs.instruments.adapters import adapter_name
from programs.instruments.cost import PredictorNames, Spent
from retrieval import UsageError

__all__ = ["RecordedCalls", "Stopped"]

_ROOM = 2**22  # bytes for the replies to the calls under way, so that none is paid for and then lost
_QUESTION = "odqa_question"  # a setting, which DSPy carries to every thread in which the question makes calls
_Known = tuple[Any, float | None, bool]  # a reply as JSON, what it cost, and whether this run paid for it


class Stopped(BaseException):
    """Ends a question, because the run makes no more LM calls. It is no Exception, so that programs and libraries that
    handle errors do not handle it."""


class RecordedCalls(Watcher):
    """Records the LM calls of one run and answers from the record; limits how many there are.

    When a limit is reached, no further call is made, and its question ends with `Stopped`; calls that are under way are
    finished, and do not exceed it.

    Args:
        log: The calls that were paid for so far, and where new ones are written.
        done: The ids of the questions that will not be asked again.
        at_once: LM calls under way at the same time.
        limiter: Says when to stop.
        before: What the run paid for outside of the log.
        known: Calls that were paid for elsewhere; their replies come before those of the log, and count as cached.
        cache: Use DSPy's cache too, where the LM's is on. Runs with different rollout ids do not share replies.
        repeats: Answer a request that is made again with its first reply, where the LM's cache is on, as DSPy's cache
            would. Recipes of optimizers count on it.

    Raises:
        UsageError: the file cannot be used or is damaged.
    """

    waits = True
    stopping: threading.Event

    def __init__(
        self,
        log: CallLog,
        *,
        done: Set[str],
        at_once: int,
        limiter: Limiter,
        before: Iterable[Spent] = (),
        known: Iterable[PaidCall] = (),
        cache: bool = False,
        repeats: bool = False,
    ) -> None:
        self.limiter = limiter
        self.ends = limiter.ends
        self.stopped: str | None = None
        """Why no more calls are made, if so."""
        self.trouble: Exception | None = None
        """What is wrong with the run, if that is why."""
        self.stopping = threading.Event()
        self._at_once = at_once
        self._log = log
        self._lock = threading.Lock()  # guards what follows
        self._replies: dict[str, dict[str, list[_Known]]] = defaultdict(lambda: defaultdict(list))  # by question, key
        counted = not limiter.take_up(log.path)
        for spent in () if counted else before:
            limiter.count(spent.paid_usd, spent.lm_calls - spent.cached_calls)
        for call in known:
            if call.question not in done:
                self._replies[call.question][call.key].append((call.reply, call.usd, False))
        for call in log.read():
            if not counted:
                limiter.count(call.usd)
            if call.question not in done:
                self._replies[call.question][call.key].append((call.reply, call.usd, True))
        self._asking: dict[str, tuple[_Try | None, str]] = {}  # by id of a call under way: its question and key
        self._names = PredictorNames()
        self._shared = cache
        self._repeats = repeats
        self._rollout: Any = None

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls that questions make in the block; a run inside of another's questions is refused."""
        if any(isinstance(watcher, RecordedCalls) for watcher in watchers()):
            raise UsageError("another run is under way in this process; start one when the other has ended")
        if dspy.settings.lm is not None:
            self._rollout = dspy.settings.lm.kwargs.get("rollout_id")
        # DSPy would keep 10,000 prompts per module, and their trace.
        with self._log.appending() as self._write, watching(self, disable_history=True, trace=None):
            yield

    @contextmanager
    def for_question(self, question: str) -> Iterator[None]:
        """The LM calls in the block belong to one try at the question."""
        with dspy.context(**{_QUESTION: _Try(self, question)}):
            yield

    def replies_to(self, question: str) -> dict[str, list[_Known]]:
        """The question's recorded replies so far, by the keys of their requests; for a worker, which `know`s them."""
        with self._lock:
            return {key: list(replies) for key, replies in self._replies[question].items()}

    def know(self, question: str, replies: Mapping[str, Sequence[_Known]]) -> None:
        """Answer the question's requests with these replies, which another process has recorded."""
        with self._lock:
            self._replies[question].update((key, list(known)) for key, known in replies.items())

    def take(self, line: bytes) -> None:
        """Record a call that a worker paid for, given as a line of the file."""
        call = PaidCall.model_validate_json(line)
        self._keep(line)
        with self._lock:
            self._replies[call.question][call.key].append((call.reply, call.usd, True))
            self.limiter.count(call.usd)

    def forget(self, question: str) -> None:
        """Drop the question's replies from memory: this process will not try it again. They stay in the file."""
        with self._lock:
            self._replies.pop(question, None)

    def stop(self, reason: str) -> None:
        """Make no more calls."""
        self.stopped = self.stopped or reason
        self.stopping.set()
        self.limiter.wake()

    def fail(self, trouble: Exception) -> None:
        """Make no more calls, because the run cannot go on."""
        self.trouble = self.trouble or trouble
        self.stop(str(trouble))

    def _cannot_write(self, error: OSError) -> None:
        self.fail(UsageError(f"cannot write to {self._log.path}: {error.strerror}; make room and start again"))

    def exhausted(self) -> bool:
        """Whether a limit is reached, there is no room for further replies, or `stop` was called."""
        if reached := self.limiter.reached():
            self.stop(reached)
        if self.stopped is None:
            try:
                check_room(self._log.path, _ROOM)
            except OSError as error:
                self._cannot_write(error)
        return self.stopped is not None

    def pause(self, seconds: float) -> None:
        """Sleep, but return at once when the run stops."""
        self.stopping.wait(seconds)

    def begin(self) -> None:
        """Wait until a call may begin, which is under way from now on.

        Raises:
            Stopped: no more calls are made.
        """
        if not self.limiter.begin(self._at_once, self.exhausted):
            raise Stopped

    def end(self) -> None:
        """A call that had begun has ended; the limiter knows whether it was paid for."""
        self.limiter.end()

    def on_call_start(self, call: Call) -> None:
        current = dspy.settings.get(_QUESTION)
        key = hashlib.sha256(f"{call.key()} {adapter_name(dspy.settings.adapter)}".encode()).hexdigest()
        if current is not None:
            with self._lock:
                nth = current.asked[key]
                current.asked[key] += 1
                replies = self._replies[current.question][key]
                if nth < len(replies):
                    reply, usd, own = replies[nth]
                    return call.answer(readable(reply), usd, cached=not own)
                if replies and self._repeats and call.cache:
                    reply, usd, _ = replies[0]
                    return call.answer(readable(reply), usd, cached=True)
        call.cache, call.run = call.cache and self._shared, self._rollout
        self.begin()
        self._asking[call.id] = current, key
        return None

    def on_call_end(self, call: Call) -> None:
        asking = self._asking.pop(call.id, None)
        if asking is None:
            return
        try:
            if call.response is not None and call.error is None and not call.cached and asking[0] is not None:
                self._record(call, asking[0].question, asking[1])
        finally:
            self.end()

    def on_unbound(self, lm: Any) -> None:
        self.fail(
            UsageError(
                f"the program asks {lm.model} past the boundary where calls are counted and recorded: write its LM as "
                "an engine, dspy.LM(name, engine=…), and choose it by dspy.context(lm=odqa.bridge.bound(lm))"
            )
        )
        raise Stopped

    def _record(self, call: Call, question: str, key: str) -> None:
        assert call.response is not None
        reply = recordable(call.response)
        line = {
            "question": question,
            "key": key,
            "usd": call.usd,
            "reply": reply,
            "predictor": self._names(call.modules),
            "prompt": [dict(Message(role=role, text=text)) for role, text in prompt_of(call.request)],
        }
        self._keep(json_line(line))  # plain JSON: pydantic would look through it, for as long as all the rest takes
        with self._lock:
            self._replies[question][key].append((reply, call.usd, True))
            self.limiter.count(call.usd)

    def _keep(self, line: bytes) -> None:
        """Write the line; what cannot be written now is written when the run ends, which it does at once."""
        try:
            self._write(line)
        except OSError as error:
            self._cannot_write(error)
            raise Stopped from error


class _Try:
    """One try at a question."""

    def __init__(self, calls: RecordedCalls, question: str) -> None:
        self.calls = calls
        self.question = question
        self.asked: Counter[str] = Counter()  # how often each request was made
