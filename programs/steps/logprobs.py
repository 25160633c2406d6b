"""The probability that an LM gave to a word or to a field of its reply, from the log-probabilities of its tokens."""

import html
import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import dspy
from dspy.utils.exceptions import AdapterParseError, LMInvalidRequestError, LMUnsupportedFeatureError

from programs.steps.ask import ask
from programs.steps.text import simplify
from signatures.adapters import ChatAdapter, JSONAdapter, XMLAdapter
from signatures.replies import ProbabilityOrNone

__all__ = [
    "Field",
    "Measured",
    "Stated",
    "Token",
    "ask_with_logprobs",
    "ask_with_probability",
    "find_field",
    "mean_probability",
    "word_probability",
]

_ALTERNATIVES = 20  # per token: the most that providers give
_ADAPTERS = (ChatAdapter(), JSONAdapter(), XMLAdapter())
_PROBE = "7093518264"  # every layout takes digits as they are, JSON even without quotes
_TRIES = 30  # places of a value in a reply; words that come more often do so in a reply without end


class Token(NamedTuple):
    """One token of a reply."""

    text: str
    probability: float
    others: dict[str, float]
    """Probabilities of the other tokens that the LM could have written in its place, by their text."""


class Field(NamedTuple):
    """The tokens of a reply, and the place of one field's value in its text."""

    tokens: list[Token]
    start: int
    """First character of the value, without the white space around it."""
    end: int
    """One behind its last character; never equal to `start`."""


class Stated(NamedTuple):
    """A further output in which an LM without log-probabilities states a probability as a number."""

    name: str
    desc: str


class Measured(NamedTuple):
    """A reply with a probability that goes with it."""

    reply: dspy.Prediction
    probability: float | None
    """None where there is no measurement."""
    measured_by: str
    """Where the probability comes from: "logprobs", "stated" (the LM gave a number), or "binary" for no measurement."""


def ask_with_probability(
    predictor: dspy.Module,
    field: str,
    measure: Callable[[Field], float | None],
    stated: Stated,
    *,
    by: str,
    **inputs: str,
) -> Measured:
    """Call the predictor, and measure a probability of its reply.

    Args:
        predictor: What is asked.
        field: The output whose tokens are measured.
        measure: Gives the probability by the tokens of the field.
        stated: Asks the LM for a number in their place.
        by: "logprobs" asks for a number only where the LM has no log-probabilities; "stated" always does; "binary"
            measures nothing.
        inputs: What the predictor is given.
    """
    if by == "binary":
        return Measured(ask(predictor, **inputs), None, "binary")
    if by == "logprobs" and (scored := ask_with_logprobs(predictor, field, **inputs)):
        reply, found = scored
        p = measure(found) if found else None
    else:
        by, output = "stated", dspy.OutputField(desc=stated.desc, default_factory=lambda: None)
        reply = ask(predictor, signature=predictor.signature.append(stated.name, output, ProbabilityOrNone), **inputs)
        p = reply.get(stated.name)
    return Measured(reply, p, "binary" if p is None else by)


def ask_with_logprobs(predictor: dspy.Module, field: str, **inputs: Any) -> tuple[dspy.Prediction, Field | None] | None:
    """Call the predictor as `ask` does, and return the reply, and one of its fields with the tokens.

    Returns None where the LM offers no log-probabilities, or its provider refuses the request: ask without them then.
    LMs that think before they reply count as offering none. Their thoughts have settled the reply already, so the
    probabilities of its tokens are all close to 1. There is a reply but no field where the LM gave no tokens, or where
    `find_field` does not find it.
    """
    lm = predictor.lm or dspy.settings.lm
    if "logprobs" not in getattr(lm, "supported_params", ()) or lm.supports_reasoning:
        return None
    try:
        reply = ask(predictor, config={"logprobs": True, "top_logprobs": _ALTERNATIVES}, **inputs)
    except (LMInvalidRequestError, LMUnsupportedFeatureError):
        return None
    found = reply.get("logprobs")
    if found:
        # The prediction is in the trace too. Demonstrations are made from that and must not hold token probabilities.
        del reply["logprobs"]
    tokens = [_token(entry) for entry in getattr(found, "content", None) or ()]
    (single,) = predictor.predictors()
    return reply, find_field(single.signature, field, reply.get(field), tokens)


