"""The probability that an LM gave to a word or to a field of its reply, from the log-probabilities of its tokens."""

import math
import re
from typing import Any, NamedTuple

import dspy
from dspy.utils.exceptions import LMInvalidRequestError, LMUnsupportedFeatureError

from programs.steps.ask import ask
from programs.steps.text import simplify

__all__ = ["Token", "ask_with_logprobs", "mean_probability", "word_probability"]

_ALTERNATIVES = 20  # per token: the most that providers give


class Token(NamedTuple):
    """One token of a reply."""

    text: str
    probability: float
    others: dict[str, float]
    """Probabilities of the other tokens that the LM could have written in its place, by their text."""


def ask_with_logprobs(predictor: dspy.Module, **inputs: Any) -> tuple[dspy.Prediction, list[Token]] | None:
    """Call the predictor as `ask` does, and return the reply with its tokens; no tokens where the LM gave none.

    Returns None where the LM offers no log-probabilities, or its provider refuses the request: ask without them then.
    LMs that think before they reply count as offering none. Their thoughts have settled the reply already, so the
    probabilities of its tokens are all close to 1.
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
    return reply, [_token(entry) for entry in getattr(found, "content", None) or ()]


def word_probability(word: str, field: str, tokens: list[Token]) -> float | None:
    """The probability that the field is this word and nothing else, whatever its case and quotes.

    It is a sum over the ways to write the word that the tokens show. The way that the LM took counts with the product
    of its tokens' probabilities. Other ways begin like it and complete the word with one token that the LM could have
    written instead. Where no token completes the word, the probability is 0.

    Args:
        word: The word, in lower case.
        field: Output field of the signature. It is found in the layouts of ChatAdapter, JSONAdapter and XMLAdapter.
        tokens: The tokens of the whole reply.

    Returns:
        None where the field is empty or cannot be found in the reply.
    """
    text = "".join(token.text for token in tokens)
    start, end = _span(field, text)
    if start == end:
        return None
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


def mean_probability(field: str, tokens: list[Token]) -> float | None:
    """The geometric mean of the probabilities of the tokens that the LM wrote in the field.

    It is the mean and not the product, because a product would favour the shorter of two answers.

    Args:
        field: Output field of the signature, as in `word_probability`.
        tokens: The tokens of the whole reply.

    Returns:
        None where the field is empty or cannot be found in the reply.
    """
    start, end = _span(field, "".join(token.text for token in tokens))
    logs, at = [], 0
    for token in tokens:
        before, at = at, at + len(token.text)
        if before < end and at > start:
            logs.append(math.log(token.probability) if token.probability else -math.inf)
    return math.exp(sum(logs) / len(logs)) if start < end else None


def _token(entry: Any) -> Token:
    """From one entry of the token list in OpenAI's form, which DSPy gives for every provider."""
    others = {other.token: _exp(other.logprob) for other in entry.top_logprobs or () if other.token != entry.token}
    return Token(entry.token, _exp(entry.logprob), others)


def _exp(logprob: float) -> float:
    return math.exp(min(0.0, logprob))  # a value above 0 is a rounding error


def _span(field: str, text: str) -> tuple[int, int]:
    """Start and end of the field's value, without the white space around it; start equals end where it is not found."""
    if header := re.search(rf"^[^\S\n]*\[\[ ## {field} ## \]\]", text, re.MULTILINE):
        start = header.end()
        following = re.compile(r"^[^\S\n]*\[\[ ## \w+ ## \]\]", re.MULTILINE).search(text, start)
        end = following.start() if following else len(text)
    else:
        in_json, in_xml = rf'"{field}"\s*:\s*"((?:[^"\\]|\\.)*)', rf"<{field}>(.*?)(?:</{field}>|\Z)"
        found = re.search(in_json, text, re.DOTALL) or re.search(in_xml, text, re.DOTALL)
        if not found:
            return 0, 0
        start, end = found.span(1)
    value = text[start:end].strip()
    start = text.index(value, start)
    return start, start + len(value)
