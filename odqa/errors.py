"""The errors this project raises on purpose.

    OdqaError                 all of them; the command lines print them as one line and exit with 2
    ├── UsageError            the caller's mistake; the message says what to do instead (also a ValueError)
    └── RetrievalError        a correct search could not be answered: a server is down, too slow or sends
                              nonsense, or an index is damaged
        └── ShardError        a part of an index is down

An LM's mistake is never an error here: it is data, and evaluations count it.
"""

from collections.abc import Collection
from difflib import get_close_matches

__all__ = ["OdqaError", "RetrievalError", "ShardError", "UsageError", "line_of", "there_are"]


class OdqaError(Exception):
    """Base of every error raised on purpose."""


class UsageError(OdqaError, ValueError):
    """The caller asked for something that cannot be done; the message says what to do instead."""


class RetrievalError(OdqaError):
    """A retriever could not answer a correct search."""


def line_of(error: BaseException) -> str:
    """What an error says, on one line, with the HTTP status at its end where the words of a server leave that out."""
    line = " ".join(str(error).split())
    status = getattr(error, "status", None)
    return f"{line} (HTTP status {status})" if status and str(status) not in line else line


def there_are(name: str, names: Collection[str]) -> str:
    """What to say of a name that is not there: the names there are, behind the one that was probably meant."""
    meant = get_close_matches(name, names, 1)
    hint = f"did you mean {meant[0]}? There" if meant else "there"
    return f"{hint} are: {', '.join(names)}"


class ShardError(RetrievalError):
    """A part of an index, on another machine or in another process, does not answer.

    Args:
        public: Which one, in words that a server may tell anyone.
        detail: What happened, for the one who runs it.
    """

    def __init__(self, public: str, detail: str) -> None:
        super().__init__(public, detail)
        self.public = public
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.public}: {self.detail}"
