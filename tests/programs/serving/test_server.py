"""Stopping the answers server."""

import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.loopback import listens, started
from support.patience import PATIENCE, eventually

pytestmark = pytest.mark.needs("uvicorn")


IN_FLIGHT = 12
HELD = """
import os, sys, threading
from pathlib import Path

sys.path.insert(0, "tests")
from support.answers_server import answering_with
from support.scripted import Function, engine_lm, render

from programs.serving.guard import Admission
from programs.serving.server import serve

released = threading.Event()

def reply(system, user):
    os.write(1, b"asked\\n")
    released.wait()
    return render({"answer": "Menelik"})

def release():
    sys.stdin.readline()
    released.set()

threading.Thread(target=release, daemon=True).start()
serve(answering_with(engine_lm(Function(reply))), Admission("127.0.0.1"), port=0)
print("stopped")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_answer_what_it_was_asked(number: signal.Signals) -> None:
    with started(HELD) as (process, url, stdin, stdout, stderr):

        def ask(n: int) -> httpx.Response:
            body = {"question": f"Who led army {n}?", "method": "direct", "stream": n % 2 == 0}
            return httpx.post(f"{url}/v1/answers", json=body, timeout=PATIENCE)

        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            asked = [pool.submit(ask, n) for n in range(IN_FLIGHT)]
            assert [stdout.readline() for _ in asked] == ["asked\n"] * IN_FLIGHT
            process.send_signal(number)
            eventually(lambda: not listens(url))
            stdin.close()  # the LM answers
            replies = [one.result() for one in asked]
        assert [reply.status_code for reply in replies] == [200] * IN_FLIGHT
        assert all('"answer":"Menelik"' in reply.text.replace(": ", ":") for reply in replies)
        assert process.wait(PATIENCE) == 0
        assert stdout.read() == "stopped\n"
        log = stderr.read()
    assert "Traceback" not in log
