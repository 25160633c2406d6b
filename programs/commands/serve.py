"""`odqa serve` answers questions over HTTP: for chat clients, for agents and for a page."""

import argparse
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import dspy

import retrieval
from odqa.console import Parser, run
from odqa.heaps import give_back_memory
from odqa.secrets import public
from programs import usual_first
from programs.commands.flags import adapter_of, add_lm, environment, load_lm, set_lm
from programs.instruments.answerer import Answerer, named_answerer
from retrieval import FORMS, Retriever, UsageError

__all__ = ["main", "make_parser"]

_PROG = "odqa serve"
_RUNS = "runs"
_REPLIES = 1_000  # of those in DSPy's cache on disk, so many are in memory too; DSPy would keep a million
_HTTP = ("host", "port", "allow_host", "max_body", "runs")

_LIMITS: tuple[tuple[str, type, float | None, str | None, str], ...] = (  # flag, type, default, metavar, help
    ("--at-once", int, 64, None, "most questions in flight; others get 503 (default: %(default)s)"),
    ("--timeout", float, 300.0, None, "seconds until a question gets 504 (default: %(default)s)"),
    ("--question-calls", int, 1000, "N", "most LM calls of one question, whatever its settings; then 400 "
     "(default: %(default)s)"),
    ("--question-tokens", int, 1_000_000, "N", "most tokens of one question, of its prompts, replies and passages, 4 "
     "characters each; then 400 (default: %(default)s)"),
    ("--max-calls", int, None, "N", "most LM calls a day, by UTC; then 429"),
    ("--max-usd", float, None, "USD", "most US dollars a day, by UTC; then 429"),
    ("--max-body", int, 2**20, "BYTES", "largest body of a request (default: %(default)s)"),
    ("--grace", float, 30.0, None, "seconds that questions in flight have when the server stops (default: "
     "%(default)s)"),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.stdio and (given := [name for name in _HTTP if getattr(args, name) != parser.get_default(name)]):
        parser.error(f"--stdio serves no HTTP: leave out --{given[0].replace('_', '-')}")

    def command() -> None:
        served = _answerers(args.methods)
        for answerer in filter(None, served.values()):
            set_lm(parser, answerer)
        _serve(parser.parse_args(argv), served)

    run(_PROG, command)


def make_parser() -> Parser:
    """Make the parser."""
    parser = Parser(
        _PROG,
        description="Answer questions over HTTP: an API as OpenAI's, and a page. The environment variable "
        "ODQA_TOKEN has the token that clients must send; without one only this machine can ask.",
    )
    parser.add_argument(
        "methods",
        nargs="*",
        metavar="METHOD",
        help="what is served, the usual one first (default: all methods); @NAME.toml serves an answerer as the method "
        "NAME, and its LM and retriever for all",
    )
    parser.add_argument(
        "--retriever",
        action="append",
        metavar="[NAME=]SPEC",
        help=f"{', '.join(FORMS)}, or none for closed book; may be given several times, and the first is the default "
        "(default: ODQA_RETRIEVER, else sample, the packaged corpus)",
    )
    parser.add_argument(
        "--state",
        type=_pair,
        action="append",
        default=[],
        metavar="METHOD=FILE",
        help="state file with a method's compiled prompts, from odqa optimize; may be given several times",
    )
    parser.add_argument(
        "--set",
        type=_pair,
        action="append",
        default=[],
        metavar="METHOD.SETTING=VALUE",
        help="another default for a setting, as JSON or a word; settings that name a model are set here alone",
    )
    parser.add_argument(
        "--runs",
        metavar="DIR",
        help="directory of runs of odqa eval, which the page shows (default: runs, where there is one)",
    )
    add_lm(parser)
    _add_server(parser.add_argument_group("server"))
    return parser


def _add_server(server: argparse._ActionsContainer) -> None:
    """Add the flags for how it is served, and what is allowed."""
    server.add_argument(
        "--stdio",
        action="store_true",
        help="speak the Model Context Protocol over stdin and stdout, to a client that starts this command; no HTTP",
    )
    server.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    server.add_argument("--port", type=int, default=8900, help="port; 0 takes a free one (default: %(default)s)")
    server.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name under which requests may call the server, such as that of a proxy",
    )
    for flag, kind, default, metavar, help_ in _LIMITS:
        server.add_argument(flag, type=kind, default=default, metavar=metavar, help=help_)
    server.add_argument(
        "--rewrite",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="have the LM make a conversation's last question stand alone, where the LM is a language model",
    )


