"""Compiling that is killed at each write of its files, one after the other: it goes on to the same state."""

import os
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import dspy
import pytest
from dspy.lm15 import Request, Response
from support.compiling import compiled
from support.counted_writes import CountedWrites
from support.learning_lm import HELD_OUT, TABLE, TRAIN, LearningLM

from programs.direct import Direct


class CountedLM(LearningLM):
    """Writes a line to a file for each call that is paid for."""

    def __init__(self, directory: Path) -> None:
        super().__init__("Person")
        self._paid = directory / "paid"

    def complete(self, request: Request) -> Response:
        reply = super().complete(request)
        file = os.open(self._paid, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (request.messages[-1].text or "").replace("\n", " ").encode() + b"\n")
        os.close(file)
        return reply


def compile_killed_at(number: int, directory: Path, *, whole: bool) -> int:
    """Compile in a process that ends at the write of this number, before or after half of it is written.

    Returns:
        The exit status: 9 where it was killed.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def end(write: Callable[[bytes], int], content: bytes) -> int:
        write(content if whole else content[: len(content) // 2])
        os._exit(9)

    CountedWrites(number, end).watch(pytest.MonkeyPatch())
    few = {"train": TRAIN[:2], "held_out": HELD_OUT[:2], "threads": 1, "lm_calls": 1}
    try:
        compiled("bootstrap_few_shot", Direct(TABLE), CountedLM(directory), directory, **few)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def paid(directory: Path) -> Counter[str]:
    return Counter((directory / "paid").read_text().splitlines())


def kill_at_each(folder: Path, *, whole: bool) -> int:
    """Compile in one directory for each write, killed there and then left in peace; gives how many writes there are."""
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir(parents=True)
    assert compile_killed_at(0, undisturbed, whole=whole) == 0
    state = (undisturbed / "state.json").read_bytes()
    for number in count(1):
        directory = folder / str(number)
        directory.mkdir()
        if compile_killed_at(number, directory, whole=whole) == 0:
            return number - 1
        assert compile_killed_at(0, directory, whole=whole) == 0
        assert (directory / "state.json").read_bytes() == state, number
        again = paid(directory) - paid(undisturbed)
        assert again.total() <= (not whole), number  # half a reply is none
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_it_goes_on_to_the_same_state_and_pays_nothing_twice_that_is_on_disk(whole: bool, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    script = f"""
from pathlib import Path
from test_killed_at_every_write import kill_at_each
print(kill_at_each(Path({str(tmp_path)!r}), whole={whole}))
"""
    path = os.pathsep.join(map(str, (Path(__file__).parent, root / "tests", root)))
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 15  # calls, rows, manifests, passages, summaries, the state
