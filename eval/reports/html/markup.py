"""HTML and SVG made of elements, in which all text is escaped: nothing that an LM or a passage says becomes markup."""

import html
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

__all__ = ["Html", "document", "tag", "visible"]

_VOID = frozenset({"input", "meta"})
# Control characters, those that turn the direction of what follows, and lone surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element.

    Args:
        name: What it is.
        children: What it holds: `Html` as it is, None not at all, everything else as text.
        attributes: An underscore in a name stands for a hyphen, one at the end for nothing. True is an attribute
            without a value; False or None is none.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = "".join(map(_text, children))
    return Html(f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{inside}</{name}>")


def document(title: str, body: Sequence[Html], *, style: str, script: str, data: Any) -> str:
    """A page that loads nothing and runs nothing else: its policy allows this style and this script, by their hashes.

    Args:
        title: Its title.
        body: What is in it.
        style: A style sheet; ours, it is not escaped.
        script: A script that runs when the page is there; likewise.
        data: What the script finds as JSON in the element `data`.
    """
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    # In JSON "<" stands in strings only; without it nothing in there can end the element.
    plain = json.dumps(_visible(data), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Html(style)),
    ]
    foot = [tag("script", Html(plain), type="application/json", id="data"), tag("script", Html(script))]
    return "<!doctype html>\n" + tag("html", tag("head", *head), "\n", tag("body", *body, *foot), lang="en") + "\n"


def visible(text: str) -> str:
    r"""The text with characters that are not seen, or change how others are, written as \u202e."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _visible(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(key): _visible(item) for key, item in value.items()}
        case list():
            return [_visible(item) for item in value]
    return value


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _text(value: object) -> str:
    if value is None or isinstance(value, Html):
        return value or ""
    return html.escape(visible(str(value)))