def _answerers(words: Sequence[str]) -> dict[str, Answerer | None]:
    """What is served by its name, and of an answerer, which has that of its file, what it is."""
    found: dict[str, Answerer | None] = {}
    for word in words:
        answerer = named_answerer(word)
        name = Path(word).stem.removeprefix("@") if answerer else word
        if name in found:
            raise UsageError(f"{name!r} is served twice: name it once, or give the file of the answerer another name")
        found[name] = answerer
    if len(list(filter(None, found.values()))) > 1:
        raise UsageError("a server has one LM, that of its answerer: serve another answerer by a command of its own")
    return found


def _serve(args: argparse.Namespace, served: Mapping[str, Answerer | None]) -> None:
    try:
        from programs.serving.answering import Answering
        from programs.serving.guard import Admission
        from programs.serving.limits import Limits
        from programs.serving.mcp import serve_stdio
        from programs.serving.methods import Methods
        from programs.serving.server import serve
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[serve]'") from error

    give_back_memory()
    if args.cache:
        dspy.configure_cache(memory_max_entries=_REPLIES)
    routes = _run_routes(args.runs)
    admission = Admission(args.host, os.environ.get("ODQA_TOKEN") or None, tuple(args.allow_host))
    limits = Limits(
        at_once=args.at_once,
        seconds=args.timeout,
        question_calls=args.question_calls,
        question_tokens=args.question_tokens,
        calls=args.max_calls,
        usd=args.max_usd,
        body=args.max_body,
        grace=args.grace,
    )
    adapter = adapter_of(args)
    answerers = {name: answerer for name, answerer in served.items() if answerer}
    named = [answerer.retriever for answerer in answerers.values() if "retriever" in answerer.model_fields_set]
    usual = named or [environment("ODQA_RETRIEVER") or "sample"]
    with dspy.context(adapter=adapter):  # a state says under which it was made
        methods = Methods(
            served or usual_first(),
            states={name: Path(answerer.state.file) for name, answerer in answerers.items() if answerer.state}
            | {method: Path(file) for method, file in args.state},
            settings=_settings(args.set, answerers),
            programs={name: answerer.program for name, answerer in answerers.items()},
        )
    answering = Answering(
        load_lm(args).copy(cache=args.cache),
        methods,
        _retrievers(args.retriever or usual),
        adapter=adapter,
        limits=limits,
        rewrite=args.rewrite,
    )
    if args.stdio:
        serve_stdio(answering)
    else:
        serve(answering, admission, routes, port=args.port)


def _run_routes(folder: str | None) -> list[Any]:
    """Routes that show the runs in the folder; without one those in `runs`, if it is there."""
    if not (folder or Path(_RUNS).is_dir()):
        return []
    from eval.reports.html.served import run_routes

    return run_routes(folder or _RUNS)


def _retrievers(given: Sequence[str]) -> dict[str, Retriever | None]:
    """The retrievers by name. One without a name has that of its SPEC, which clients see: without the secrets in it."""
    loaded: dict[str, Retriever | None] = {}
    for text in given:
        before, equals, after = text.partition("=")
        named = equals and re.fullmatch(r"[\w.-]+", before)
        name, spec = (before, after) if named else (public(text), text)
        if name in loaded:
            raise UsageError(f"two retrievers have the name {name!r}: give one another, as NAME=SPEC")
        loaded[name] = None if spec == "none" else retrieval.load(spec)
    return loaded


def _settings(pairs: Sequence[tuple[str, str]], answerers: Mapping[str, Answerer]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {name: dict(answerer.settings) for name, answerer in answerers.items()}
    for name, value in pairs:
        method, dot, setting = name.partition(".")
        if not dot:
            raise UsageError(f"--set takes METHOD.SETTING=VALUE, such as migres.rounds=3, not {name}={value}")
        try:
            settings.setdefault(method, {})[setting] = json.loads(value)
        except ValueError:
            settings.setdefault(method, {})[setting] = value
    return settings


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"it is given as NAME=VALUE, not {text!r}")
    return name, value
