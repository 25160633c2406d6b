"""An OpenAI-compatible server on loopback that answers after a fixed time, from the built-in extractive reader.

    with stand_in(seconds=0.2) as api_base:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=api_base, api_key="none", cache=False)

It is a process of its own, as a real server is: its work does not slow down the program that is measured.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dspy.lm15 import request_from_openai_chat

from lms.extractive import ExtractiveReader


@contextmanager
def stand_in(*, seconds: float) -> Iterator[str]:
    """Serve until the block ends; yields the api_base. `seconds` is from a request's arrival to its reply."""
    server = subprocess.Popen([sys.executable, __file__, str(seconds)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait()


def main(seconds: float) -> None:
    """Serve on a free port, which is printed."""
    reader = ExtractiveReader()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps connections open, as real servers do
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            due = time.perf_counter() + seconds
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = reader.complete(request_from_openai_chat(body))
            message = {"role": "assistant", "content": response.message.text}
            reply = {
                "id": "stand-in",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": response.usage.input_tokens,
                    "completion_tokens": response.usage.output_tokens,
                    "total_tokens": response.usage.total_tokens,
                },
            }
            payload = json.dumps(reply).encode()
            time.sleep(max(0.0, due - time.perf_counter()))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        print(httpd.server_port, flush=True)
        httpd.serve_forever()


if __name__ == "__main__":
    main(float(sys.argv[1]))
