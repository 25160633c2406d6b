import dspy
import pytest

from eval.papers.identity import adapter_identity, describe, lm_identity
from lms.extractive import extractive_lm
from lms.oracle import Gold, oracle_lm


def test_whatever_changes_replies_is_in_the_identity_and_no_secret_is() -> None:
    lm = dspy.LM(
        "openai/small",
        api_base="http://me:pw@host/v1?token=abc",
        api_key="sk-1",
        extra_headers={"Authorization": "x"},
        extra_body={"auth_token": "abc", "top_k": 5},
        temperature=0.7,
        max_tokens=50,
        rollout_id=3,
        response_format={"type": "json_object"},
    )
    identity = lm_identity(lm)
    assert identity == {
        "model": "openai/small",
        "model_type": "chat",
        "temperature": 0.7,
        "max_tokens": 50,
        "rollout_id": 3,
        "api_base": "http://***@host/v1?***",
        "response_format": {"type": "json_object"},
        "extra_body": {"top_k": 5},
    }
    for change in ({"temperature": 0.0}, {"api_base": "http://other/v1"}, {"seed": 1}, {"max_tokens": 51}):
        assert lm_identity(lm.copy(**change)) != identity
    assert lm_identity(lm.copy(api_key="sk-2", cache=False)) == identity
    assert lm_identity(None) is None


@pytest.mark.parametrize("lm", [extractive_lm(), oracle_lm([Gold("q", ("a",))])])
def test_an_engine_without_settings_is_its_model(lm: dspy.LM) -> None:
    assert lm_identity(lm) == {"model": lm.model, "model_type": "chat"}


def test_the_adapter_counts_with_what_is_set_in_it() -> None:
    assert adapter_identity() is None
    found = []
    for adapter in (dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.ChatAdapter(use_json_adapter_fallback=False)):
        with dspy.context(adapter=adapter):
            found.append(adapter_identity())
    assert [identity and identity["adapter"] for identity in found] == ["ChatAdapter", "JSONAdapter", "ChatAdapter"]
    assert found[0] != found[2]


def test_an_adapter_within_an_adapter_counts_too() -> None:
    class Outer(dspy.ChatAdapter):
        def __init__(self, inner: dspy.Adapter) -> None:
            super().__init__()
            self.inner = inner

    found = []
    for inner in (dspy.JSONAdapter(), dspy.XMLAdapter()):
        with dspy.context(adapter=Outer(inner)):
            found.append(adapter_identity())
    assert found[0] != found[1]


def test_an_lm_is_described_with_its_temperature() -> None:
    lm = dspy.LM("openai/small", api_base="http://host/v1", temperature=0.0)
    said = describe(lm_identity(lm) or {})
    assert said.startswith("openai/small, ")
    assert "temperature 0.0" in said
    assert "api_base http://host/v1" in said
    assert describe(lm_identity(dspy.LM("openai/small")) or {}) == "openai/small, the temperature that is its default"
    assert describe(lm_identity(extractive_lm()) or {}) == "extractive/reader = floor (extractive reader, no LM)"
