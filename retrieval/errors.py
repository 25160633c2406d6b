"""The errors this project raises on purpose.

    OdqaError                 every one of them; the command lines print it as one line and exit with 2
    ├── UsageError            the caller's mistake; the message says what to do instead (also a ValueError)
    └── RetrievalError        a search could not be answered although it was asked rightly: a server that is
                              down, slow or talks nonsense; an index that is damaged

An LM's mistake is never an error here: it is data, and it is counted.
"""

__all__ = ["OdqaError", "RetrievalError", "UsageError"]


class OdqaError(Exception):
    """Base of every error raised on purpose."""


class UsageError(OdqaError, ValueError):
    """The caller asked for something that cannot be done; the message says what to do instead."""


class RetrievalError(OdqaError):
    """A retriever could not answer a search that was asked rightly."""
