"""The LM calls of a run: every reply is on disk at once, so that none is paid twice; limits say when to stop.

While a run lasts, this stands in the place of DSPy's cache, because DSPy asks its cache before each call whether the
call has to be made. A question that is asked again, after an error or after the run was killed, gets the replies that
were paid for before, whether its LM's cache is on or off. A program that asks the same thing twice still gets two
replies: the first time the first one, the second time the second.

DSPy's own cache is left alone unless the run is told to use it: it tells neither servers nor runs apart, so it would
give a run the replies of another server that has a model of the same name, and a second attempt those of the first.
"""

import hashlib
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import dspy
from dspy.utils.exceptions import LMServerError

from eval.runs.call_log import CallLog
from eval.runs.limits import Allowance, Limits
from eval.runs.record import Message, PaidCall
from eval.runs.replies import again, is_nothing, recorded, usd
from odqa.files import json_line
from programs.instruments.adapters import adapter_name
from programs.instruments.cost import PredictorNames, Spent, caller
from retrieval import UsageError
from retrieval.watching import watching

__all__ = ["RecordedCalls"]

_CONNECTIONS = 100  # that DSPy's engine opens for one LM
_QUESTION = "odqa_question"  # a setting, which DSPy carries to every thread in which the question makes calls


class RecordedCalls(Allowance):
    """Records the LM calls of one run and answers from the record; limits how many there are.

    When a limit is reached, no further call is made, and its question ends with `Stopped`; calls that are under way are
    finished, and do not exceed it.

    Args:
        log: The calls that were paid for so far, and where new ones are written.
        done: The ids of the questions that will not be asked again.
        at_once: LM calls under way at the same time.
        limits: When to stop.
        before: What the run paid for outside of the log.
        cache: Use DSPy's cache too, where the LM's is on. Runs with different rollout ids do not share replies.
        repeats: Answer a request that is made again with its first reply, where the LM's cache is on, as DSPy's cache
            would. Recipes of optimizers count on it.

    Raises:
        UsageError: the file cannot be used or is damaged.
    """

    def __init__(
        self,
        log: CallLog,
        *,
        done: Set[str],
        at_once: int,
        limits: Limits,
        before: Iterable[Spent] = (),
        cache: bool = False,
        repeats: bool = False,
    ) -> None:
        super().__init__(limits, at_once)
        self._log = log
        self._lock = threading.Lock()  # guards what follows
        self._replies: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))  # by question and key
        for spent in before:
            self.count(spent.paid_usd, spent.lm_calls - spent.cached_calls)
        for call in log.read():
            self.count(call.usd)
            if call.question not in done:
                self._replies[call.question][call.key].append(call.reply)
        self._last = threading.local()  # the last request of each thread and its key
        self._names = PredictorNames()
        self._behind: Any = None
        self._shared = cache
        self._repeats = repeats
        self._rollout: dict[str, Any] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls that questions make in the block; one such block at a time in a process."""
        if isinstance(dspy.cache, RecordedCalls):
            raise UsageError("another run is under way in this process; start one when the other has ended")
        lm = dspy.settings.lm
        self._lms = cycle([None] if lm is None else _copies(lm, self._at_once))
        if lm is not None:
            self._shared, self._repeats = self._shared and lm.cache, self._repeats and lm.cache
            if (rollout := lm.kwargs.get("rollout_id")) is not None:
                self._rollout = {"run": rollout}  # a predictor that draws several replies has rollout ids of its own
        settings = {
            "lm": next(self._lms),
            # Else DSPy keeps 10,000 prompts per module and their trace. A history of as many entries as there are calls
            # at once cannot run empty while DSPy drops the oldest from it in several threads.
            "max_history_size": self._at_once,
            "trace": None,
        }
        with self._log.appending() as self._write, watching(self, **settings):
            self._behind, dspy.cache = dspy.cache, self
            try:
                yield
            finally:
                dspy.cache = self._behind

    @contextmanager
    def for_question(self, question: str) -> Iterator[None]:
        """The LM calls in the block belong to one try at the question."""
        with self._lock:
            lm = next(self._lms)
        with dspy.context(**{_QUESTION: _Try(self, question), "lm": lm}):
            yield

    def replies_to(self, question: str) -> dict[str, list[Any]]:
        """The question's recorded replies so far, by the keys of their requests; for a worker, which `know`s them."""
        with self._lock:
            return {key: list(replies) for key, replies in self._replies[question].items()}

    def know(self, question: str, replies: Mapping[str, Sequence[Any]]) -> None:
        """Answer the question's requests with these replies, which another process has recorded."""
        with self._lock:
            self._replies[question].update((key, list(known)) for key, known in replies.items())

    def take(self, line: bytes) -> None:
        """Record a call that a worker paid for, given as a line of the file."""
        call = PaidCall.model_validate_json(line)
        self._write(line)
        with self._lock:
            self._replies[call.question][call.key].append(call.reply)
            self.count(call.usd)

    def forget(self, question: str) -> None:
        """Drop the question's replies from memory: this process will not try it again. They stay in the file."""
        with self._lock:
            self._replies.pop(question, None)

    # What DSPy asks of its cache.

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        """The recorded reply to this request; None if there is none, and then DSPy makes the call."""
        current = self._current()
        if current is not None:
            key = self._key(request)
            with self._lock:
                nth = current.asked[key]
                current.asked[key] += 1
                replies = self._replies[current.question][key]
                if nth < len(replies):
                    return again(replies[nth], replayed=True)
                if replies and self._repeats:
                    return again(replies[0], replayed=False)
            if not self._shared:
                return None
            request = request | self._rollout
        reply = self._behind.get(request, ignored_args_for_cache_key)
        if current is not None and getattr(reply, "cache_hit", False):
            # DSPy clears the usage of LiteLLM's reply on a cache hit; the copy in its memory cache still has it.
            kept = self._behind.memory_cache.get(self._behind.cache_key(request, ignored_args_for_cache_key))
            reply.usage = getattr(kept, "usage", {})
        return reply

    def put(
        self,
        request: dict[str, Any],
        value: Any,
        ignored_args_for_cache_key: list[str] | None = None,
        enable_memory_cache: bool = True,
    ) -> None:
        """Keep the reply to this request.

        Raises:
            LMServerError: the reply has neither text nor usage. DSPy makes that of JSON that is no completion, such as
                a gateway's message; it is no answer of an LM.
        """
        current = self._current()
        if current is not None:
            reply = recorded(value)
            if is_nothing(reply):
                raise LMServerError("the server's reply is no completion: it has neither text nor usage")
            key = self._key(request)
            price = usd(reply)
            call = PaidCall(
                question=current.question,
                key=key,
                usd=price,
                reply=reply,
                predictor=caller(self._names),
                prompt=_prompt(request),
            )
            # The reply is plain JSON: pydantic would look through it, for as long as all the rest takes.
            line = json_line({**dict(call), "prompt": call.prompt and [dict(message) for message in call.prompt]})
            self._write(line)
            with self._lock:
                self._replies[current.question][key].append(reply)
                self.count(price)
            request = request | self._rollout
        if self._shared or current is None:
            self._behind.put(request, value, ignored_args_for_cache_key, enable_memory_cache)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def _key(self, request: dict[str, Any]) -> str:
        """The request's key. DSPy asks for a reply and hands it over in one thread: the key is computed once."""
        adapter = adapter_name(dspy.settings.adapter)
        if getattr(self._last, "asked", None) != (request, adapter):
            self._last.asked, self._last.key = (request, adapter), _key(request, adapter)
        key: str = self._last.key
        return key

    def _current(self) -> "_Try | None":
        current = dspy.settings.get(_QUESTION)
        return current if current is not None and current.calls is self else None


