"""What texts name the commands by which the process was called."""

import sys

import pytest

from retrieval.called import as_called


@pytest.mark.parametrize("called", ["/usr/local/bin/odqa", "odqa.exe"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python -m programs.blendfilter --help", "odqa ask blendfilter --help"),
        ("python -m programs lists them, python -m programs serve serves", "odqa ask lists them, odqa serve serves"),
        ("python -m\n    eval compare RUN", "odqa eval compare RUN"),
        ("with `python -m optimizers`", "with `odqa optimize`"),
        ("python -m retrieval: error", "odqa: error"),
        ("python -m retrieval index, python -m retrieval serve", "odqa index, odqa serve-passages"),
        ("python -m pip", "python -m pip"),
    ],
)
def test_called_as_odqa(called: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    assert as_called(text) == expected


@pytest.mark.parametrize("called", ["-m", "/somewhere/eval/__main__.py", ""])
def test_called_otherwise(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    assert as_called("python -m eval") == "python -m eval"
