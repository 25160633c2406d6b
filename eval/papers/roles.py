"""The roles of the papers' LMs and retrievers, and what the caller gives for each.

A row of a table names the paper's LMs and its retriever. The caller gives one of each for all rows, or one for a role.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from eval.papers.measuring import NotRun
from eval.papers.tables import PAPERS, paper
from retrieval import UsageError

__all__ = ["by_role", "fill", "lm_roles", "retriever_roles"]

_Given = TypeVar("_Given")
_ALL = ""  # the role of what is given without one


def lm_roles() -> list[str]:
    """`reader` and `planner`, and the LMs of all papers."""
    return list(dict.fromkeys(["reader", "planner", *(lm for name in PAPERS for lm in paper(name).lms)]))


def retriever_roles() -> list[str]:
    """The retrievers of all papers, and `oracle`."""
    return list(dict.fromkeys([*(found for name in PAPERS for found in paper(name).retrievers), "oracle"]))


def by_role(flag: str, texts: Sequence[str], roles: Collection[str]) -> dict[str, str]:
    """Values by role, from VALUE or ROLE=VALUE; a value without a role has the role "".

    Raises:
        UsageError: there is no such role.
    """
    found = {}
    for text in texts:
        role, equals, value = text.partition("=")
        if not equals or {":", "/"} & {*role}:  # the value itself has an equals sign
            role, value = _ALL, text
        elif role not in roles:
            raise UsageError(f"{flag}: there is no role {role!r}; there are: {', '.join(roles)}")
        found[role] = value
    return found


def fill(given: Mapping[str, _Given], flag: str, *roles: str | None) -> _Given:
    """What the caller gave for the first of these roles that has something, or else for all roles; None is no role.

    Raises:
        NotRun: there is neither.
    """
    named = [role for role in roles if role is not None]
    for role in [*named, *([] if "oracle" in named else [_ALL])]:
        if role in given:
            return given[role]
    if "oracle" in named:
        corpus = "over a corpus that odqa eval corpus TASK --add-to CORPUS has made"
        raise NotRun(f"needs {flag} oracle=SPEC, {corpus}")
    raise NotRun(f"needs {flag} {named[0]}=SPEC, or {flag} SPEC for all")
