"""A retriever behind the ten lines that one writes oneself, which `server_load.py` compares with the search server.

    python benchmarks/plain_servers.py starlette|waitress|werkzeug SPEC

Starlette runs the view in its pool of 40 threads, on uvicorn; waitress has 64 threads, one per client; werkzeug starts
a thread per connection. Once it listens, each prints its address.
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


def starlette(retriever: Retriever, listener: socket.socket) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def view(request: Request) -> JSONResponse:
        return JSONResponse(found(retriever, request.query_params["query"], int(request.query_params["k"])))

    config = uvicorn.Config(Starlette(routes=[Route("/", view)]), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def waitress(retriever: Retriever, listener: socket.socket) -> None:
    from waitress import serve

    serve(flask(retriever), sockets=[listener], threads=THREADS)


def werkzeug(retriever: Retriever, listener: socket.socket) -> None:
    import logging

    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # else a connection per request

    logging.getLogger("werkzeug").setLevel("ERROR")
    port = listener.getsockname()[1]
    make_server(
        "127.0.0.1", port, flask(retriever), threaded=True, request_handler=Handler, fd=listener.fileno()
    ).serve_forever()


def flask(retriever: Retriever):  # type: ignore[no-untyped-def]
    from flask import Flask, Response, request

    app = Flask("plain")

    @app.get("/")
    def view() -> Response:
        body = json.dumps(found(retriever, request.args["query"], int(request.args["k"])))
        return Response(body, mimetype="application/json")

    return app


if __name__ == "__main__":
    name, spec = sys.argv[1:]
    opened = load(spec)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(f"Serving on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        {"starlette": starlette, "waitress": waitress, "werkzeug": werkzeug}[name](opened, listener)
