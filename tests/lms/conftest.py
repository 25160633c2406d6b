from collections.abc import Iterator

import dspy
import pytest
from support.lighthouse import ADAPTERS

from lms.extractive import extractive_lm


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def lm(request: pytest.FixtureRequest) -> Iterator[dspy.LM]:
    reader = extractive_lm()
    with dspy.context(lm=reader, adapter=request.param):
        yield reader
