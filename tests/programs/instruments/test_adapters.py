"""What arrives at a server under each adapter, with and without schemas, and what is learned from a refusal."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Literal

import dspy
import pydantic
import pytest
from dspy.utils.exceptions import LMInvalidRequestError
from support.faulty_server import Provider
from support.scripted import Function, engine_lm, render

from programs.instruments.adapters import adapter_name, load_adapter
from retrieval import UsageError

pytestmark = pytest.mark.leaves_sockets


class Rate(dspy.Signature):
    """Rate the passages."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    relevant: list[int] = dspy.OutputField()
    better: Literal["first", "second"] = dspy.OutputField()


SAID = {"reasoning": "so", "relevant": [1, 4], "better": "first"}
SCHEMA = {
    "title": "Outputs",
    "type": "object",
    "properties": {
        "reasoning": {"title": "Reasoning", "type": "string"},
        "relevant": {"title": "Relevant", "type": "array", "items": {"type": "integer"}},
        "better": {"title": "Better", "type": "string", "enum": ["first", "second"]},
    },
    "required": ["reasoning", "relevant", "better"],
    "additionalProperties": False,
}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(lambda prompt, before: json.dumps(SAID)).running() as provider:
        yield provider


def refuses_schemas(body: dict[str, Any]) -> bool:
    return "response_format" in body


def ask(
    provider: Provider, adapter: dspy.Adapter, signature: Any = Rate, *, asynchronous: bool = False, **inputs: str
) -> dspy.Prediction:
    lm = dspy.LM("openai/a-model-of-ours", api_base=provider.url, api_key="none", cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=adapter):
        predict = dspy.Predict(signature)
        if asynchronous:
            return asyncio.run(predict.acall(question="Which?"))
        return predict(question="Which?")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("structured", ["on", "auto"])
def test_the_schema_of_the_outputs_arrives_at_a_server_whose_model_nobody_knows(
    structured: Any, asynchronous: bool, provider: Provider
) -> None:
    said = ask(provider, load_adapter("json", structured), asynchronous=asynchronous)
    assert dict(said.items()) == SAID
    (body,) = provider.bodies
    assert body["response_format"]["type"] == "json_schema"
    schema = body["response_format"]["json_schema"]
    assert (schema["schema"], schema["strict"]) == (SCHEMA, True)
    assert list(schema["schema"]["properties"]) == list(SAID)  # servers decode in this order


