"""What the extra `corpora` installs."""

import subprocess
import sys

import pytest


@pytest.mark.needs("bs4")
def test_a_missing_package_is_named_with_the_way_to_get_it() -> None:
    code = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from retrieval.__main__ import main; main(['corpus', '.', '--out', 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("odqa: error: pypdf is not installed, get it by: pip install 'dspy-odqa[corpora]'\n")