def find_field(signature: type[dspy.Signature], name: str, value: Any, tokens: list[Token]) -> Field | None:
    """The place of a field's value among the tokens; None where it is empty or cannot be found.

    The adapters themselves say where it is: it is the place at which other text makes them read another value. So it is
    found in every form of a reply that they can read, and a word that comes more than once is found where they read it.

    Args:
        signature: What was asked.
        name: The output field.
        value: Its value in the prediction.
        tokens: The tokens of the whole reply.
    """
    text = "".join(token.text for token in tokens)
    as_text = signature.with_updated_fields(name, type_=str)
    for adapter in _ADAPTERS if text else ():
        if _read(adapter, signature, name, text) != value:
            continue
        written = str(_read(adapter, as_text, name, text) or "").strip()
        for start, end in islice(_places(written, text), _TRIES):
            probed = _read(adapter, as_text, name, text[:start] + _PROBE + text[end:])
            if isinstance(probed, str) and probed.strip() == _PROBE:
                return Field(tokens, start, end)
    return None


def word_probability(word: str, field: Field) -> float:
    """The probability that the field is this word and nothing else, whatever its case and quotes.

    It is a sum over the ways to write the word that the tokens show. The way that the LM took counts with the product
    of its tokens' probabilities. Other ways begin like it and complete the word with one token that the LM could have
    written instead. Where no token completes the word, the probability is 0.

    Args:
        word: The word, in lower case.
        field: The field of the reply.
    """
    tokens, start, end = field
    text = "".join(token.text for token in tokens)
    total, path, at = 0.0, 1.0, 0
    for token in tokens:
        before, at = text[start:at], at + len(token.text)
        if at <= start:
            continue
        if at - len(token.text) >= end or not word.startswith(simplify(before)):
            break
        total += path * sum(p for other, p in token.others.items() if simplify(before + other) == word)
        path *= token.probability
    if simplify(text[start:end]) == word:
        total += path
    return min(total, 1.0)


def mean_probability(field: Field) -> float:
    """The geometric mean of the probabilities of the tokens that the LM wrote in the field.

    It is the mean and not the product, because a product would favour the shorter of two answers.
    """
    logs, at = [], 0
    for token in field.tokens:
        before, at = at, at + len(token.text)
        if before < field.end and at > field.start:
            logs.append(math.log(token.probability) if token.probability else -math.inf)
    return math.exp(sum(logs) / len(logs))


def _token(entry: Any) -> Token:
    """From one entry of the token list in OpenAI's form, which DSPy gives for every provider."""
    others = {other.token: _exp(other.logprob) for other in entry.top_logprobs or () if other.token != entry.token}
    return Token(entry.token, _exp(entry.logprob), others)


def _exp(logprob: float) -> float:
    return math.exp(min(0.0, logprob))  # a value above 0 is a rounding error


def _read(adapter: dspy.Adapter, signature: type[dspy.Signature], name: str, text: str) -> Any:
    """The field as the adapter reads it; None where it cannot."""
    try:
        return adapter.parse(signature, text).get(name)
    except AdapterParseError:
        return None


def _places(written: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the text has what was written, as it is or as JSON and XML spell it, and not inside of a word."""
    spellings = (
        written,
        json.dumps(written, ensure_ascii=False)[1:-1],
        json.dumps(written)[1:-1],
        html.escape(written),
    )
    for spelling in dict.fromkeys(filter(None, spellings)):
        for found in re.finditer(rf"(?<!\w){re.escape(spelling)}(?!\w)", text):
            yield found.span()
