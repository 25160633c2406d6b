"""The one command line that all methods share, derived from their classes; its parts serve eval and optimizers too.

A method's flags are the keyword-only arguments of its `__init__`: type and default from the signature, help from the
Args section of the class docstring.
"""

import argparse
import inspect
import json
import os
import re
import sys
import threading
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NoReturn

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import LMError
from tqdm import tqdm

import lms
import retrieval
from programs.instruments.cost import measured
from programs.instruments.plan import QUESTIONS, plan, price, promise
from programs.instruments.state import load_state
from retrieval import FORMS, OdqaError, Passage, Retriever, UsageError

__all__ = [
    "Parser",
    "add_environment",
    "add_settings",
    "load_lm",
    "load_retriever",
    "main",
    "make",
    "run",
    "say",
    "settings_of",
]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}; --help lists the flags\n")


def main(program: type[dspy.Module], argv: Sequence[str] | None = None) -> NoReturn:
    """Run `python -m programs.NAME`: answer a question with the program, or say what questions will cost, and exit."""
    name = program.__module__ if program.__module__ != "__main__" else _module_name()
    parser = Parser(prog=f"python -m {name}", description=_first_paragraph(program))
    parser.add_argument("question", nargs="?", help="the question to answer")
    parser.add_argument("--trace", action="store_true", help="print one JSON object with everything that led there")
    parser.add_argument(
        "--plan",
        action="store_true",
        help="ask no LM, but say how many LM calls a question takes and what it costs, found out with stand-ins on the "
        "question or, without one, on a few examples",
    )
    parser.add_argument(
        "--questions", type=int, default=100, metavar="N", help="with --plan: how many to price (default: %(default)s)"
    )
    add_environment(parser)
    add_settings(parser, program)
    args = parser.parse_args(argv)
    if args.question is None and not args.plan:
        parser.error("the following arguments are required: question")
    run(parser.prog, lambda: (_plan if args.plan else _answer)(program, args))


def run(prog: str, command: Callable[[], None]) -> NoReturn:
    """Run the command and exit: 0; 2 with one line on stderr for errors raised on purpose or by an LM's provider."""
    try:
        command()
        sys.stdout.flush()
    except (OdqaError, LMError) as error:
        line = " ".join(str(error).split())
        sys.exit(_fail(f"{prog}: error: {without_secrets(line)}"))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what a program works with: LM, retriever, state."""
    group = parser.add_argument_group("environment")
    group.add_argument(
        "--lm",
        default="auto",
        metavar="SPEC",
        help="auto, extractive, or a model of dspy.LM such as openai/gpt-4o-mini or ollama_chat/llama3.2; auto takes "
        "ODQA_LM, else OpenAI with OPENAI_API_KEY, else an Ollama on this machine, else the extractive reader "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--api-base",
        default=os.environ.get("ODQA_API_BASE") or None,
        metavar="URL",
        help="address of an OpenAI-compatible server for the LM (default: ODQA_API_BASE)",
    )
    group.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="sampling temperature of the LM; 0 for greedy decoding (default: the provider's)",
    )
    group.add_argument(
        "--retriever",
        default=os.environ.get("ODQA_RETRIEVER") or "sample",
        metavar="SPEC",
        help=f"{', '.join(FORMS)}, or none for closed book (default: ODQA_RETRIEVER, else sample, the packaged corpus)",
    )
    group.add_argument("--state", metavar="FILE", help="state file with compiled prompts, from python -m optimizers")


def add_settings(parser: argparse.ArgumentParser, made_with: Callable[..., Any]) -> None:
    """Add one flag for each setting of a program, given as its class, or of another callable such as a recipe."""
    whose = made_with.__name__ if isinstance(made_with, type) else made_with.__module__
    group = parser.add_argument_group(f"settings of {whose}")
    hints, helps = typing.get_type_hints(_function(made_with)), _argument_helps(made_with)
    for name, parameter in _settings(made_with).items():
        help_ = f"{helps[name]} (default: {parameter.default})".replace("%", "%%")
        flag = "--" + name.replace("_", "-")
        hint = hints[name]
        if isinstance(hint, types.UnionType):  # X | None
            (hint,) = (kind for kind in typing.get_args(hint) if kind is not type(None))
        if hint is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=parameter.default, help=help_)
        elif typing.get_origin(hint) is typing.Literal:
            group.add_argument(flag, choices=typing.get_args(hint), default=parameter.default, help=help_)
        else:
            group.add_argument(flag, type=hint, default=parameter.default, metavar=hint.__name__.upper(), help=help_)


def make(program: type[dspy.Module], args: argparse.Namespace, retriever: Retriever | None) -> dspy.Module:
    """The program with the settings and the state that the flags ask for.

    Raises:
        UsageError: there is no retriever and the program needs one; a setting or the state file does not fit.
    """
    if retriever is None and type(None) not in typing.get_args(typing.get_type_hints(program.__init__)["retriever"]):
        raise UsageError(f"{program.__name__} needs a retriever: --retriever none is for programs that can do without")
    made = program(retriever, **settings_of(program, args))
    if args.state:
        load_state(made, args.state)
    return made


def settings_of(made_with: Callable[..., Any], args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the program, or other callable, that the flags ask for, by name."""
    return {name: getattr(args, name) for name in _settings(made_with)}


