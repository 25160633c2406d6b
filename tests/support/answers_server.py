"""The answers server on loopback, in a thread, over a table of passages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from support.loopback import under_way
from support.patience import PATIENCE

from programs.instruments.adapters import load_adapter
from programs.serving.answering import Answering
from programs.serving.guard import Admission
from programs.serving.limits import Limits
from programs.serving.methods import Methods
from programs.serving.server import Server
from retrieval import Memory, Passage, Retriever
from retrieval.serving.listening import listen

__all__ = ["TABLE", "answering_with", "running", "serving"]

TABLE = Memory(
    [
        Passage("adwa", "General Baratieri led the Italian troops at Adwa.", "Battle of Adwa"),
        Passage("https://example.org/menelik", "Menelik led the Ethiopian troops at Adwa.", "Menelik"),
        Passage("arch", "The Gateway Arch was designed by Eero Saarinen.", "Gateway Arch"),
    ]
)


def answering_with(
    lm: dspy.LM,
    *methods: str,
    retriever: Retriever | None = TABLE,
    limits: dict[str, Any] | None = None,
    rewrite: bool = True,
    **served: Any,
) -> Answering:
    """Answers with these methods over one retriever, named table, and closed book."""
    return Answering(
        lm,
        Methods(methods or ["direct"], **served),
        {"table": retriever, "none": None},
        adapter=load_adapter(),
        limits=Limits(**{"seconds": PATIENCE, "arrival": PATIENCE, "grace": PATIENCE, **(limits or {})}),
        rewrite=rewrite,
    )


@contextmanager
def running(answering: Answering, routes: Sequence[Any] = (), **admission: Any) -> Iterator[tuple[Server, str]]:
    """The server and its URL."""
    server = Server(answering, Admission(**admission), routes)
    with under_way(server, listen("127.0.0.1", 0)) as url:
        yield server, url


@contextmanager
def serving(answering: Answering, routes: Sequence[Any] = (), **admission: Any) -> Iterator[str]:
    """The URL of the server."""
    with running(answering, routes, **admission) as (_, url):
        yield url