def test_without_schemas_the_prompt_alone_asks_for_json(provider: Provider) -> None:
    assert ask(provider, load_adapter("json", "off")).relevant == [1, 4]
    (body,) = provider.bodies
    assert "response_format" not in body
    assert "JSON object" in body["messages"][-1]["content"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_auto_tries_once_per_server(asynchronous: bool, provider: Provider) -> None:
    provider.refuses = refuses_schemas
    for asked in (2, 3, 4):
        # The memory is the process's: it does not hang on the adapter.
        assert ask(provider, load_adapter("json"), asynchronous=asynchronous).better == "first"
        assert len(provider.bodies) == asked
    assert ["response_format" in body for body in provider.bodies] == [True, False, False, False]
    with Provider(lambda prompt, before: json.dumps(SAID)).running() as other:
        ask(other, load_adapter("json"), asynchronous=asynchronous)
        ask(other, load_adapter("json"), asynchronous=asynchronous)
        assert ["response_format" in body for body in other.bodies] == [True, True]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_refusal_is_the_callers_with_on_and_no_lesson_if_it_was_not_the_schema(
    asynchronous: bool, provider: Provider
) -> None:
    provider.refuses = refuses_schemas
    with pytest.raises(LMInvalidRequestError):
        ask(provider, load_adapter("json", "on"), asynchronous=asynchronous)
    assert len(provider.bodies) == 1
    provider.refuses = lambda body: True
    for asked in (3, 5):
        with pytest.raises(LMInvalidRequestError):
            ask(provider, load_adapter("json"), asynchronous=asynchronous)
        assert len(provider.bodies) == asked


def test_a_refusal_is_learned_from_an_unreadable_reply_too(provider: Provider) -> None:
    provider.refuses = refuses_schemas
    provider.reply = lambda prompt, before: "no fields at all"
    for asked in (2, 3):
        with pytest.raises(dspy.utils.exceptions.AdapterParseError):
            ask(provider, load_adapter("json"))
        assert len(provider.bodies) == asked


@pytest.mark.parametrize("name", ["chat", "xml"])
def test_the_second_request_after_an_unreadable_reply_has_the_schema(name: str, provider: Provider) -> None:
    replies = iter(["!", json.dumps(SAID), "!", json.dumps(SAID)])
    provider.reply = lambda prompt, before: next(replies)
    assert ask(provider, load_adapter(name)).relevant == [1, 4]
    assert ["response_format" in body for body in provider.bodies] == [False, True]
    assert ask(provider, load_adapter(name, "off")).relevant == [1, 4]
    assert ["response_format" in body for body in provider.bodies[2:]] == [False, False]


def test_outputs_without_a_schema_are_asked_for_without_one(provider: Provider) -> None:
    provider.reply = lambda prompt, before: '{"links": {"a": "b"}}'
    assert ask(provider, load_adapter("json", "on"), "question -> links: dict[str, str]").links == {"a": "b"}
    assert "response_format" not in provider.bodies[0]


def test_nested_objects_are_closed_and_may_have_fields_with_any_name(provider: Provider) -> None:
    class Claim(pydantic.BaseModel):
        default: str
        properties: tuple[int, ...] = ()

    provider.reply = lambda prompt, before: '{"claims": [{"default": "x", "properties": [1]}]}'
    signature = dspy.Signature("question -> claims: list[Claim]", custom_types={"Claim": Claim})
    assert ask(provider, load_adapter("json", "on"), signature).claims[0].properties == (1,)
    claim = provider.bodies[0]["response_format"]["json_schema"]["schema"]["$defs"]["Claim"]
    assert list(claim["properties"]) == claim["required"] == ["default", "properties"]
    assert claim["additionalProperties"] is False


def test_an_engine_gets_a_schema_only_if_it_says_that_it_can_follow_one() -> None:
    class Able(Function):
        supports_response_schema = True

    seen: list[Any] = []
    for kind in (Function, Able):
        engine = kind(lambda system, user: json.dumps(SAID))
        complete = engine.complete
        engine.complete = lambda request, complete=complete: (seen.append(request.config), complete(request))[1]
        with dspy.context(lm=engine_lm(engine), adapter=load_adapter("json")):
            dspy.Predict(Rate)(question="Which?")
    assert [config.response_format is not None for config in seen] == [False, True]


def test_names() -> None:
    assert type(load_adapter()).__name__ == "ChatAdapter"  # DSPy's streaming knows adapters by these names
    assert type(load_adapter(structured="on")).__name__ == "JSONAdapter"
    assert [adapter_name(load_adapter(name)) for name in ("chat", "json", "xml")] == ["chat", "json", "xml"]
    assert adapter_name(None) == adapter_name(dspy.ChatAdapter()) == "chat"
    for wrong in (("yaml", "auto"), ("chat", "always"), ("chat", "on"), ("xml", "on")):
        with pytest.raises(UsageError):
            load_adapter(*wrong)


@pytest.mark.parametrize("name", ["chat", "json", "xml"])
def test_what_is_asked_under_dspys_adapter_of_the_same_name_is_asked_here(name: str, provider: Provider) -> None:
    theirs = {"chat": dspy.ChatAdapter, "json": dspy.JSONAdapter, "xml": dspy.XMLAdapter}[name]()
    said = render(SAID)
    provider.reply = lambda prompt, before: {"chat": said, "json": json.dumps(SAID), "xml": XML}[name]
    ask(provider, load_adapter(name))
    ask(provider, theirs)
    ours, dspys = (body["messages"] for body in provider.bodies)
    assert ours == dspys


XML = "<reasoning>so</reasoning><relevant>[1, 4]</relevant><better>first</better>"
