import dspy
import pytest

from eval.runs.asking import draws, how_asked
from lms.engine import PromptEngine
from lms.extractive import extractive_lm
from lms.oracle import Gold, oracle_lm
from programs.instruments.adapters import load_adapter


def test_whatever_changes_replies_is_known_and_no_secret_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "of-the-environment")
    lm = dspy.LM(
        "openai/small",
        api_base="http://me:pw@host/v1?token=abc",
        api_key="sk-1",
        extra_headers={"Authorization": "x"},
        extra_body={"auth_token": "abc", "top_k": 5, "stop": ["http://me:pw@host/", None]},
        user="of-the-environment",
        temperature=0.7,
        max_tokens=50,
        rollout_id=3,
        use_developer_role=True,
    )
    asking = how_asked(lm)
    assert (asking.lm, asking.api_base, asking.temperature, asking.max_tokens) == (
        "openai/small",
        "http://***@host/v1?***",
        0.7,
        50,
    )
    assert asking.lm_args == {
        "extra_body": {"top_k": 5, "stop": ["http://***@host/", None]},
        "user": "***",
        "use_developer_role": True,
    }
    for change in ({"temperature": 0.0}, {"api_base": "http://other/v1"}, {"seed": 1}, {"max_tokens": 51}):
        assert how_asked(lm.copy(**change)) != asking
    assert how_asked(lm.copy(api_key="sk-2", cache=False, rollout_id=4, timeout=5)) == asking


@pytest.mark.parametrize("lm", [extractive_lm(), oracle_lm([Gold("q", ("a",))])])
def test_an_engine_without_settings_is_its_model(lm: dspy.LM) -> None:
    asking = how_asked(lm)
    assert (asking.lm, asking.temperature, asking.max_tokens, asking.lm_args) == (lm.model, None, None, {})


def test_an_engine_says_what_it_is_run_with_but_not_the_model_again() -> None:
    class Engine(PromptEngine):
        def reply(self, system: str, user: str) -> str:
            return ""

        def dump_state(self) -> dict[str, object]:
            return {"spec": "gguf:it", "context": 4096, "threads": None}

    assert how_asked(dspy.LM("gguf:it", engine=Engine())).lm_args == {"context": 4096}


def test_the_adapter_and_its_schemas_count() -> None:
    found = []
    for adapter in (None, load_adapter(), load_adapter("json"), load_adapter("chat", "off"), dspy.XMLAdapter()):
        with dspy.context(adapter=adapter):
            asking = how_asked(extractive_lm())
            found.append((asking.adapter, asking.structured))
    assert found == [("chat", None), ("chat", "auto"), ("json", "auto"), ("chat", "off"), ("xml", None)]


def test_an_lm_is_described_with_its_temperature() -> None:
    said = str(how_asked(dspy.LM("openai/small", api_base="http://host/v1", temperature=0.0, top_p=0.5)))
    assert said == "openai/small, temperature 0.0, api_base http://host/v1, top_p 0.5"
    assert str(how_asked(dspy.LM("openai/small"))) == "openai/small, the temperature that is its default"
    assert str(how_asked(extractive_lm())) == "extractive/reader = floor (extractive reader, no LM)"


def test_another_seed_draws_other_replies_above_temperature_0_only() -> None:
    gold = [Gold("Who?", ("Ada",))]
    local = dspy.LM("gguf:model", engine=extractive_lm().engine)
    for lm in local, dspy.LM("openai/x", temperature=0), extractive_lm(), oracle_lm(gold):
        assert not draws(lm)
    for lm in local.copy(temperature=0.5), dspy.LM("openai/x"), oracle_lm(gold, error_rate=0.5):
        assert draws(lm)
