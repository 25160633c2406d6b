"""Open information extraction: the LM is asked for the names in each passage, then for its facts, as triples.

Every reply is on disk as soon as it is read, so that none is paid for twice: see `Replies`.
"""

import contextvars
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import dspy
from dspy.utils.exceptions import LMError

from odqa.bridge import Call, Watcher, unbound, watching
from odqa.errors import OdqaError
from odqa.files import json_line, open_regular, undamaged, writing_lines
from odqa.secrets import public
from retrieval.asking import adapter_in_use, ask
from retrieval.indexes import Corpus
from retrieval.passage import Passage
from signatures.extract import ExtractTriples, NameEntities

__all__ = ["Found", "OpenIE", "Replies", "Unfinished", "extract_all", "identity", "prompts"]

_HOPELESS = 10  # when so many passages fail before any is answered, the fault is not in the passages


class Unfinished(OdqaError):
    """Not every passage was asked about; the message says why, and what was paid for is kept."""


class Found(NamedTuple):
    """What the LM found in a passage; None for a reply that could not be read."""

    entities: list[str] | None
    triples: list[list[str]] | None


class Replies:
    """The replies that there are, by a hash of their requests.

    A line of the file is {"key", "id", "found", "calls"}: the hash, the passage's id, what was read in the reply (null
    if it could not be read), and how many LM calls it took. The readable replies of `before`, the file of a finished
    index, are used too. A damaged file raises RetrievalError.
    """

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self._path = path
        self._found: dict[str, Any] = {}
        self.calls = 0
        """LM calls that are paid for, without those of the finished index."""
        if before and before.is_file():
            self._found = {line["key"]: line["found"] for line in _lines(before) if line["found"] is not None}
        for line in _lines(path) if path.is_file() else ():
            self._found[line["key"]] = line["found"]
            self.calls += line["calls"]

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """Let replies be added in the block."""
        with writing_lines(self._path) as self._write:
            yield self

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def __getitem__(self, key: str) -> Any:
        return self._found[key]

    def add(self, key: str, id: str, found: Any, calls: int) -> None:
        """Write a reply to the disk."""
        self._write(json_line({"key": key, "id": id, "found": found, "calls": calls}))
        self._found[key] = found


class OpenIE:
    """Asks one LM about passages, or gives what it replied before. Safe for many threads."""

    def __init__(self, lm: dspy.LM, replies: Replies) -> None:
        self._lm = lm
        self._about = json.dumps(identity(lm), sort_keys=True)
        self._replies = replies
        self._entities, self._triples = dspy.Predict(NameEntities), dspy.Predict(ExtractTriples)

    def extract(self, passage: Passage, count: Callable[[], int] = lambda: 0) -> Found:
        """The names and the triples of a passage. `count` says how many LM calls this thread has made so far. Raises
        LMError where the LM's provider could not answer."""
        text = text_of(passage)
        entities = self._ask(self._entities, "entities", passage.id, count, passage=text)
        named = as_lines(entities or [])
        return Found(entities, self._ask(self._triples, "triples", passage.id, count, passage=text, entities=named))

    def request(self, signature: type[dspy.Signature], **inputs: str) -> tuple[str, int]:
        """The key of a request, and its length in characters."""
        messages = adapter_in_use().format(signature, [], inputs)
        text = json.dumps([type(adapter_in_use()).__name__, self._about, messages])
        return hashlib.sha256(text.encode()).hexdigest(), sum(len(str(message["content"])) for message in messages)

    def keys(self, passage: Passage) -> tuple[str, str]:
        """The keys of a passage's two requests, of which the first is answered."""
        text = text_of(passage)
        first, _ = self.request(NameEntities, passage=text)
        second, _ = self.request(ExtractTriples, passage=text, entities=as_lines(self._replies[first] or []))
        return first, second

    def _ask(self, predictor: dspy.Predict, field: str, id: str, count: Callable[[], int], **inputs: str) -> Any:
        key, _ = self.request(predictor.signature, **inputs)
        if key not in self._replies:
            before = count()
            with dspy.context(lm=self._lm, trace=None):
                found = ask(predictor, **inputs)[field]
            self._replies.add(key, id, found, count() - before)
        return self._replies[key]


