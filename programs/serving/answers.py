"""/v1/answers: a question's steps and its record, whole or as they happen; what there is to ask, and the prompts."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from programs.instruments.words import QUESTIONS
from programs.serving.answering import Answering, Asking
from programs.serving.description import Endpoint
from programs.serving.forms import Ask, form_of
from programs.serving.problems import Problem
from programs.serving.question import Question, Record
from programs.serving.replies import BY_EVENTS, event, reply
from retrieval import RetrievalError
from retrieval.indexes import OnDisk
from retrieval.serving.requests import json_reply

__all__ = ["answer_routes"]

_ANYTHING = "name year people country city world work company product history"  # some of it is in most corpora
_EXAMPLES = 3
_FIRST = 50  # passages of an index, among which some have titles


def answer_routes(answering: Answering) -> list[BaseRoute]:
    """The routes of answers, methods and prompts."""

    async def answers(request: Request) -> Response:
        """A question's answer, with every step that led to it."""
        ask = await form_of(request, Ask, answering.limits)
        question = answering.begin(
            Asking(ask.question, ask.method, ask.settings, ask.retriever, ask.prompts, ask.stream)
        )
        return await reply(request, question, Record.model_dump, _events(question) if ask.stream else None)

    known: dict[str, list[str]] = {"sample": list(QUESTIONS)}

    async def examples(name: str) -> list[str]:
        """Questions to begin with, made of the titles of passages that the retriever has."""
        retriever = answering.retrievers[name]
        if name not in known and retriever and not retriever.asks_lm:
            if isinstance(retriever, OnDisk):
                found = [retriever.passage(row) for row in range(min(len(retriever), _FIRST))]
            else:
                try:
                    found = await answering.search(retriever, _ANYTHING, _EXAMPLES)
                except (Problem, RetrievalError):  # there may be a place, or a search server, the next time
                    return []
            titles = [passage.title for passage in found if passage.title]
            known[name] = [f"What is said about {title}?" for title in titles[:_EXAMPLES]]
        return known.get(name, [])

    async def methods(_: Request) -> Response:
        """What there is to ask."""
        return json_reply(
            {
                "methods": answering.methods.described(),
                "retrievers": list(answering.retrievers),
                "models": answering.models,
                "lm": {"name": answering.lm_name, "language_model": answering.language_model},
                "examples": {name: await examples(name) for name in answering.retrievers},
                "compiled": answering.methods.compiled(),
            }
        )

    async def prompts(request: Request) -> Response:
        """What a method's predictors are shown, as served and before compiling."""
        method = request.path_params["method"].partition("@")[0]
        if method not in answering.methods.names:
            raise Problem(404, f"there is no method {method!r}", "not_found")
        return json_reply({"method": method, "predictors": answering.methods.prompts(method)})

    return [
        Endpoint("/v1/answers", answers, takes=Ask, gives=Record, kinds=BY_EVENTS),
        Endpoint("/v1/methods", methods),
        Endpoint("/v1/prompts/{method}", prompts),
    ]


async def _events(question: Question) -> AsyncIterator[bytes]:
    try:
        async for told in question:
            yield event(told.model_dump(), "done" if isinstance(told, Record) else "step")
    except Problem as problem:
        yield event(problem.body, "error")
