"""Texts without the secrets that may be in them, for messages, manifests and reports."""

import os
import re
from typing import Any

__all__ = ["names_a_secret", "public", "without_secrets", "without_url_secrets"]

_SECRET = re.compile(r"key|secret|password|credential|auth|header|cookie|token(?!s)", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """Whether an argument with this name may hold a secret; max_tokens, for example, does not."""
    return _SECRET.search(name) is not None


def without_secrets(line: str) -> str:
    """The line with *** for the value of every environment variable that holds a key, token, secret or password."""
    for name, value in os.environ.items():
        if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name) and len(value) > 7:
            line = line.replace(value, "***")
    return line


def without_url_secrets(text: str) -> str:
    """The text with the parts of URLs that may be secret, user with password and query, replaced by ***.

    A query that only names a collection and how to search it is what tells retrievers apart, and stays.
    """
    text = re.sub(r"(\w://)[^/\s]*@", r"\1***@", text)
    return re.sub(r"(\w://[^?\s]*\?)(?!(?:(?:collection|search)=[\w.-]+&?)+(?:[\s\"')]|$))[^\s\"')]+", r"\1***", text)


def public(value: Any) -> Any:
    """A value of JSON without what its name, its form or the environment says is secret, at any depth; None is left out
    of objects."""
    match value:
        case dict(items):
            kept = {name: item for name, item in items.items() if item is not None and not names_a_secret(name)}
            return {name: public(item) for name, item in kept.items()}
        case list(items):
            return [public(item) for item in items]
        case str(text):
            return without_url_secrets(without_secrets(text))
        case other:
            return other