def extract_all(
    corpus: Corpus,
    openie: OpenIE,
    *,
    at_once: int,
    calls_before: int,
    max_calls: int | None,
    progress: Callable[..., Any],
) -> list[Found]:
    """Ask about every passage, with at most `at_once` LM calls under way, and `calls_before` of `max_calls` made
    already.

    Raises:
        Unfinished: the limit is reached, or the provider failed for some passages.
        KeyboardInterrupt: passed on when the calls under way are finished.
    """
    found: list[Found | None] = [None] * len(corpus)
    failed: list[LMError] = []
    rows: Iterator[int] = iter(progress(range(len(corpus)), desc="asking", unit="passage"))
    lock = threading.Lock()
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            with lock:
                row = next(rows, None)
            if row is None:
                return
            try:
                found[row] = openie.extract(corpus.passage(row), calls.of_this_thread)
            except _LimitReached:
                stopped.set()
            except LMError as error:
                failed.append(error)
                if len(failed) >= _HOPELESS and not any(found):
                    stopped.set()
            except BaseException:
                stopped.set()
                raise

    with _counted(calls_before, max_calls) as calls, ThreadPoolExecutor(at_once) as pool:
        workers = [pool.submit(contextvars.copy_context().run, work) for _ in range(at_once)]
        try:
            for worker in workers:
                worker.result()
        finally:
            stopped.set()
    return _all_of(found, failed, max_calls)


def _all_of(found: Sequence[Found | None], failed: Sequence[LMError], max_calls: int | None) -> list[Found]:
    """What was found in each passage. Raises `Unfinished` where something was not asked about."""
    answered = [one for one in found if one is not None]
    if failed:
        line = public(" ".join(str(failed[0]).split()))[:300]
        raise Unfinished(
            f"the LM did not answer for {len(failed)} of {len(found)} passages ({type(failed[0]).__name__}: {line}); "
            "the same command asks about those again, and what was answered is kept"
        )
    if len(answered) < len(found):
        raise Unfinished(
            f"the limit of {max_calls} LM calls is reached, with {len(answered)} of {len(found)} passages done: the "
            "same command with a higher limit goes on from there"
        )
    return answered


def text_of(passage: Passage) -> str:
    """A passage as the LM is shown it."""
    return f"{passage.title}\n{passage.text}".strip()


def as_lines(entities: list[str]) -> str:
    """The entities as the LM is shown them."""
    return "\n".join(" ".join(entity.split()) for entity in entities)


def identity(lm: dspy.LM) -> dict[str, Any]:
    """What decides the LM's replies: its name and its settings, without secrets."""
    lm = unbound(lm)
    settings = {**lm.kwargs, **getattr(lm.engine, "dump_state", dict)()}
    settings.pop("timeout", None)
    known: dict[str, Any] = public(json.loads(json.dumps({"model": lm.model, **settings}, default=repr)))
    return known


def prompts(*asked: type[dspy.Signature]) -> str:
    """A hash of what signatures ask."""
    shown = [[one.instructions, *(f"{name}: {field}" for name, field in one.fields.items())] for one in asked]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


class _LimitReached(BaseException):
    """Ends a passage. It is no Exception, so that nothing handles it on its way."""


class _Calls(Watcher):
    """Counts the LM calls, and lets none begin above the limit."""

    def __init__(self, made: int, limit: int | None) -> None:
        self._made, self._limit = made, limit
        self._lock = threading.Lock()
        self._own = threading.local()

    def on_call_start(self, call: Call) -> None:
        with self._lock:
            if self._limit is not None and self._made >= self._limit:
                raise _LimitReached
            self._made += 1
        self._own.made = self.of_this_thread() + 1

    def of_this_thread(self) -> int:
        return getattr(self._own, "made", 0)


@contextmanager
def _counted(made: int, limit: int | None) -> Iterator[_Calls]:
    calls = _Calls(made, limit)
    with watching(calls, first=True):
        yield calls


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines, without a last one that has no end."""
    with open_regular(path) as file:
        yield from (line for line in file if line.endswith(b"\n"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with undamaged(path, "remove it, and what it holds is asked for again"):
        for line in map(json.loads, _whole_lines(path)):
            if not (isinstance(line["key"], str) and type(line["calls"]) is int and _is_found(line["found"])):
                raise ValueError("it is no line of ours")
            yield line


def _is_found(value: Any) -> bool:
    """Whether it is names, triples, or None. Pydantic does not tell: it takes no lone surrogates, which LMs write."""

    def is_texts(some: Any) -> bool:
        return isinstance(some, list) and all(isinstance(one, str) for one in some)

    return (
        value is None
        or is_texts(value)
        or (isinstance(value, list) and all(is_texts(one) and len(one) == 3 for one in value))
    )
