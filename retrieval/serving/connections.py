"""Connections that no client can keep busy for as long as it likes."""

import asyncio
import logging
from collections import deque
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["bounded_protocol"]

# uvicorn warns of each request that is no HTTP, and so anyone could fill the disk with its log.
_errors = logging.getLogger("uvicorn.error.requests")
_errors.addFilter(lambda record: record.levelno >= logging.ERROR)  # uvicorn resets the levels of its loggers


def bounded_protocol(seconds: float, most: int, at_once: int) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with bounds that it lacks.

    uvicorn closes connections that are idle after a reply. But a client may send nothing, send for ever, or not read
    its reply, and one of uvicorn's two parsers takes headers without end. When a client goes away that sent several
    requests at once, uvicorn tells the last of them alone, and the others would be answered to nobody.

    Args:
        seconds: Between two replies on a connection, and before the first; then it is cut off.
        most: Bytes that may arrive outside of a request; with more the connection is cut off too.
        at_once: Connections; any more are cut off.
    """

    class Bounded(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        _end: asyncio.TimerHandle
        _outside = 0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.logger = _errors
            self._cycles: deque[Any] = deque()  # the requests that are not answered, oldest first

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._end = self.loop.call_later(seconds, transport.abort)
            if len(self.connections) > at_once:
                transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            self._end.cancel()
            super().connection_lost(error)
            for cycle in self._cycles:
                cycle.disconnected = True
                cycle.message_event.set()

        def on_headers_complete(self) -> None:  # by httptools; h11 begins a request when the one before is answered
            super().on_headers_complete()
            while self._cycles and self._cycles[0].response_complete:
                self._cycles.popleft()
            self._cycles.append(self.cycle)

        def on_response_complete(self) -> None:
            self._end.cancel()
            self._end = self.loop.call_later(seconds, self.transport.abort)
            super().on_response_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            outside = self.cycle is None or self.cycle.response_complete
            self._outside = self._outside + len(data) if outside else 0
            if self._outside > most and not self.transport.is_closing():
                self.transport.abort()

    return Bounded
