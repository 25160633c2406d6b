"""ColBERT indexes are not changed."""

from pathlib import Path

import pytest

from retrieval import UsageError
from retrieval.commands.add import open_index


def test_it_is_said_that_an_index_cannot_be_changed(path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"is a ColBERT index, whose centroids are trained on its passages: .* build it"
    ):
        open_index(str(path))
