"""The heaps of a process with many threads."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import PATIENCE

HEAPS = """
import ctypes, sys, threading
{first}
held, there = threading.Barrier(9), threading.Barrier(9)
def hold():
    kept = bytearray(100_000)
    held.wait()
    there.wait()
threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
held.wait()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
there.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have other heaps")
def test_many_threads_share_two_heaps(tmp_path: Path) -> None:
    found = []
    for first in ("", "from odqa.heaps import give_back_memory; give_back_memory()"):
        out = tmp_path / "heaps.xml"
        command = [sys.executable, "-c", HEAPS.format(first=first), str(out)]
        subprocess.run(command, check=True, timeout=PATIENCE, env={})
        found.append(out.read_text().count("<heap nr="))
    assert found[0] > found[1] == 2
