"""A retriever behind the ten lines that one writes oneself, which `server_load.py` compares with the search server.

    python benchmarks/plain_servers.py starlette|gunicorn SPEC

Starlette runs the view in its pool of 40 threads, on uvicorn; gunicorn runs a view of Flask in 64 threads of one
process. Once it listens, each prints its address.
"""

import json
import socket
import sys

from retrieval import Retriever, load

THREADS = 64


def found(retriever: Retriever, query: str, k: int) -> dict[str, object]:
    """What the plain views answer: less than the search server, which adds ranks, probabilities and a second text."""
    passages = retriever(query, k)
    return {"topk": [{"text": f"{p.title} | {p.text}", "pid": p.id, "score": p.score} for p in passages]}


def starlette(spec: str, listener: socket.socket) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def view(request: Request) -> JSONResponse:
        return JSONResponse(found(retriever, request.query_params["query"], int(request.query_params["k"])))

    retriever = opened(spec, listener.getsockname()[1])
    config = uvicorn.Config(Starlette(routes=[Route("/", view)]), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def gunicorn(spec: str, listener: socket.socket) -> None:
    from gunicorn.app.base import BaseApplication

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            settings = {"bind": f"fd://{listener.detach()}", "worker_class": "gthread", "threads": THREADS}
            settings |= {"loglevel": "error", "timeout": 300, "control_socket_disable": True}
            for name, value in settings.items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)

        def load(self):  # type: ignore[no-untyped-def]
            return flask(opened(spec, port))

    port = listener.getsockname()[1]
    Application().run()


def flask(retriever: Retriever):  # type: ignore[no-untyped-def]
    from flask import Flask, Response, request

    app = Flask("plain")

    @app.get("/")
    def view() -> Response:
        body = json.dumps(found(retriever, request.args["query"], int(request.args["k"])))
        return Response(body, mimetype="application/json")

    return app


def opened(spec: str, port: int) -> Retriever:
    """The retriever; prints that it is served."""
    retriever = load(spec)
    print(f"Serving on http://127.0.0.1:{port}", file=sys.stderr, flush=True)
    return retriever


if __name__ == "__main__":
    name, spec = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        {"starlette": starlette, "gunicorn": gunicorn}[name](spec, listener)
