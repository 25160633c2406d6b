"""A wrong bit or a missing end in an index of HippoRAG: a clear error, or an answer."""

from pathlib import Path

import dspy
import pytest
from support.damaged_indexes import attacked, with_other_files
from support.graph_passages import PASSAGES, Knowing

from retrieval.hipporag import HippoRAG

pytestmark = pytest.mark.needs("faiss")


def test_a_damaged_index_is_said_or_answers(knowing: Knowing, tmp_path: Path) -> None:
    HippoRAG.build(PASSAGES, tmp_path / "whole", encoder="words", lm=knowing.lm)
    with dspy.context(lm=knowing.lm):
        assert attacked(tmp_path / "whole", tmp_path / "index", HippoRAG) > 100
        assert with_other_files(tmp_path / "whole", tmp_path / "index", "hipporag.json", HippoRAG) > 80
