"""The methods that are served, and their programs."""

import pytest
from support.answers_server import TABLE

from programs.serving.methods import Methods
from retrieval.ranking.scorers import Lexical

pytestmark = pytest.mark.needs("uvicorn")


def test_questions_with_settings_of_their_own_load_no_model_again(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    class Model(Lexical):
        def __init__(self, model: str) -> None:
            loaded.append(model)

    monkeypatch.setattr("retrieval.ranking.scorers.CrossEncoder", Model)
    methods = Methods(["retrieve_read"], settings={"retrieve_read": {"reranker": "cross-encoder:some/model"}})
    for settings in ({}, {"k": 3}, {"k": 4}):
        methods.program("retrieve_read", TABLE, settings)
    methods.prompts("retrieve_read")
    assert loaded == ["some/model"]
