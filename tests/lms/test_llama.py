"""Which calls a model that is loaded computes when, and what it reads again. The model is SmolLM2-135M-Instruct."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.patience import PATIENCE
from support.smollm2 import smollm2

from lms.llama import Model

RIVERS = "The river comes from the mountains, passes an old town with a castle, and ends in the sea. " * 5
TRAINS = "A train leaves the station at noon, crosses a bridge over the valley, and arrives at night. " * 5
SHIPS = "Three ships lie in the harbour, one of them loaded with oranges, and wait for better weather. " * 5


@pytest.fixture(scope="module")
def path() -> Path:
    return Path(smollm2().removeprefix("gguf:"))


def body(text: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"messages": messages, "max_tokens": 1, "stream": True, "stream_options": {"include_usage": True}, **more}


def read(model: Model, text: str) -> tuple[int, int]:
    """The tokens of the prompt, and those among them that were read anew."""
    (usage,) = [chunk["usage"] for chunk in model.chunks(body(text)) if chunk.get("usage")]
    return usage["prompt_tokens"], usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.slow
def test_each_kind_of_call_finds_its_own_beginning_again(path: Path) -> None:
    """Also where it is so small a part of the prompt that llama.cpp brings it back from nowhere else than a slot."""
    model = Model(path, 512, 1, 2, 1)
    kinds = (RIVERS[:280], TRAINS[:280])
    for kind in kinds:
        read(model, kind + SHIPS * 3)
    for kind in kinds:
        tokens, anew = read(
            model, kind + "Nobody knows why the old painter left the village so early in the year. " * 15
        )
        assert anew < 0.88 * tokens


@pytest.mark.slow
def test_threads_that_wait_for_each_other_give_their_core_away_soon(path: Path) -> None:
    """GNU's OpenMP says what it was told, when it is loaded; the process's own environment stays as it was."""
    load = f"import os; from lms.llama import Model; model = Model({str(path)!r}, 64, 1, 1, 1)"
    code = f"{load}; print(*os.environ, flush=True); os._exit(0)"  # llama.cpp does not end well before its first call
    for given, spin in (({}, "1000"), ({"GOMP_SPINCOUNT": "77"}, "77")):
        own = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
        environment = {**own, **given, "OMP_DISPLAY_ENV": "verbose"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        if "OPENMP DISPLAY" not in done.stderr:
            pytest.skip("this build of llama.cpp has another OpenMP than GNU's")
        assert f"GOMP_SPINCOUNT = '{spin}'" in done.stderr
        assert ("GOMP_SPINCOUNT" in done.stdout.split()) == bool(given)


class Observed:
    """In place of llama.cpp's server: says which calls are computed, and ends each when it is told to."""

    def __init__(self) -> None:
        self.begun: dict[str, threading.Event] = {}
        self.ending: dict[str, threading.Event] = {}

    def handle_chat_completions(self, body: dict[str, Any], take: Callable[[Any], bool]) -> None:
        text = body["messages"][0]["content"]
        self.begun[text].set()
        assert self.ending[text].wait(PATIENCE)
        take(text)


@pytest.fixture
def observed(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Model, Observed]:
    model, server = Model(path, 64, 2, 2, 1), Observed()
    monkeypatch.setattr(model, "_server", server)
    return model, server


def test_calls_that_begin_alike_are_computed_one_after_the_other_and_others_go_past_them(
    observed: tuple[Model, Observed],
) -> None:
    model, server = observed
    first, second, other, last = calls = [RIVERS + "One.", RIVERS + "Two.", TRAINS, SHIPS]
    for text in calls:
        server.begun[text], server.ending[text] = threading.Event(), threading.Event()
    with ThreadPoolExecutor(4) as pool:
        replies = {}
        for text in calls:
            replies[text] = pool.submit(lambda text: list(model.chunks(body(text))), text)
            if text in (first, other):
                assert server.begun[text].wait(PATIENCE)  # the two that are computed first
        server.ending[other].set()
        assert server.begun[last].wait(PATIENCE)
        server.ending[last].set()
        assert replies[last].result(PATIENCE) == [last]
        assert not server.begun[second].is_set()  # one place is free, and it waits for the first
        server.ending[first].set()
        assert server.begun[second].wait(PATIENCE)
        server.ending[second].set()
        assert [reply.result(PATIENCE) for reply in replies.values()] == [[text] for text in calls]
