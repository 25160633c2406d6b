"""Serves the application on an address of this machine until a signal comes."""

import asyncio
import socket
from collections.abc import Sequence

import uvicorn
from starlette.routing import BaseRoute

from programs.serving.answering import Answering
from programs.serving.app import make_app
from programs.serving.guard import Admission
from retrieval.serving.listening import config, run

__all__ = ["Server", "serve"]


class Server(uvicorn.Server):
    """uvicorn's server, which when it stops ends the questions that are still in flight after the grace."""

    def __init__(self, answering: Answering, admission: Admission, routes: Sequence[BaseRoute] = ()) -> None:
        limits = answering.limits
        # As long as it may take to send a request, to answer it, and to read the reply.
        seconds = 3 * limits.arrival + limits.seconds
        grace = limits.grace + limits.arrival  # the rest is for telling so
        super().__init__(
            config(make_app(answering, admission, routes), seconds=seconds, grace=grace, body=limits.body, head=2**16)
        )
        self._answering = answering

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        alarm = asyncio.get_running_loop().call_later(self._answering.limits.grace, self._answering.stop)
        await super().shutdown(sockets)
        alarm.cancel()


def serve(answering: Answering, admission: Admission, routes: Sequence[BaseRoute] = (), *, port: int) -> None:
    """Serve until SIGINT or SIGTERM; then stop listening, answer what is in flight, and return.

    For the main thread of a program, where signals arrive.

    Args:
        answering: Answers the questions.
        admission: Who may ask, and the address to listen on.
        routes: Further routes.
        port: Port; 0 takes a free one, which the log names.

    Raises:
        UsageError: the host or port cannot be listened on.
    """
    run(Server(answering, admission, routes), admission.host, port, "described on /docs")
