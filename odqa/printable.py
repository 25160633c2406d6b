"""Text from outside, on a terminal or a page, with nothing in it that is not seen."""

import logging
import re
import traceback

from odqa.secrets import public

__all__ = ["printable", "unbroken", "written_out"]

# Control characters, those that turn the direction of what follows, and lone surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with every character that is not seen, or that changes how others are seen, written as \u202e is.

    Line breaks and tabs stay. JSON stays the same JSON, since strings in it may be written so.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def unbroken(text: str) -> str:
    """The text with a space for each line break, so that it makes no lines of its own; other white space stays."""
    return " ".join(text.splitlines())


def written_out(record: logging.LogRecord) -> bool:
    """A filter of logs that lets everything pass, made `printable` and without secrets: it may say what a server, an LM
    or a file said."""
    if not hasattr(record, "color_message"):  # which uvicorn's own have, and a terminal is shown with their arguments
        record.msg, record.args = printable(public(record.getMessage())), None
    if record.exc_info:
        record.exc_text = printable(public("".join(traceback.format_exception(*record.exc_info))))
    return True
