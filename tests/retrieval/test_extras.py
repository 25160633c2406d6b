"""Each part of retrieval that needs more packages says how to get them."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval import UsageError

ROOM = Path(__file__).parents[2] / "retrieval"


@pytest.mark.parametrize(
    ("file", "package", "install"),
    [
        ("colbert/libraries.py", "faiss", "'dspy-odqa[colbert]'"),
        ("corpora/formats/markup.py", "bs4", "'dspy-odqa[corpora]'"),
        ("corpora/formats/pdf.py", "pypdf", "'dspy-odqa[corpora]'"),
        ("corpora/formats/word.py", "docx", "'dspy-odqa[corpora]'"),
        ("corpora/folder.py", "semantic_text_splitter", "'dspy-odqa[corpora]'"),
        ("qdrant/connection.py", "qdrant_client", "'dspy-odqa[qdrant]'"),
        ("remote/server.py", "uvicorn", "'dspy-odqa[serve]'"),
        ("serving/listening.py", "uvicorn", "'dspy-odqa[serve]'"),
        ("adapters/langchain.py", "langchain_core", "langchain-core"),
        ("adapters/llama_index.py", "llama_index", "llama-index-core"),
        ("adapters/haystack.py", "haystack", "haystack-ai"),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(
    file: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError) as caught:
        runpy.run_path(str(ROOM / file))
    named, _, way = str(caught.value).partition(" is not installed, get it by: ")
    assert (named.split(".")[0], way) == (package, f"pip install {install}")


def test_a_command_says_it_in_one_line() -> None:
    code = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from retrieval.__main__ import main; main(['corpus', '.', '--out', 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "odqa: error: pypdf is not installed, get it by: pip install 'dspy-odqa[corpora]'\n"
