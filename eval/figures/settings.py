"""What runs were made with, entry by entry, and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.records.record import Manifest
from eval.records.standing import label

__all__ = ["ABSENT", "Setting", "differing", "settings"]

ABSENT = "–"
"""The value of an entry that a manifest does not have."""

_BOOKKEEPING = ("asked", "format", "limit", "metrics", "questions", "self_tests", "started", "task", "versions")


@dataclass(frozen=True, slots=True)
class Setting:
    """An entry of the manifests."""

    name: str
    """The names inside an entry follow its name and a dot."""
    values: list[str]
    """One per run."""

    @property
    def same(self) -> bool:
        """Whether all runs have the same value."""
        return len(set(self.values)) == 1


def settings(manifests: Sequence[Manifest]) -> list[Setting]:
    """Every entry of any manifest, and its value in each."""
    flat = [_flat(manifest.entries()) for manifest in manifests]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return [Setting(name, [_value(name, entries.get(name, ABSENT)) for entries in flat]) for name in names]


def differing(manifests: Sequence[Manifest]) -> list[Setting]:
    """The entries that can make a difference to the answers and that differ between runs which have them.

    A setting of one program that another program does not have is none of them.
    """
    return [
        setting
        for setting in settings(manifests)
        if setting.name.partition(".")[0] not in _BOOKKEEPING and len(set(setting.values) - {ABSENT}) > 1
    ]


def _value(name: str, value: str) -> str:
    return label(value) if name == "lm" else value


def _flat(value: Any, name: str = "") -> dict[str, str]:
    if isinstance(value, dict) and value:
        return {path: text for key, item in value.items() for path, text in _flat(item, f"{name}.{key}").items()}
    name = name.removeprefix(".")
    if name == "best_of":
        return {name: f"{len(value)} runs"}
    if isinstance(value, list):
        return {name: ", ".join(map(str, value)) or "none"}
    return {name: "none" if value is None or value == {} else str(value)}
