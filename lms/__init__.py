"""Loads language models by name: those of `dspy.LM`, those that this machine offers, and a reader that needs neither.

`load` takes these names:

    lms.load("openai/gpt-4o-mini")      any model string of dspy.LM; api_base for a server of your own
    lms.load("gguf:model.gguf")         a GGUF file, run in this process by llama.cpp (extra local)
    lms.load("extractive")              the built-in extractive reader, which is no language model
    lms.load("auto")                    the first available: ODQA_LM, an OpenAI key, Ollama, the extractive reader
"""

import json
import logging
import os
import urllib.error
import urllib.request
from typing import Any, Literal

import dspy
from dspy.utils.exceptions import LMConfigurationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odqa.errors import UsageError
from odqa.http import parse_url
from odqa.secrets import keep_secret

__all__ = ["MAX_TOKENS", "is_local", "load"]

logger = logging.getLogger(__name__)

MAX_TOKENS = 1024
"""The default length of a reply. The longest that our signatures ask for, a passage or some steps of reasoning with an
answer, are about half as long. Without a limit a small model that repeats itself goes on to the end of its context."""

_OPENAI_MODEL = "openai/gpt-4o-mini"
_NO_KEY = "none"  # DSPy asks for a key, which a server of one's own may not need
_OLLAMA_URL = "http://127.0.0.1:11434"


class _Settings(BaseModel):
    """What the usual settings can be. Others are for the server to judge, or for llama.cpp."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    temperature: float | None = Field(None, ge=0)
    max_tokens: int | None = Field(None, ge=1)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: str | list[str] | None = None
    timeout: float | None = Field(None, gt=0)
    total: float | None = Field(None, gt=0)
    api_base: str | None = None
    model_type: Literal["chat", "text", "responses"] = "chat"


def load(spec: str = "auto", /, *, api_base: str | None = None, total: float | None = None, **settings: Any) -> dspy.LM:
    """The language model that `spec` names.

    Args:
        spec: "auto", "extractive", "gguf:FILE" or "gguf:OWNER/NAME:FILE" for a file of the Hugging Face hub, or a model
            string of dspy.LM such as "openai/gpt-4o-mini" or "ollama_chat/llama3.2".
        api_base: Address of an OpenAI-compatible server that has the model; http://USER:PASSWORD@HOST is asked by HTTP
            basic authentication.
        total: Seconds that a call of a program may take in all, with its repetitions; by default
            `odqa.bridge.TOTAL`.
        settings: Further arguments of dspy.LM, such as temperature; for a GGUF file also those of
            `lms.local.local_lm`. The extractive reader has none: temperature and max_tokens, which any LM may be given,
            change nothing there, and others are refused. Where there is no max_tokens it is `MAX_TOKENS`, but for
            OpenAI's reasoning models, which refuse so few; None is the provider's limit.

    Raises:
        UsageError: `spec` is no model string, or names the oracle, which needs a task's gold; or a setting cannot be
            what it is, or the LM has none of this name; or the GGUF file cannot be run.

    "auto" takes the model in ODQA_LM, else OpenAI's if OPENAI_API_KEY is set, else the first model of an Ollama on this
    machine, else the extractive reader. A logged warning, which Python shows on stderr, says which one it took.
    """
    try:
        _Settings.model_validate({**settings, "api_base": api_base, "total": total})
    except ValidationError as error:
        wrong = error.errors()[0]
        what = wrong["msg"].removeprefix("Input ")
        raise UsageError(f"{wrong['loc'][0]} of the LM {what}, not {wrong['input']!r}") from None
    keep_secret(settings)
    if not isinstance(spec, str):
        raise UsageError(f"there is no LM {spec!r}: name one, such as 'auto' or 'openai/gpt-4o-mini'")
    if api_base:
        parse_url(api_base, "http://127.0.0.1:8000/v1")
    lm = _load(spec, api_base, settings)
    if total is not None:
        lm.total_seconds = total
    return lm


def _load(spec: str, api_base: str | None, settings: dict[str, Any]) -> dspy.LM:
    if spec == "auto":
        spec, reason = _choose()
        logger.warning("LM: %s (%s)", spec, reason)
    if spec == "extractive":
        if api_base:
            raise UsageError("the extractive reader has no server: leave out api_base, or name a model")
        if unknown := sorted(settings.keys() - {"temperature", "max_tokens"}):
            raise UsageError(f"the extractive reader has no setting {unknown[0]!r}: leave it out, or name a model")
        from lms.extractive import extractive_lm

        return extractive_lm()
    if spec.startswith("gguf:"):
        if api_base:
            raise UsageError("a GGUF file runs in this process and has no server: leave out api_base")
        from lms.local import local_lm

        return local_lm(spec, **settings)
    if spec.partition(":")[0] == "oracle":
        raise UsageError(
            "the oracle needs the gold of a task's questions: use odqa eval TASK --program NAME --lm oracle"
        )
    if "/" not in spec.strip("/"):
        raise UsageError(
            f"there is no LM {spec!r}; say auto, extractive, or PROVIDER/MODEL such as openai/gpt-4o-mini or "
            "ollama_chat/llama3.2, with an api_base for a server of your own; or gguf:FILE for a local model"
        )
    try:
        settings |= {"api_base": api_base} if api_base else {}
        if api_base and spec.startswith("openai/") and not os.environ.get("OPENAI_API_KEY", "").strip():
            settings = {"api_key": _NO_KEY, **settings}
        try:
            return dspy.LM(spec, **{"max_tokens": MAX_TOKENS, **settings})
        except LMConfigurationError:
            return dspy.LM(spec, **settings)
    except (TypeError, ValueError, LMConfigurationError) as error:
        raise UsageError(f"LM {spec!r}: {error}") from None


def is_local(spec: str) -> bool:
    """Whether this names a model of this process, by itself or as "auto"."""
    return (os.environ.get("ODQA_LM", "").strip() if spec == "auto" else spec).startswith("gguf:")


def _choose() -> tuple[str, str]:
    """The model that "auto" stands for on this machine now, and why."""
    if (spec := os.environ.get("ODQA_LM", "").strip()) not in ("", "auto"):
        return spec, "from ODQA_LM"
    if os.environ.get("OPENAI_API_KEY", "").strip():
        return _OPENAI_MODEL, "OPENAI_API_KEY is set; --lm or ODQA_LM chooses another"
    if model := _ollama_model():
        return f"ollama_chat/{model}", "the first model of the Ollama on this machine; --lm or ODQA_LM chooses another"
    return "extractive", ("the built-in extractive reader, which is no language model; --lm or ODQA_LM chooses another")


def _ollama_model() -> str | None:
    """The first model of the Ollama at the usual address; None if no Ollama answers there."""
    try:
        # No proxy: the question is about this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{_OLLAMA_URL}/api/tags", timeout=0.5) as reply:
            models = json.load(reply)["models"]
        return str(models[0]["name"]) if models else None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
