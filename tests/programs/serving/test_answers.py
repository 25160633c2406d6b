"""/v1/answers and what clients ask before: the methods and their prompts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.answers_server import TABLE, answering_with, serving

import lms
from programs.instruments.words import QUESTIONS
from retrieval import Memory, Passage, RetrievalError, Retriever
from retrieval.bm25 import BM25

pytestmark = pytest.mark.needs("uvicorn")


class Broken(Retriever):
    def search(self, query: str, k: int) -> list[Passage]:
        raise RetrievalError("it is down")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(answering_with(lms.load("extractive"), "direct", "migres", "blendfilter", "genread")) as url:
        yield url


def ask(url: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/answers", json={"question": "Who led the Italian troops at Adwa?", **body})


def events(reply: httpx.Response) -> list[tuple[str, Any]]:
    """Names and data of the events, in order."""
    blocks = [block.split("\n") for block in reply.text.split("\n\n") if block and not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_an_answer_has_its_steps_passages_and_cost(url: str) -> None:
    record = ask(url, method="direct", settings={"k": 2}).json()
    assert record["answer"] == "Baratieri"
    assert (record["method"], record["retriever"], record["lm"]) == ("direct", "table", "extractive/reader")
    assert record["settings"]["k"] == 2
    assert [step["kind"] for step in record["steps"]] == [
        "query", "passages", "call", "kept", "kept", "answer", "cost",
    ]  # fmt: skip
    assert set(record["passages"]) == {"adwa", "https://example.org/menelik"}
    assert record["passages"]["adwa"]["title"] == "Battle of Adwa"
    assert (record["cost"]["lm_calls"], record["cost"]["searches"]) == (1, 1)
    assert record["prompts"] is None


def test_events_are_the_record_as_it_happens(url: str) -> None:
    for method in ("migres", "blendfilter"):
        reply = ask(url, method=method, stream=True)
        assert reply.headers["content-type"].startswith("text/event-stream")
        *steps, (last, record) = events(reply)
        assert last == "done"
        assert [step for _, step in steps if step["kind"] != "text"] == record["steps"]
        written = "".join(step["text"] for _, step in steps if step["kind"] == "text")
        assert written == ("" if method == "migres" else record["answer"])
        assert {name for name, _ in steps} == {"step"}
        kinds = [step["kind"] for _, step in steps]
        assert kinds.index("query") < kinds.index("passages")
        assert kinds[-2:] == ["answer", "cost"]
        calls = [step for _, step in steps if step["kind"] == "call"]
        assert len(calls) == record["cost"]["lm_calls"]
        assert sum(call["input_tokens"] for call in calls) == record["cost"]["input_tokens"]


def test_prompts_are_told_where_they_are_asked_for(url: str) -> None:
    record = ask(url, method="direct", prompts=True).json()
    (prompt,) = record["prompts"]
    assert prompt["predictor"] == "answer"
    assert [message["role"] for message in prompt["messages"]] == ["system", "user"]
    assert "Baratieri" in prompt["reply"]
    assert [step["prompt"] for step in record["steps"] if step["kind"] == "call"] == [prompt]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"method": "none"}, 404, "there is no method 'none'"),
        ({"method": "direct", "question": " "}, 400, "the question is empty"),
        ({"method": "direct", "retriever": "x"}, 400, "there is no retriever 'x'; there are: table, none"),
        ({"method": "blendfilter", "retriever": "none"}, 400, "blendfilter needs a retriever"),
        ({"method": "direct", "settings": {"kk": 1}}, 400, "direct has no setting 'kk'"),
        ({"method": "direct", "settings": {"k": "5"}}, 400, "Direct: k must be a valid integer"),
        ({"method": "direct", "settings": {"k": 101}}, 400, "k of direct is at most 100 here"),
        ({"method": "migres", "settings": {"reranker": "upr:x"}}, 400, "reranker of migres names a model"),
        ({"method": "direct", "stream": True, "settings": {"k": 0}}, 400, "Direct: k must be at least 1"),
        ({"method": "direct", "more": 1}, 400, "more: Extra inputs are not permitted"),
        ({}, 400, "method: Field required"),
    ],
)
def test_a_bad_question_is_refused_in_openais_form(url: str, body: dict[str, Any], status: int, message: str) -> None:
    reply = ask(url, **body)
    assert reply.status_code == status
    error = reply.json()["error"]
    assert error["message"].startswith(message)
    assert set(error) == {"message", "type", "param", "code"}


def test_the_methods_are_described(url: str) -> None:
    told = httpx.get(f"{url}/v1/methods").json()
    methods = {method["name"]: method for method in told["methods"]}
    assert list(methods) == ["direct", "migres", "blendfilter", "genread"]
    assert [methods[name]["searches"] for name in methods] == [True, True, True, False]
    settings = {setting["name"]: setting for setting in methods["migres"]["settings"]}
    assert settings["preset"]["type"] == "choice"
    assert settings["preset"]["choices"] == ["multihop", "odqa", "commonsense"]
    assert (settings["rounds"]["type"], settings["rounds"]["default"]) == ("integer", None)
    assert told["retrievers"] == ["table", "none"]
    assert told["models"][:5] == ["direct", "migres", "blendfilter", "genread", "direct@table"]
    assert told["lm"] == {"name": "extractive/reader", "language_model": False}
    assert told["compiled"] == dict.fromkeys(methods, False)


def test_examples_are_of_the_retrievers_own_passages(tmp_path: Path) -> None:
    answering = answering_with(lms.load("extractive"), retriever=Memory([Passage("p", "A city of Italy", "Trieste")]))
    answering.retrievers["sample"] = TABLE
    answering.retrievers["broken"] = Broken()
    answering.retrievers["index"] = BM25.build(
        [Passage("q", "Qanat pipes."), Passage("r", "Zorx.", "Ada")], tmp_path / "i"
    )
    with serving(answering) as url:
        told = httpx.get(f"{url}/v1/methods").json()["examples"]
    assert told == {
        "table": ["What is said about Trieste?"],
        "none": [],
        "sample": list(QUESTIONS),
        "broken": [],
        "index": ["What is said about Ada?"],
    }


def test_what_is_kept_says_whether_it_says_the_answer(url: str) -> None:
    steps = ask(url, method="direct").json()["steps"]
    assert {step["passage"]: step["supports"] for step in steps if step["kind"] == "kept"} == {
        "adwa": True,
        "https://example.org/menelik": False,
        "arch": False,
    }


def test_reasons_are_plain(url: str) -> None:
    steps = ask(url, method="blendfilter").json()["steps"]
    why = {step["passage"]: step["why"] for step in steps if step["kind"] in ("kept", "dropped")}
    of_draft, of_memory = "the query with the draft answer", "the query with the passage from memory"
    assert why["adwa"] == f"kept for the question, {of_draft}, {of_memory}"


def test_prompts_of_a_method(url: str) -> None:
    told = httpx.get(f"{url}/v1/prompts/direct").json()
    (predictor,) = told["predictors"]
    assert predictor["name"] == "answer"
    assert [field["name"] for field in predictor["fields"]] == ["context", "question", "answer"]
    assert predictor["before"] is None
    assert httpx.get(f"{url}/v1/prompts/none").status_code == 404
