"""Flags for the LM, the retriever and a program's settings, and what is made from them.

A program's flags are the keyword-only arguments of its `__init__`: see `programs.instruments.settings`.
"""

import argparse
import json
import math
import os
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

import dspy

import lms
import programs
import retrieval
from odqa.bridge import TOTAL
from odqa.console import say
from programs.instruments import settings as instruments
from programs.instruments.adapters import NAMES, Structured, load_adapter
from programs.instruments.answerer import Answerer, named_answerer
from retrieval import FORMS, Retriever, UsageError

__all__ = [
    "adapter_of",
    "add_environment",
    "add_lm",
    "add_program",
    "add_settings",
    "assignment",
    "environment",
    "lm_settings",
    "load_lm",
    "load_retriever",
    "make",
    "program_name",
    "say_sample",
    "set_answerer",
    "set_lm",
    "settings_of",
]


def environment(name: str) -> str | None:
    """The value of a variable of the environment; None where it is empty or there is none."""
    return os.environ.get(name) or None


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add the flags for what a program works with: LM, retriever, state."""
    group = parser.add_argument_group("environment")
    add_lm(group)
    group.add_argument(
        "--retriever",
        default=environment("ODQA_RETRIEVER") or "sample",
        metavar="SPEC",
        help=f"{', '.join(FORMS)}, or none for closed book (default: ODQA_RETRIEVER, else sample, the packaged corpus)",
    )
    group.add_argument("--state", metavar="FILE", help="state file with compiled prompts, from odqa optimize")


def add_lm(parser: argparse._ActionsContainer, *, by_role: bool = False) -> None:
    """Add the flags for the LM to a parser or a group of one.

    Args:
        parser: The parser.
        by_role: Whether --lm and --api-base can be given several times, each as VALUE or as ROLE=VALUE. Both are lists
            then, and --lm is None where it is not given.
    """
    parser.set_defaults(usual_lm=("", {}))
    _add_model(parser, by_role=by_role)
    _add_settings_of_lm(parser)
    _add_form(parser)


def _add_model(parser: argparse._ActionsContainer, *, by_role: bool) -> None:
    """Add the flags that name the LM and its server."""
    action, role = ("append", "[ROLE=]") if by_role else ("store", "")
    usual, address = None if by_role else "auto", environment("ODQA_API_BASE")
    parser.add_argument(
        "--lm",
        action=action,
        default=usual,
        metavar=f"{role}SPEC",
        help="auto, extractive, gguf:FILE or gguf:OWNER/NAME:FILE for a local model (extra local), or a model of "
        "dspy.LM such as openai/gpt-4o-mini or ollama_chat/llama3.2; auto takes the first of these: ODQA_LM, OpenAI if "
        "OPENAI_API_KEY is set, an Ollama on this machine, the extractive reader (default: auto)"
        + ("; with a ROLE only for reader, planner, or the paper's LM of this name" if by_role else ""),
    )
    parser.add_argument(
        "--api-base",
        action=action,
        default=([address] if address else []) if by_role else address,
        metavar=f"{role}URL",
        help="address of an OpenAI-compatible server for the LM (default: ODQA_API_BASE)",
    )


def _add_settings_of_lm(parser: argparse._ActionsContainer) -> None:
    """Add the flags for how the LM replies, and how long it may take."""
    parser.add_argument(
        "--temperature",
        type=_number(float, 0, "a temperature is a number from 0 on"),
        metavar="T",
        help="sampling temperature of the LM; 0 for greedy decoding (default: the provider's)",
    )
    parser.add_argument(
        "--max-tokens",
        type=_number(int, 1, "the length of a reply is a whole number of tokens from 1 on"),
        metavar="N",
        help="cut every reply off after N tokens. A model that thinks before it answers needs more than the default "
        f"(default: {lms.MAX_TOKENS}; 512 for a GGUF file, and OpenAI's own limit for its reasoning models)",
    )
    parser.add_argument(
        "--lm-arg",
        dest="lm_args",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a further argument of dspy.LM or of a local model, with its value as JSON or a word, such as top_p=0.9, "
        "seed=1, context=8192 or threads=4; may be given several times",
    )
    parser.add_argument(
        "--lm-timeout",
        dest="lm_args",
        type=lambda text: ("timeout", _seconds(text)),
        action="append",
        metavar="SECONDS",
        help="give up a try at an LM call when its server has been silent for so long; there are 4 tries, unless "
        "--lm-arg num_retries says otherwise (default: 600)",
    )
    parser.add_argument(
        "--lm-total",
        dest="lm_args",
        type=lambda text: ("total", _seconds(text)),
        action="append",
        metavar="SECONDS",
        help=f"end an LM call after so long, with all its tries, however slowly its server sends (default: {TOTAL:g})",
    )


def _add_form(parser: argparse._ActionsContainer) -> None:
    """Add the flags for the form of prompts and replies, and where these come from."""
    parser.add_argument(
        "--adapter",
        choices=NAMES,
        help="the form in which the LM is asked and replies: DSPy's markers, JSON or XML; a reply in markers or XML "
        "that cannot be read is asked for again, as JSON (default: chat; json with a local model or --structured on)",
    )
    parser.add_argument(
        "--structured",
        choices=typing.get_args(Structured),
        default="auto",
        help="whether a request for JSON has the outputs' schema with it, by which servers such as vLLM, SGLang, "
        "llama.cpp, Ollama and LM Studio decode; auto: unless the server refuses the first one (default: %(default)s)",
    )
    parser.add_argument(
        "--cache",
        action="store_true",
        help="use the replies in DSPy's cache, whichever server under the same model name gave them, and add to it "
        "(default: every reply is the LM's)",
    )


def set_lm(parser: argparse.ArgumentParser, answerer: Answerer) -> None:
    """Let the flags of `add_lm` default to the LM of an answerer, with its options and its adapter. Another --lm takes
    the place of the LM with its options; ODQA_API_BASE is not for an LM that the answerer names."""
    if answerer.lm != "auto":
        parser.set_defaults(api_base=None)
    usual = answerer.lm, answerer.lm_settings
    parser.set_defaults(lm=answerer.lm, usual_lm=usual, adapter=answerer.adapter, structured=answerer.structured)


def set_answerer(parser: argparse.ArgumentParser, answerer: Answerer) -> None:
    """Let the flags of `add_environment` default to what an answerer says."""
    set_lm(parser, answerer)
    parser.set_defaults(state=answerer.state_file)
    if "retriever" in answerer.model_fields_set:
        parser.set_defaults(retriever=answerer.retriever)


def add_program(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the settings of the program with this name; for @FILE.toml those of the answerer's, and all that it says.

    Raises:
        UsageError: There is no such program, or the answerer cannot be read.
    """
    answerer = named_answerer(name)
    add_settings(parser, programs.load(answerer.program if answerer else name), answerer.settings if answerer else None)
    if answerer:
        set_answerer(parser, answerer)


