"""How probable an LM held a word, or what it wrote, from the log-probabilities of the tokens that it wrote."""

import math
import re
from typing import Any, NamedTuple

import dspy
from dspy.utils.exceptions import LMInvalidRequestError, LMUnsupportedFeatureError

from programs.steps.ask import ask

__all__ = ["Token", "ask_scored", "bare", "certainty", "probability"]

_ALTERNATIVES = 20  # per token: the most that providers give


class Token(NamedTuple):
    """One token of a reply: its text, its probability, and the probabilities of others that could have stood there."""

    text: str
    probability: float
    others: dict[str, float]


def ask_scored(predictor: dspy.Module, **inputs: Any) -> tuple[dspy.Prediction, list[Token]] | None:
    """Call the predictor as `ask` does and return the tokens of the reply beside it; none where the LM gave none.

    None where the LM does not offer log-probabilities, or its provider refuses a request for them: it has to be asked
    without. LMs that think before they reply count as not offering them: their thoughts have settled the reply, and its
    probabilities are all next to 1.
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
        # The prediction is in the trace too, and what is made of it there has no use for numbers of tokens.
        del reply["logprobs"]
    return reply, [_token(entry) for entry in getattr(found, "content", None) or ()]


def probability(word: str, field: str, tokens: list[Token]) -> float | None:
    """The probability that the field is this word and nothing else, whatever its case and quotes.

    Every way to write the word that the tokens show is added up: the way that the LM took, as the product of the
    probabilities of the field's tokens, and the ways that begin like it and complete the word with one token that the
    LM could have written instead. Where no token completes the word it is 0.

    Args:
        word: In lower case.
        field: Output field of the signature, which ChatAdapter's or JSONAdapter's layout tells from the others.
        tokens: The reply.

    Returns:
        None where the field cannot be found in the reply, or there is nothing in it.
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
        if at - len(token.text) >= end or not word.startswith(bare(before)):
            break
        total += path * sum(p for other, p in token.others.items() if bare(before + other) == word)
        path *= token.probability
    if bare(text[start:end]) == word:
        total += path
    return min(total, 1.0)


def certainty(field: str, tokens: list[Token]) -> float | None:
    """How probable the LM held what it wrote in the field: the geometric mean of the probabilities of its tokens.

    The mean, and not the product, which the longer of two answers would lose by.

    Args:
        field: Output field of the signature, as in `probability`.
        tokens: The reply.

    Returns:
        None where the field cannot be found in the reply, or there is nothing in it.
    """
    start, end = _span(field, "".join(token.text for token in tokens))
    logs, at = [], 0
    for token in tokens:
        before, at = at, at + len(token.text)
        if before < end and at > start:
            logs.append(math.log(token.probability) if token.probability else -math.inf)
    return math.exp(sum(logs) / len(logs)) if start < end else None


def bare(text: str) -> str:
    """The text in lower case without the white space, quotes and full stop around it."""
    return text.strip(" \t\r\n\"'“”‘’`.").casefold()


def _token(entry: Any) -> Token:
    """One entry of the list of tokens that OpenAI's interface has, which DSPy gives for every provider."""
    others = {other.token: _exp(other.logprob) for other in entry.top_logprobs or () if other.token != entry.token}
    return Token(entry.token, _exp(entry.logprob), others)


def _exp(logprob: float) -> float:
    return math.exp(min(0.0, logprob))  # above 0 is a rounding error


def _span(field: str, text: str) -> tuple[int, int]:
    """Where the field's value begins and ends, without white space around it; twice the same where it is not found."""
    if header := re.search(rf"^[^\S\n]*\[\[ ## {field} ## \]\]", text, re.MULTILINE):
        start = header.end()
        following = re.compile(r"^[^\S\n]*\[\[ ## \w+ ## \]\]", re.MULTILINE).search(text, start)
        end = following.start() if following else len(text)
    elif found := re.search(rf'"{field}"\s*:\s*"((?:[^"\\]|\\.)*)', text, re.DOTALL):
        start, end = found.span(1)
    else:
        return 0, 0
    value = text[start:end].strip()
    start = text.index(value, start)
    return start, start + len(value)
