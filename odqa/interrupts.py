"""What an interrupt does to the process of a command, and how such a process ends.

The packages import this before anything else, because importing DSPy takes seconds: until `odqa.console.run` starts the
command, an interrupt ends the process at once. It has an effect only where Python runs `odqa` or a module of ours
(`python -m eval`).
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

__all__ = ["ending_at_once", "leave", "raising"]

_ROOMS = ("eval", "odqa", "optimizers", "programs", "retrieval")


def _is_command() -> bool:
    if sys.argv[:1] != ["-m"]:  # which it is until Python has found the module to run
        return Path(*sys.argv[:1]).stem == "odqa"
    module = sys.orig_argv[-len(sys.argv)]  # with its arguments it stands at the end
    return module.partition(".")[0] in _ROOMS


_IS_COMMAND = _is_command()


@contextmanager
def ending_at_once() -> Iterator[None]:
    """In the block an interrupt ends this process, whatever it does; for what leaves nothing behind that is half done.

    Python itself would see the interrupt only between two steps of the main thread: not while that waits for a name
    server, and not while it imports a large package.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # interrupts are ignored, or end the process already, or are no matter of this thread
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def raising() -> None:
    """From now on, where a command has been imported, an interrupt raises KeyboardInterrupt as usual."""
    if _IS_COMMAND and signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(code: int) -> NoReturn:
    """End this process, if it is a command of ours, else raise SystemExit.

    Python would wait for threads that were left behind, and take down modules under those that go on: with LiteLLM
    that took three seconds, and once it never ended.
    """
    if _IS_COMMAND:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # as of a full disk, which `run` has told
                stream.flush()
        os._exit(code)
    sys.exit(code)


if _IS_COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
