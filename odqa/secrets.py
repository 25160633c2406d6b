"""Texts without the secrets that may be in them, for messages, manifests and reports."""

import os
import re
from typing import Any, overload

__all__ = ["keep_secret", "names_a_secret", "public"]

_SECRET = re.compile(r"key|secret|password|credential|auth|header|cookie|token(?!s)", re.IGNORECASE)
_LEAST = 8  # characters of a secret: a shorter one would blot out ordinary words
_kept: set[str] = set()  # given to this process as arguments


def keep_secret(value: Any, *, named: bool = False) -> None:
    """Have `public` take out, from now on, what is secret in a value of JSON: a server may say back what it
    was sent.

    Args:
        value: The texts under names that tell secrets, at any depth, are secret. Of a header such as "Bearer KEY" the
            key is taken out by itself, too.
        named: Whether all its texts are secret.
    """
    match value:
        case dict(items):
            for name, item in items.items():
                keep_secret(item, named=named or names_a_secret(name))
        case list(items):
            for item in items:
                keep_secret(item, named=named)
        case str(text) if named:
            _kept.update(part for part in (text, *text.split()) if len(part) >= _LEAST)


def names_a_secret(name: str) -> bool:
    """Whether an argument with this name may hold a secret; max_tokens, for example, does not."""
    return _SECRET.search(name) is not None


@overload
def public(value: str) -> str: ...


@overload
def public(value: Any) -> Any: ...


def public(value: Any) -> Any:
    """A value of JSON, or a text such as an address or an error, that may be printed and written.

    Of each URL in a text the user with the password, here and wherever the text repeats them, and the query are ***;
    a query that only names a collection and how to search it is what tells retrievers apart, and stays. So are the
    values of the environment variables that hold a key, token, secret or password, and what `keep_secret` was told.
    Of objects, at any depth, what has the name of a secret, and None, is left out.
    """
    match value:
        case dict(items):
            kept = {name: item for name, item in items.items() if item is not None and not names_a_secret(name)}
            return {name: public(item) for name, item in kept.items()}
        case list(items):
            return [public(item) for item in items]
        case str(text):
            return _of_text(text)
        case other:
            return other


def _of_text(text: str) -> str:
    # Some clients repeat the user without the scheme, and a path leaves one slash of two.
    for user in re.findall(r"(?:\w://|https?:/)([^/\s]+@)", text):
        text = re.sub(rf"(?<!\w){re.escape(user)}", "***@", text)
    text = re.sub(r"(\w://[^?\s]*\?)(?!(?:(?:collection|search)=[\w.-]+&?)+(?:[\s\"')]|$))[^\s\"')]+", r"\1***", text)
    named = {value for name, value in os.environ.items() if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name.upper())}
    for secret in sorted((text for text in named | _kept if len(text) >= _LEAST), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