def _copies(lm: dspy.LM, at_once: int) -> list[dspy.LM]:
    """The LM with its cache on: as many of it as have connections for so many calls. One LM of DSPy's has 100."""
    copies = [lm.copy(cache=True)]
    if isinstance(getattr(lm, "engine", None), str):  # an engine of the user's own has its own connections
        while len(copies) * _CONNECTIONS < at_once:
            copies.append(lm.copy(cache=True))
            copies[-1].__setstate__(copies[-1].__getstate__())  # as when it is unpickled: with connections of its own
    return copies


class _Try:
    """One try at a question."""

    def __init__(self, calls: RecordedCalls, question: str) -> None:
        self.calls = calls
        self.question = question
        self.asked: Counter[str] = Counter()  # how often each request was made


def _key(request: Mapping[str, Any], adapter: str) -> str:
    """A hash of the request, its server and settings included, and of the adapter that will read the reply.

    DSPy's own hash leaves the server out, and some requests have none. Only the provider's key, and how long its server
    is waited for, may change from sitting to sitting.
    """
    kept = {name: value for name, value in request.items() if name not in ("api_key", "timeout")}
    kept["adapter"] = adapter
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=repr).encode()).hexdigest()


def _prompt(request: Mapping[str, Any]) -> tuple[Message, ...] | None:
    """What the LM was shown, and nothing else of the request: it may hold keys."""
    messages = request.get("messages")
    if not isinstance(messages, list):
        return None
    return tuple(Message(role=str(message["role"]), text=_text(message.get("content"))) for message in messages)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, default=str)
