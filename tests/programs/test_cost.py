import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import dspy
import pytest
from scripted import Function, engine_lm, render

from programs._ask import ask
from programs._cost import measured
from programs._parallel import side_by_side
from retrieval import Memory, Passage


@pytest.fixture
def lm() -> dspy.LM:
    return engine_lm(Function(lambda system, user: render({"answer": "a"})))


def test_calls_in_threads_are_counted_and_blocks_do_not_mix(lm: dspy.LM) -> None:
    predict, retriever = dspy.Predict("question -> answer"), Memory([Passage("1", "a")])
    with dspy.context(lm=lm), measured() as outer:
        with measured() as inner:
            side_by_side(lambda: predict(question="1"), lambda: predict(question="2"), lambda: retriever("a"))
        predict(question="3")
        retriever.search("not counted: a backend's own", 1)
    assert (inner.lm_calls, inner.searches, inner.input_tokens, inner.output_tokens) == (2, 1, 20, 4)
    assert (outer.lm_calls, outer.searches, outer.input_tokens, outer.output_tokens) == (3, 1, 30, 6)
    assert 0 < inner.seconds < outer.seconds


def test_an_unparsable_reply_is_two_calls_and_one_unparsable() -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: "no"))), measured() as cost:
        ask(dspy.ChainOfThought("question -> answer"), question="1")
    assert (cost.lm_calls, cost.unparsable, cost.input_tokens) == (2, 1, 20)


def test_the_counts_are_there_when_the_block_raises(lm: dspy.LM) -> None:
    def fail() -> None:
        dspy.Predict("question -> answer")(question="1")
        raise KeyError

    with dspy.context(lm=lm), pytest.raises(KeyError), measured() as cost:
        fail()
    assert (cost.lm_calls, cost.input_tokens) == (1, 10)


@pytest.fixture
def server() -> Iterator[str]:
    """An OpenAI-compatible server that always answers the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": render({"answer": "a"})}
            body = json.dumps(
                {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}/v1"
        httpd.shutdown()
        thread.join()


@pytest.mark.parametrize(("engine", "again"), [("lm15", (1, 1, 7, 3)), ("litellm", (1, 1, 0, 0))])
# LiteLLM and the HTTP client leave sockets to the garbage collector; LiteLLM's own deprecations are not ours.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cached_reply_counts_with_the_tokens_it_cost_when_first_paid(
    server: str, engine: str, again: tuple[int, ...], tmp_path: Path
) -> None:
    lm = dspy.LM("openai/m", api_base=server, api_key="none", engine=engine, max_tokens=100)
    question = f"asked for the first time with {engine} in {tmp_path}"  # a key that no cache on disk has
    seen = []
    for _ in range(2):
        with dspy.context(lm=lm), measured() as cost:
            dspy.Predict("question -> answer")(question=question)
        seen.append((cost.lm_calls, cost.cached_calls, cost.input_tokens, cost.output_tokens))
    assert seen == [(1, 0, 7, 3), again]
