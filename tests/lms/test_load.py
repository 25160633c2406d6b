import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import lms
from retrieval import UsageError


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ODQA_LM", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(lms, "_OLLAMA_URL", "http://127.0.0.1:9")  # nothing listens there


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/tags" else 404)
            self.end_headers()
            self.wfile.write(request.param)

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        monkeypatch.setattr(lms, "_OLLAMA_URL", f"http://127.0.0.1:{httpd.server_port}")
        yield
        httpd.shutdown()
        thread.join()


def chosen(caplog: pytest.LogCaptureFixture) -> tuple[str, str]:
    with caplog.at_level(logging.WARNING, logger="lms"):  # a command with --quiet has set it to errors
        lm = lms.load()
    (record,) = caplog.records
    return lm.model, record.getMessage()


def test_auto_prefers_the_environment_variable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ODQA_LM", "openai/mine")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert chosen(caplog) == ("openai/mine", "LM: openai/mine (from ODQA_LM)")


def test_auto_then_takes_openai_and_says_no_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ODQA_LM", "auto")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model, message = chosen(caplog)
    assert model.startswith("openai/")
    assert "OPENAI_API_KEY is set" in message
    assert "sk-secret" not in message


@pytest.mark.parametrize("ollama", [json.dumps({"models": [{"name": "llama3.2:3b"}]}).encode()], indirect=True)
def test_auto_then_takes_the_first_model_of_ollama(ollama: None, caplog: pytest.LogCaptureFixture) -> None:
    model, message = chosen(caplog)
    assert model == "ollama_chat/llama3.2:3b"
    assert "Ollama" in message


@pytest.mark.parametrize(
    "ollama", [b'{"models": []}', b"not json", b"[]", b'{"models": [{}]}', b"\xff"], indirect=True, ids=repr
)
def test_something_else_at_ollamas_address_is_passed_over(ollama: None, caplog: pytest.LogCaptureFixture) -> None:
    assert "no language model" in chosen(caplog)[1]


def test_auto_ends_with_the_extractive_reader(caplog: pytest.LogCaptureFixture) -> None:
    model, message = chosen(caplog)
    assert "extractive" in model
    assert "which is no language model" in message


def test_a_model_by_name_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    lm = lms.load("openai/m", api_base="http://127.0.0.1:9/v1", temperature=0.0)
    assert lm.model == "openai/m"
    assert lm.kwargs["api_base"] == "http://127.0.0.1:9/v1"
    assert lm.kwargs["temperature"] == 0.0
    assert not caplog.records


def test_no_reply_is_without_end_unless_the_caller_wants_it() -> None:
    assert lms.load("openai/m").kwargs["max_tokens"] == lms.MAX_TOKENS
    assert lms.load("openai/m", max_tokens=5).kwargs["max_tokens"] == 5
    assert lms.load("openai/m", max_tokens=None).kwargs["max_tokens"] is None


def test_openais_reasoning_models_have_their_own_limit() -> None:
    assert lms.load("openai/gpt-5").kwargs["max_completion_tokens"] is None
    with pytest.raises(UsageError, match="max_tokens >= 16000"):
        lms.load("openai/gpt-5", max_tokens=100)


@pytest.mark.parametrize("spec", ["", "gpt-4o", "openai/", "/m", "extractiv", "http:"])
def test_what_is_no_model_is_refused_with_what_there_is(spec: str) -> None:
    with pytest.raises(UsageError, match="say auto, extractive, or PROVIDER/MODEL"):
        lms.load(spec)


def test_settings_that_dspy_refuses_are_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match=r"LM 'openai/m': num_retries must be"):
        lms.load("openai/m", num_retries=-1)
    settings: Any = {"api_base": 9}  # as a file may have it
    with pytest.raises(UsageError, match="api_base of the LM should be a valid string, not 9"):
        lms.load("openai/m", **settings)
    with pytest.raises(UsageError, match="has no server"):
        lms.load("extractive", api_base="http://127.0.0.1:9")