def program_name(name: str) -> str:
    """The name of a program, which @FILE.toml has in it; as the type of an argument behind `add_program`."""
    answerer = named_answerer(name)
    return answerer.program if answerer else name


def add_settings(
    parser: argparse.ArgumentParser, made_with: Callable[..., Any], usual: Mapping[str, Any] | None = None
) -> None:
    """Add one flag for each setting of a program, given as its class, or of another callable such as a recipe; `usual`
    has defaults in place of its own."""
    whose = made_with.__name__ if isinstance(made_with, type) else made_with.__module__
    group = parser.add_argument_group(f"settings of {whose}")
    for declared in instruments.settings_of(made_with):
        setting = declared.with_default((usual or {}).get(declared.name, declared.default))
        help_ = f"{setting.help} (default: {setting.default})".replace("%", "%%")
        flag, default = "--" + setting.name.replace("_", "-"), setting.default
        if setting.type is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=help_)
        elif setting.choices:
            group.add_argument(flag, choices=setting.choices, default=default, help=help_)
        else:
            metavar = setting.type.__name__.upper()
            group.add_argument(flag, type=setting.type, default=default, metavar=metavar, help=help_)


def settings_of(made_with: Callable[..., Any], args: argparse.Namespace) -> dict[str, Any]:
    """The settings that the flags give to a program or another callable, by name."""
    return {setting.name: getattr(args, setting.name) for setting in instruments.settings_of(made_with)}


def make(program: type[dspy.Module], args: argparse.Namespace, retriever: Retriever | None) -> dspy.Module:
    """Make the program as the flags say; see `programs.instruments.settings.make`."""
    return instruments.make(program, retriever, settings_of(program, args), args.state)


def load_lm(args: argparse.Namespace) -> dspy.LM:
    """Load the LM that the flags name.

    Raises:
        UsageError: There is no such LM, or a setting does not fit it or is given twice.
    """
    return lms.load(args.lm, **lm_settings(args, args.api_base))


def lm_settings(args: argparse.Namespace, api_base: str | None) -> dict[str, Any]:
    """What the flags say of the LM besides its name, as `lms.load` takes it; its server is at `api_base`.

    Raises:
        UsageError: A setting is given twice, or has a flag of its own.
    """
    flags = {"api_base": api_base, "temperature": args.temperature, "max_tokens": args.max_tokens}
    settings = {name: value for name, value in flags.items() if value is not None}
    for name, value in args.lm_args:
        if name in ("cache", "model"):
            raise UsageError(f"--lm-arg {name} is --{name.replace('model', 'lm')}")
        if name in settings:
            raise UsageError(f"{name} of the LM is given twice")
        settings[name] = value
    spec, usual = args.usual_lm
    return {**usual, **settings} if args.lm == spec else settings


def adapter_of(args: argparse.Namespace) -> dspy.Adapter:
    """The adapter that the flags name, for `dspy.context(adapter=…)`; of a local model JSON where they name none.

    Raises:
        UsageError: It does not fit --structured.
    """
    specs = [args.lm] if isinstance(args.lm, str) else args.lm or ["auto"]  # a list may say for which role
    local = any(lms.is_local(re.sub(r"^[\w.-]+=", "", spec.strip())) for spec in specs)
    return load_adapter(args.adapter or ("json" if local else None), args.structured)


def load_retriever(args: argparse.Namespace, *, quiet: bool = False) -> Retriever | None:
    """Load the retriever that the flags name; None for closed book. Unless quiet, says on stderr when it is the sample.

    Raises:
        UsageError: There is no such retriever.
        RetrievalError: Its index is damaged.
    """
    if args.retriever == "none":
        return None
    if not quiet:
        say_sample(args.retriever)
    return retrieval.load(args.retriever)


def say_sample(spec: str) -> None:
    """Say on stderr when the retriever is the sample."""
    if spec == "sample":
        say("retriever: sample (the packaged corpus of a few hundred abstracts; --retriever or ODQA_RETRIEVER chooses)")


def _number(kind: type, least: float, what: str) -> Callable[[str], Any]:
    """The type of an argument that is a number from `least` on; `what` says so."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value:
            raise argparse.ArgumentTypeError(f"{what}, not {text}")
        return value

    return parse


def assignment(text: str) -> tuple[str, Any]:
    """Name and value, from NAME=VALUE; the value is JSON or a word."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"it is given as NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value.lower() if value in ("True", "False") else value)
    except ValueError:
        return name, value


_seconds = _number(float, -math.inf, "a time-out is a number of seconds")
