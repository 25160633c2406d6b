"""Where a collection is: a directory, or the URL of a server, with settings behind a question mark."""

import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl

from odqa.errors import UsageError

__all__ = ["COLLECTION", "SEARCHES", "Address", "api_key", "is_url"]

COLLECTION = "passages"
"""The name of the collection in a directory, where none is given."""

SEARCHES = ("bm25", "dense", "colbert", "hybrid")
_SETTINGS = ("collection", "search")


class Address(NamedTuple):
    """A collection, and how it is searched.

    Attributes:
        location: The directory, or the URL of the server.
        collection: The name of the collection.
        search: One of `SEARCHES`, or None for the best that the collection was built for.
    """

    location: str
    collection: str
    search: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``PATH``, ``PATH?search=dense`` or ``URL?collection=NAME&search=dense``.

        Raises:
            UsageError: a setting is unknown or given twice, or a URL names no collection. The message does not show
                what stands behind the question mark, which may be a secret.
        """
        location, mark, rest = text.partition("?")
        pairs = parse_qsl(rest, keep_blank_values=True)
        settings = dict(pairs)
        if not location or (mark and not rest) or len(settings) < len(pairs) or not settings.keys() <= {*_SETTINGS}:
            raise UsageError(
                "behind the question mark of a Qdrant collection stand collection=NAME and search=bm25, dense, colbert "
                "or hybrid, joined by &; an API key is taken from the environment variable QDRANT_API_KEY"
            )
        address = cls(location, settings.get("collection", "" if is_url(location) else COLLECTION))
        if not address.collection:
            raise UsageError(
                "a Qdrant server has many collections: name one, as in http://127.0.0.1:6333?collection=wiki"
            )
        return address._replace(search=settings.get("search"))


def api_key() -> str | None:
    """The key that the environment has for Qdrant servers: specs name no keys, since they are printed and kept."""
    return os.environ.get("QDRANT_API_KEY") or None


def is_url(location: str) -> bool:
    """Whether it is a URL, that of a server, and not a directory."""
    return re.match(r"\w+://", location) is not None
