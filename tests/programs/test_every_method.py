"""What every method does alike, whatever it asks: its settings, its searches, yes or no, and the order of its trace."""

import time
import typing
import zlib
from typing import Any

import dspy
import pytest
from support.meant_replies import PASSAGES, QUESTION, SETTINGS, as_asked, in_form, methods, retriever_for
from support.scripted import Function, engine_lm

from lms.extractive import ExtractiveReader
from lms.prompt import parse
from programs import load, names
from programs.steps.settings import Count
from retrieval import Memory, Passage, UsageError


def hints(method: str) -> dict[str, Any]:
    """The settings of a method, with their annotations."""
    return typing.get_type_hints(load(method).__init__, include_extras=True)


def counts(method: str) -> list[str]:
    """The settings of a method that count something."""
    return [name for name, hint in hints(method).items() if hint == Count or Count in typing.get_args(hint)]


class Recording(Memory):
    """Remembers how many passages each search asked for."""

    def __init__(self) -> None:
        super().__init__(PASSAGES)
        self.asked: list[int] = []

    def search(self, query: str, k: int) -> list[Passage]:
        self.asked.append(k)
        return super().search(query, k)


@pytest.mark.parametrize(("method", "setting"), [(name, setting) for name in names() for setting in counts(name)])
def test_a_count_below_one_is_refused(method: str, setting: str) -> None:
    with pytest.raises(UsageError, match=rf"{setting} must be (?:an? .*|)at least 1, not 0"):
        load(method)(Memory([]), **{setting: 0})


@pytest.mark.parametrize(
    ("method", "setting"),
    [(name, setting) for name in names() for setting in hints(name) if setting in ("upr", "reranker", "entailment")],
)
def test_a_model_that_there_is_not_is_refused(method: str, setting: str) -> None:
    mode = {"mode": "rerank"} if method == "alce" else {}  # the one of its modes that checks citations
    with pytest.raises(UsageError, match=r"unknown .*'nosuch'"):
        load(method)(Memory([]), **{setting: "nosuch"}, **mode)


@pytest.mark.parametrize("method", [name for name in names() if {"k", "m"} & set(counts(name))])
@pytest.mark.parametrize("wanted", [1, 2])
def test_as_many_passages_are_searched_for_as_the_setting_says(method: str, wanted: int) -> None:
    retriever = Recording()
    settings = {name: wanted for name in ("m", "k", "k_multiple") if name in counts(method)}
    lm = engine_lm(Function(lambda system, user: as_asked(in_form(parse(system, user)), "chat")))
    with dspy.context(lm=lm):
        load(method)(retriever, **SETTINGS.get(method, {}), **settings)(question=QUESTION)
    assert set(retriever.asked) == {wanted}


@pytest.mark.parametrize(("method", "k"), [("hop", 10), ("ircot", 6), ("search_o1", 10)])
def test_without_a_setting_k_is_the_papers(method: str, k: int) -> None:
    assert load(method)(Memory([])).k == k


YES_OR_NO = {("style", "yesno"), ("preset", "commonsense")}


@pytest.mark.parametrize("said", ["yes", "no"])
@pytest.mark.parametrize(
    ("method", "settings"),
    [made for made in methods() if made[1].items() & YES_OR_NO],
)
def test_yes_or_no_is_what_the_answering_call_says(method: str, settings: dict[str, Any], said: str) -> None:
    def reply(system: str, user: str) -> str:
        fields = in_form(parse(system, user))
        return as_asked(fields | {name: said for name in ("answer", "candidate") if name in fields}, "chat")

    with dspy.context(lm=engine_lm(Function(reply))):
        assert load(method)(retriever_for(method), **settings)(question=QUESTION).answer == said


@pytest.mark.parametrize(
    ("method", "settings"),
    [*((name, SETTINGS.get(name, {})) for name in names()), ("migres", {"compression": "summary"})],
)
def test_the_trace_does_not_depend_on_what_finishes_first(method: str, settings: dict[str, Any]) -> None:
    def trace(slow: int) -> list[Any]:
        def reply(system: str, user: str) -> str:
            time.sleep(0.01 * (zlib.crc32(user.encode()) % 2 == slow))
            return ExtractiveReader().reply(system, user)

        program = load(method)(retriever_for(method), **settings)
        names = {id(predictor): name for name, predictor in program.named_predictors()}
        with dspy.context(lm=engine_lm(Function(reply)), trace=[]):
            program(question=QUESTION)
            return [(names[id(predictor)], inputs, dict(outputs)) for predictor, inputs, outputs in dspy.settings.trace]

    assert trace(slow=0) == trace(slow=1)
