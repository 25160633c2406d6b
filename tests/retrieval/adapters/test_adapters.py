"""What all adapters have in common."""

import importlib
import sys

import pytest

from retrieval import UsageError


@pytest.mark.parametrize(
    ("module", "library", "package"),
    [
        ("langchain", "langchain_core", "langchain-core"),
        ("llama_index", "llama_index", "llama-index-core"),
        ("haystack", "haystack", "haystack-ai"),
    ],
)
def test_without_the_library_it_says_what_to_install(
    module: str, library: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"retrieval.adapters.{module}", raising=False)
    for name in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=rf"{library}\S* is not installed, get it by: pip install {package}$"):
        importlib.import_module(f"retrieval.adapters.{module}")
