"""The memory that a process of many threads keeps when it has freed it."""

import ctypes
import sys

__all__ = ["give_back_memory"]

_MALLOC = {-3: 1 << 20, -8: 2}  # numbers from malloc.h: M_MMAP_THRESHOLD in bytes, M_ARENA_MAX


def give_back_memory() -> None:
    """Make the C library return freed memory to the system, for a program that starts. Does this with glibc only.

    Every search frees arrays as long as the corpus, and every question what its prompts took. Otherwise each thread
    has a heap that keeps them for its next ones, and there are many threads.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if mallopt := getattr(library, "mallopt", None):
        for setting, value in _MALLOC.items():
            mallopt(setting, value)