def load_lm(args: argparse.Namespace) -> dspy.LM:
    """The LM that the flags ask for."""
    sampling = {} if args.temperature is None else {"temperature": args.temperature}
    return lms.load(args.lm, api_base=args.api_base, **sampling)


def load_retriever(args: argparse.Namespace) -> Retriever | None:
    """The retriever that the flags ask for, or none; says on stderr when it is the sample."""
    if args.retriever == "none":
        return None
    if args.retriever == "sample":
        say("retriever: sample (the packaged corpus of a few hundred abstracts; --retriever or ODQA_RETRIEVER chooses)")
    return retrieval.load(args.retriever)


def say(line: str) -> None:
    """Talk goes to stderr; stdout is for data."""
    print(line, file=sys.stderr)


def _answer(program: type[dspy.Module], args: argparse.Namespace) -> None:
    if not args.question.strip():
        raise UsageError("the question is empty")
    made = make(program, args, load_retriever(args))
    with dspy.context(lm=load_lm(args)), _progress(), measured() as cost:
        prediction = made(question=args.question)
    if args.trace:
        record = {"question": args.question, **prediction.toDict(), "cost": asdict(cost)}
        print(json.dumps(record, ensure_ascii=False, default=_as_json))
    else:
        print(prediction.answer)


def _plan(program: type[dspy.Module], args: argparse.Namespace) -> None:
    if args.questions < 1:
        raise UsageError(f"questions is how many to price and must be at least 1, not {args.questions}")
    lm = load_lm(args)
    made = make(program, args, load_retriever(args))
    amounts = plan(made, lms.load("extractive"), [args.question] if args.question else QUESTIONS)
    print(f"{'per question':20}{'least':>10}{'typical':>10}{'most':>10}")
    for name, amount in amounts.items():
        label = name.replace("lm_calls", "LM calls").replace("_", " ")
        print(f"{label:20}{amount.least:>10,.0f}{amount.typical:>10,.0f}{amount.most:>10,.0f}")
    tokens = amounts["input_tokens"], amounts["output_tokens"]
    dollars = [price(lm, *(getattr(amount, bound) for amount in tokens)) for bound in ("least", "typical", "most")]
    print(f"\n{args.questions:,} questions with {lm.model}:", end=" ")
    if None in dollars:
        print("the price is unknown")
    else:
        print(", ".join(f"${args.questions * usd:,.2f}" for usd in dollars if usd is not None))
    print(f"\nPromised: {promise(program)}")
    say(
        "Counted with stand-ins for the LM, a reader that copies from the passages (typical) and one whose replies are "
        "no use; tokens at 4 characters each. An LM's replies are longer than the reader's, above all when it reasons."
    )


@contextmanager
def _progress() -> Iterator[None]:
    """Show on a terminal how many LM calls have been answered: some methods make hundreds for one question."""
    bar = tqdm(desc="LM calls", unit="call", file=sys.stderr, disable=None, leave=False)
    lock = threading.Lock()

    class Progress(BaseCallback):
        def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
            with lock:
                bar.update()

    with bar, dspy.context(callbacks=[*dspy.settings.callbacks, Progress()]):
        yield


def _as_json(value: Any) -> Any:
    if isinstance(value, Passage):
        return asdict(value)
    raise TypeError(f"a result holds a {type(value).__name__}, which JSON cannot")


def _settings(made_with: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(_function(made_with)).parameters
    return {name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def _function(made_with: Callable[..., Any]) -> Callable[..., Any]:
    return made_with.__init__ if isinstance(made_with, type) else made_with  # type: ignore[misc]


def _argument_helps(made_with: Callable[..., Any]) -> dict[str, str]:
    """What the Args section of the docstring says of each argument."""
    _, _, section = inspect.getdoc(made_with).partition("\nArgs:\n")  # type: ignore[union-attr]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()).rstrip(".") for name, text in entries}


def _first_paragraph(program: type[dspy.Module]) -> str:
    return inspect.getdoc(program).split("\n\n")[0]  # type: ignore[union-attr]


def _module_name() -> str:
    """The name given to `python -m`, which runs the module as __main__."""
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec else "programs"


def without_secrets(line: str) -> str:
    """The line with the values of this environment's keys, tokens and passwords blotted out."""
    for name, value in os.environ.items():
        if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name) and len(value) > 7:
            line = line.replace(value, "***")
    return line


def _fail(line: str) -> int:
    say(line)
    return 2
