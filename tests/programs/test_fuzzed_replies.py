"""`benchmarks/fuzz.py` in small: hostile replies to every program."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from programs import names


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[2] / "benchmarks" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ["chat", "json", "xml"])
def test_no_reply_escapes_and_some_cannot_be_read(fuzz: ModuleType, adapter: str) -> None:
    count = fuzz.fuzz(adapter, names(), replies=250, seed=1, long=0.05)
    assert not count.escapes
    assert count.replies >= 250
    assert 0 < count.unparsable < count.calls
    assert count.long
