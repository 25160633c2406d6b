"""What all command lines share: the argument parser, exit codes, one-line errors, data on stdout and talk on stderr.

An exit code is 0; 2 after a mistake or a failure that has a message of one line; or 130 after an interrupt.
"""

import argparse
import codecs
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO

from tqdm import tqdm

from odqa.errors import OdqaError, line_of, there_are
from odqa.interrupts import leave, raising
from odqa.printable import printable, written_out
from odqa.secrets import public

__all__ = [
    "Parser",
    "bar_size",
    "output",
    "progress_bar",
    "run",
    "say",
    "saying_on_interrupt",
    "status",
    "width",
    "with_values",
]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def format_help(self) -> str:
        return _writable(super().format_help())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse does; of a word that is nearly a choice, the message says which one is meant."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {there_are(str(value), choices)}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, printable(public(f"{self.prog}: error: {message}; --help lists the flags\n")))


def with_values(parser: argparse.ArgumentParser, known: Mapping[str, Sequence[str]]) -> None:
    """Give arguments the values they can have, for completion, in this parser and those of its subcommands.

    Args:
        parser: The parser.
        known: The values by the name of the argument, such as {"program": ["cot", "direct"]}.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                with_values(command, known)
        elif action.dest in known:
            action.choices = known[action.dest]


class _Said(logging.Handler):
    """Warnings that are logged, said as everything else is."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def run(prog: str, command: Callable[[], None]) -> NoReturn:
    """Run the command and exit with 0, 2 or 130.

    An `OdqaError`, an error of an LM's provider and an error of the operating system become one line on stderr, without
    secrets, and 2. It is no error when the reader of our output closes the pipe.

    Args:
        prog: The command, such as "odqa eval"; the line begins with it.
        command: What to run.
    """
    # LiteLLM else asks a site for a list of prices, which is not read here; where there is no network, for ten seconds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for stream in ("stdout", "stderr"):  # Python has None for one that was closed, as by >&-
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    logging.basicConfig(format="%(message)s", handlers=[_Said()])
    for handler in logging.getLogger("dspy").handlers:  # its optimizers log what LMs wrote
        handler.addFilter(written_out)
    try:
        raising()
        command()
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more when it ends: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if not isinstance(error, (OdqaError, OSError, *_provider_errors())):
            raise
        say(f"{prog}: error: {line_of(error)}")
        leave(2)
    except KeyboardInterrupt:
        leave(130)
    leave(0)


def _provider_errors() -> list[type[Exception]]:
    """DSPy's class of the errors of LM providers, where DSPy is imported: help must not wait for that."""
    known = sys.modules.get("dspy.utils.exceptions")
    return [known.LMError] if known else []


def say(line: str) -> None:
    """Print a line on stderr, `printable` and without secrets. Stdout is for data."""
    print(printable(public(line)), file=sys.stderr)


def output(text: str, *, end: str = "\n", flush: bool = False) -> None:
    """Print data on stdout, `printable`: what an LM, a corpus or a file says does nothing to a terminal."""
    print(_writable(printable(text)), end=end, flush=flush)


def _writable(text: str) -> str:
    """The text with what the encoding of stdout lacks written as in JSON, which stays the same JSON."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "as_json").decode(encoding)


def _as_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("as_json", _as_json)


def status(line: str) -> None:
    """Show a line on a terminal's stderr in place of the one before, cut to its width; an empty one takes it away."""
    print(f"\r\x1b[K{printable(public(line))[: width() - 1]}", end="", file=sys.stderr, flush=True)


def width(stream: TextIO | None = None) -> int:
    """The columns of the terminal that a stream, by default stderr, goes to; 80 where none are reported."""
    try:
        reported = os.get_terminal_size((stream or sys.stderr).fileno()).columns
    except OSError:
        reported = 0  # no terminal; one in `script`, in a container or of a CI may report 0 itself
    return reported or 80


@contextmanager
def saying_on_interrupt(line: str) -> Iterator[None]:
    """When the block is interrupted, print how things stand; `run` then ends the command."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {line}")
        raise


def bar_size(stream: TextIO | None = None) -> dict[str, int]:
    """What tqdm is to know of the terminal. It looks itself, but shows empty lines where it is told 0."""
    return {"ncols": width(stream) - 1, "nrows": 20}


def progress_bar(*args: Any, file: TextIO | None = None, **settings: Any) -> "tqdm[Any]":
    """A progress bar of tqdm, with its arguments, by default on stderr; nothing is shown where that is no terminal."""
    file = file or sys.stderr
    return tqdm(*args, file=file, disable=None, **bar_size(file), **settings)
