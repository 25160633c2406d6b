"""Settings are checked where a method is made, from their annotations."""

import inspect
import typing
from typing import Any, Literal

import numpy as np
import pytest

from programs import load, names
from programs.steps.settings import Count, Temperature, checked
from retrieval import Memory, UsageError


class Method:
    @checked
    def __init__(
        self,
        retriever: object,
        *,
        k: Count = 5,
        most: Count | None = None,
        style: Literal["short", "yesno"] = "short",
        heat: Temperature = 0.5,
        threshold: float = -1.5,
        blend: bool = True,
        scorer: str = "none",
    ) -> None:
        self.made = k, most, style, heat, threshold, blend, scorer


def test_numbers_of_numpy_are_numbers() -> None:
    assert Method(None, k=np.int64(3), heat=np.float32(0.5)).made[0] == 3  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"k must be at least 1, not np\.int64"):
        Method(None, k=np.int64(0))  # type: ignore[arg-type]


def test_what_the_annotations_allow_passes_unchanged() -> None:
    assert Method(None).made == (5, None, "short", 0.5, -1.5, True, "none")
    given = {"k": 1, "most": 7, "style": "yesno", "heat": 0, "threshold": -20, "blend": False, "scorer": "lexical"}
    assert Method(None, **given).made == tuple(given.values())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"k": "5"}, "k must be a valid integer, not '5'"),
        ({"k": True}, "k must be a valid integer, not True"),
        ({"k": None}, "k must be a valid integer, not None"),
        ({"most": -1}, "most must be at least 1, not -1"),
        ({"style": "long"}, "style must be 'short' or 'yesno', not 'long'"),
        ({"heat": -0.1}, "heat must be at least 0, not -0.1"),
        ({"threshold": float("nan")}, "threshold must be a finite number, not nan"),
        ({"blend": "no"}, "blend must be a valid boolean, not 'no'"),
        ({"scorer": 3}, "scorer must be a valid string, not 3"),
    ],
)
def test_anything_else_is_refused_by_its_name(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Method(None, **setting)
    assert str(caught.value) == f"Method: {message}"


def settings() -> list[tuple[str, str]]:
    found = []
    for name in names():
        parameters = inspect.signature(load(name).__init__).parameters.values()
        found += [(name, p.name) for p in parameters if p.kind is p.KEYWORD_ONLY and p.annotation is not bool]
    return found


@pytest.mark.parametrize(("name", "setting"), settings())
def test_every_setting_of_every_method_is_checked(name: str, setting: str) -> None:
    hint = typing.get_type_hints(load(name).__init__)[setting]
    with pytest.raises(UsageError, match="nonsense" if hint is str else f": {setting} must be"):
        load(name)(Memory([]), **{setting: 0 if hint in (int, int | None) else "nonsense"})
