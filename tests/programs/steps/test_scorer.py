import subprocess
import sys

import pytest

from programs.steps.scorer import scorer_or_none
from retrieval import UsageError
from retrieval.ranking.scorers import Lexical


def test_a_scorer_by_its_name_or_none() -> None:
    assert scorer_or_none("none") is None
    assert isinstance(scorer_or_none("lexical"), Lexical)


def test_an_unknown_scorer_is_refused() -> None:
    with pytest.raises(UsageError, match="nosuch"):
        scorer_or_none("nosuch")


def test_without_a_scorer_its_module_is_not_imported() -> None:
    code = "import sys; from programs.steps.scorer import scorer_or_none; scorer_or_none('none'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "retrieval.ranking.scorers" not in done.stdout.split()
