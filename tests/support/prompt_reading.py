"""Reads back what a prompt asked, from the messages of DSPy's adapters; of XMLAdapter's, only what is wanted."""

import re

__all__ = ["declared", "inputs", "typed", "wanted"]

_MARKER = re.compile(r"^\[\[ ## (\w+) ## \]\]$", re.MULTILINE)


def inputs(user: str) -> dict[str, str]:
    """The input fields of the last user message, by name. Fails if a field is there twice."""
    body = user[: user.rindex("\n\nRespond with ")]
    names = _MARKER.findall(body)
    assert len(set(names)) == len(names), f"a field is there twice in:\n{user}"
    return dict(zip(names, [text.strip() for text in _MARKER.split(body)[2::2]], strict=True))


def declared(system: str) -> list[str]:
    """The names of the signature's input fields."""
    declaration = system.partition("Your output fields are:")[0]
    return re.findall(r"^\d+\. `(\w+)`", declaration, re.MULTILINE)


def wanted(user: str) -> list[str]:
    """The names of the output fields that are asked for, in order."""
    return re.findall(r"(?:the field|of fields:|XML tags|then) `(?:\[\[ ## |<)?(\w+)", _request(user))


def typed(user: str) -> set[str]:
    """The names of the wanted output fields that are not plain text."""
    field = r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?` \(must be formatted as a valid Python (?!Union\[str, NoneType\])"
    return set(re.findall(field, _request(user)))


def _request(user: str) -> str:
    return user[user.rindex("\n\nRespond with ") :]
