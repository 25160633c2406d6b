"""The roles of the papers' LMs and retrievers, and what the caller gives for each.

A row of a table names the paper's LMs and its retriever. The caller gives one of each for all rows, or one for a role,
or a retriever for the questions of a task, since a paper may have another corpus for each data set.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from eval.papers.measuring import NotRun
from eval.papers.tables import PAPERS, paper
from eval.tasks import choose
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


def by_role(flag: str, texts: Sequence[str], roles: Collection[str], *, by_task: bool = False) -> dict[str, str]:
    """Values by role, from VALUE or ROLE=VALUE; a value without a role has the role "".

    Args:
        flag: What the caller gave them with.
        texts: The values.
        roles: Those there are.
        by_task: Whether a role may be followed by @TASK, a task's name without variant, also where there is no role.

    Raises:
        UsageError: there is no such role or task.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        role, at, task = key.partition("@") if by_task else (key, "", "")
        if not equals or {":", "/"} & {*key}:  # the value itself has an equals sign
            key, value = _ALL, text
        elif role not in roles and not (at and not role):
            raise UsageError(f"{flag}: there is no role {role!r}; there are: {', '.join(roles)}")
        elif at:
            choose(task)
        found[key] = value
    return found


def fill(given: Mapping[str, _Given], flag: str, *roles: str | None, task: str = "") -> _Given:
    """What the caller gave for the first of these roles that has something, or else for all roles.

    Args:
        given: By role, by ROLE@TASK or by @TASK, of which the task's own comes first.
        flag: What the caller gave it with.
        roles: None is no role.
        task: The task's name without variant.

    Raises:
        NotRun: there is none.
    """
    named = [role for role in roles if role is not None]
    for role in [*named, *([] if "oracle" in named else [_ALL])]:
        for key in (f"{role}@{task}", role):
            if key in given:
                return given[key]
    if "oracle" in named:
        corpus = "over a corpus that odqa eval corpus TASK --add-to CORPUS has made"
        raise NotRun(f"needs {flag} oracle=SPEC, {corpus}")
    raise NotRun(f"needs {flag} {named[0]}=SPEC, or {flag} SPEC for all")
