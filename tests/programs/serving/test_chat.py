"""/v1/chat/completions and /v1/models, asked by the official client."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from support.answers_server import answering_with, serving
from support.patience import PATIENCE
from support.scripted import UNPARSABLE, Reply, Script, Slow, engine_lm

import lms
from programs.instruments.cost import Cost
from programs.instruments.live import Passages, Spending, shown
from programs.instruments.trace import Dropped
from programs.instruments.words import Words
from programs.serving.replies import Cited
from retrieval import Memory, Passage
from signatures.answer import AnswerShortDirectly
from signatures.query import MakeStandAlone

pytestmark = pytest.mark.needs("uvicorn")

QUESTION = "Who led the Italian troops at Adwa?"
ASKED: Any = [{"role": "user", "content": QUESTION}]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(answering_with(lms.load("extractive"), "direct", "migres", "blendfilter")) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client:
        yield client


def test_a_completion(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="direct", messages=ASKED)
    (choice,) = completion.choices
    text = choice.message.content
    assert text is not None
    lines = text.split("\n")
    assert lines == ["Baratieri [1]", "", "Sources:", "[1] Battle of Adwa"]
    assert choice.finish_reason == "stop"
    raw = choice.message.to_dict()["annotations"]
    assert len(raw) == 1
    for number, annotation in enumerate(raw, 1):
        place = annotation[annotation["type"]]
        start = place.get("start_index", place.get("index"))
        assert text[start:].startswith(f"[{number}]")
    assert raw[0] == {
        "type": "file_citation",
        "file_citation": {"file_id": "adwa", "filename": "Battle of Adwa", "index": 10},
    }
    usage = completion.usage
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0


def test_an_address_is_cited_as_one() -> None:
    script = Script([Reply(AnswerShortDirectly, {"answer": "Menelik"})])
    completion, _ = asked(script, conversation(last="Who led the Ethiopian troops at Adwa?"))
    message = completion.choices[0].message
    assert message.content == "Menelik [1]\n\nSources:\n[1] Menelik https://example.org/menelik"
    (cited,) = (a.url_citation for a in message.annotations or [])
    assert (cited.url, cited.title) == ("https://example.org/menelik", "Menelik")
    assert message.content[cited.start_index : cited.end_index] == "[1]"


@pytest.mark.parametrize("method", ["migres", "blendfilter"])
def test_a_stream_tells_the_steps_and_then_the_answer(url: str, client: openai.OpenAI, method: str) -> None:
    whole = client.chat.completions.create(model=method, messages=ASKED)
    chunks = list(
        client.chat.completions.create(
            model=method, messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    thoughts = [delta.to_dict().get("reasoning_content") for delta in deltas]
    contents = [delta.content or "" for delta in deltas]
    assert "".join(contents) == whole.choices[0].message.content
    told = [thought.split(":")[0].split(" (")[0].strip() for thought in thoughts if thought]
    assert told.index("Search 1") < told.index("Found 1")
    assert method == "blendfilter" or told[0] == "Search 1"  # BlendFilter asks the LM at the same time
    if method == "migres":  # which call is its last is not known before
        assert told[-1] == "Cost"
        assert contents.count("") == len(contents) - 1
    else:  # the answer is told word for word as it is written
        assert contents[-3:] != [""] * 3
        assert [text for text in contents if text][:2] == ["Baratieri", " [1]\n\nSources:\n[1] Battle of Adwa"]
    assert max(n for n, thought in enumerate(thoughts) if thought) < min(n for n, text in enumerate(contents) if text)
    assert chunks[-1].usage == whole.usage
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert len({chunk.id for chunk in chunks}) == 1


def test_what_was_dropped_for_one_reason_is_one_line() -> None:
    many = Memory([Passage(f"p{n}", f"Adwa {n} is a town.", f"Town {n}") for n in range(8)])
    steps = [Passages(query=1, passages=tuple(map(shown, many.passages.values())))]
    fates = [Dropped(passage=f"p{n}", why="dropped in round 1") for n in range(8)]
    words = Words()
    said = "".join(map(words, [*steps, *fates, Spending(cost=Cost())]))
    assert said.splitlines()[1:-1] == ["Dropped: Town 0; Town 1; Town 2 and 5 more (dropped in round 1)"]


def test_an_answer_is_told_while_it_is_written() -> None:
    pieces = ["[[ ## answer ## ]]", "\n", "General ", "Oreste", " Baratieri", "\n\n[[ ## comp", "leted ## ]]"]
    engine = Slow(pieces)
    with (
        serving(answering_with(engine_lm(engine), "direct")) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client,
        client.chat.completions.create(model="direct", messages=ASKED, stream=True) as stream,
    ):
        chunks = (chunk.choices[0].delta.content for chunk in stream)
        said = []
        for expected, sent in (("General", 3), (" Oreste", 4), (" Baratieri", 5)):
            engine.allow(sent)  # no more of the reply is there than this
            said.append(next(text for text in chunks if text))
            assert said[-1].strip() == expected.strip()
        engine.allow(len(pieces))
        said += [text for text in chunks if text]
    assert "".join(said).startswith("General Oreste Baratieri")


def test_an_answer_that_is_changed_after_it_was_written_is_said_again() -> None:
    assert Cited("Rome [1]", ()).after("Rome") == " [1]"
    assert Cited("Rome [1]", ()).after("Rome (I think)") == "\n\nRome [1]"


def test_the_models_are_the_methods_alone_and_over_each_retriever(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [
        "direct", "migres", "blendfilter",
        "direct@table", "direct@none", "migres@table", "blendfilter@table",
    ]  # fmt: skip
    assert client.models.retrieve("direct@none").id == "direct@none"
    for name in ("gpt-4o", "direct@other"):
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve(name)


@pytest.mark.parametrize(
    ("model", "body", "searched"),
    [
        ("direct", {}, "table"),
        ("direct@table", {}, "table"),
        ("direct@none", {}, None),
        ("direct", {"retriever": "none"}, None),
        ("direct@table", {"retriever": "table"}, "table"),
    ],
)
def test_a_model_and_a_field_name_the_retriever(url: str, model: str, body: Any, searched: str | None) -> None:
    chat = {"model": model, "messages": ASKED, **body}
    reply = httpx.post(f"{url}/v1/chat/completions", json=chat, timeout=PATIENCE).json()
    reasoning = reply["choices"][0]["message"]["reasoning_content"]
    assert ("Search 1" in reasoning) == (searched is not None)
    response = httpx.post(f"{url}/v1/responses", json={"model": model, "input": QUESTION, **body}, timeout=PATIENCE)
    assert ("Search 1" in response.json()["output"][0]["summary"][0]["text"]) == (searched is not None)


def test_settings_are_honoured(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="direct", messages=ASKED, extra_body={"settings": {"k": 1}})
    assert "Found 1: Battle of Adwa\n" in completion.choices[0].message.to_dict()["reasoning_content"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"retriever": "nope"}, "there is no retriever 'nope'; did you mean none? There are: table, none"),
        ({"settings": {"k": 0}}, "k must be at least 1"),
        ({"settings": {"kk": 1}}, "direct has no setting 'kk'"),
        ({"k": 3}, "k of direct is set as"),
        ({"retreiver": "table"}, "there is no field 'retreiver'"),
        ({"question": "?"}, "there is no field 'question'"),
        ({"prompts": True}, "there is no field 'prompts'"),
        ({"model": "direct@nope"}, "there is no retriever 'nope'"),
        ({"model": "direct@table", "retriever": "none"}, "direct@table is over 'table'"),
        ({"model": "blendfilter@none"}, "blendfilter needs a retriever"),
    ],
)
def test_what_is_meant_for_this_server_is_never_passed_over(url: str, body: Any, message: str) -> None:
    both = {"/v1/chat/completions": {"messages": ASKED}, "/v1/responses": {"input": QUESTION}}
    for path, form in both.items():
        reply = httpx.post(url + path, json={"model": "direct", **form, **body}, timeout=PATIENCE)
        assert reply.status_code == 400
        assert message in reply.json()["error"]["message"]


def test_what_is_meant_for_a_model_is_passed_over(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="direct", messages=ASKED, temperature=0.3, top_p=0.5, max_tokens=3, user="me", stop=["x"], seed=1,
        extra_body={"session_id": "s", "chat_id": "c", "metadata": {}, "prompt_cache_key": "p"},
    )  # fmt: skip
    assert completion.choices[0].message.content


def test_no_answer_is_said(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(
        model="direct", messages=[{"role": "user", "content": "How high is the Eiffel tower?"}]
    )
    assert completion.choices[0].message.content == "no answer in what table found"
    assert not completion.choices[0].message.annotations


@pytest.mark.parametrize(
    ("form", "error", "message"),
    [
        ({"model": "gpt-4o"}, openai.NotFoundError, "there is no method 'gpt-4o'"),
        ({"messages": []}, openai.BadRequestError, "there is no message of the user"),
        ({"messages": [{"role": "system", "content": "x"}]}, openai.BadRequestError, "there is no message of the user"),
        ({"messages": [{"role": "user", "content": "  "}]}, openai.BadRequestError, "the question is empty"),
        ({"messages": [{"role": "robot", "content": "x"}]}, openai.BadRequestError, "messages.0.role"),
        ({"n": 2}, openai.BadRequestError, "n: Input should be 1"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            openai.BadRequestError,
            "questions are text, not 'image_url'",
        ),
    ],
)
def test_what_cannot_be_answered(client: openai.OpenAI, form: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        client.chat.completions.create(**{"model": "direct", "messages": ASKED, **form})


def conversation(*before: tuple[str, str], last: str) -> list[Any]:
    return [{"role": role, "content": text} for role, text in [*before, ("user", last)]]


def asked(script: Script, messages: Any, **served: Any) -> tuple[Any, list[str]]:
    """The completion, and what the LM was shown."""
    with (
        serving(answering_with(engine_lm(script), "direct", **served)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE) as client,
    ):
        completion = client.chat.completions.create(model="direct", messages=messages)
    assert not script.replies
    return completion, [user for _, user in script.prompts]


def test_the_last_question_of_a_conversation_is_made_to_stand_alone() -> None:
    script = Script(
        [
            Reply(MakeStandAlone, {"alone": "Who led the Ethiopian troops at Adwa?"}),
            Reply(AnswerShortDirectly, {"answer": "Menelik"}),
        ]
    )
    messages = conversation(
        ("system", "Be brief."), ("user", QUESTION), ("assistant", "Baratieri [1]"), last="And the others?"
    )
    completion, shown = asked(script, messages)
    assert "user: Who led the Italian troops at Adwa?\nassistant: Baratieri [1]" in shown[0]
    assert "And the others?" in shown[0]
    assert "Be brief." not in shown[0]
    assert "Who led the Ethiopian troops at Adwa?" in shown[1]
    message = completion.choices[0].message
    assert message.content.startswith("Menelik [1]")
    thoughts = message.to_dict()["reasoning_content"].split("\n")
    assert thoughts[0].startswith("Asked: rewrite")
    assert thoughts[1:3] == [
        "Question: Who led the Ethiopian troops at Adwa?",
        "Search 1: Who led the Ethiopian troops at Adwa?",
    ]
    assert completion.usage.prompt_tokens == 20  # of both calls


@pytest.mark.parametrize("reply", [UNPARSABLE, {"alone": " "}])
def test_a_question_that_cannot_be_rewritten_is_asked_as_it_is(reply: Any) -> None:
    replies = [Reply(MakeStandAlone, reply)] * (2 if reply == UNPARSABLE else 1)
    script = Script([*replies, Reply(AnswerShortDirectly, {"answer": "Menelik"})])
    _, shown = asked(script, conversation(("user", "Hello"), last=QUESTION))
    assert QUESTION in shown[-1]


@pytest.mark.parametrize(("served", "before"), [({"rewrite": False}, [("user", "Hello")]), ({}, [])])
def test_nothing_is_rewritten_without_need(served: Any, before: Any) -> None:
    script = Script([Reply(AnswerShortDirectly, {"answer": "Baratieri"})])
    asked(script, conversation(*before, last=QUESTION), **served)
