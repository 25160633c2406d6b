"""Texts without the secrets that may be in them, for messages, manifests and reports."""

import os
import re

__all__ = ["names_a_secret", "without_secrets", "without_url_secrets"]

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
