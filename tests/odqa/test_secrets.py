import pytest

from odqa.secrets import keep_secret, names_a_secret, public


def test_secrets_are_the_values_of_variables_with_telling_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_TOKEN", "hf_12345678")
    monkeypatch.setenv("SHORT_TOKEN", "port")  # too short: it would blot out ordinary words
    monkeypatch.setenv("A_PLACE", "somewhere")
    assert public("hf_12345678 at port of somewhere") == "*** at port of somewhere"


def test_what_was_given_as_an_argument_is_secret_too() -> None:
    keep_secret(
        {"api_key": "sk-given-0", "extra_headers": {"X": "Bearer sk-given-1"}, "body": [{"auth": "sk-given-2"}]}
    )
    keep_secret({"api_key": "none", "user": "somebody"})
    said = public("sk-given-0, Bearer sk-given-1, Token sk-given-1, sk-given-2, none, somebody")
    assert said == "***, ***, Token ***, ***, none, somebody"


def test_secrets_in_urls() -> None:
    assert public("there is no index in http:/me:secret@host/wiki") == "there is no index in http:/***@host/wiki"
    assert public("colbertv2:http://me:pw@host:1/a?k=1 is") == "colbertv2:http://***@host:1/a?*** is"
    named = "qdrant:http://host:6333?collection=wiki-17&search=dense"
    assert public(f"{named} is") == f"{named} is"
    assert public(f"{named}&api_key=k") == "qdrant:http://host:6333?***"
    assert public("mail me@host, a/b?c: http://host/x") == "mail me@host, a/b?c: http://host/x"
    assert public("http://me:pw@host/v1: (me:pw@host:80)") == "http://***@host/v1: (***@host:80)"
    assert public("http://a@host and data@host, http://@host") == "http://***@host and data@host, http://@host"
    assert public("bm25:wiki@v2") == "bm25:wiki@v2"


@pytest.mark.parametrize(
    ("name", "secret"),
    [("api_key", True), ("Authorization", True), ("extra_headers", True), ("hub_token", True), ("max_tokens", False)],
)
def test_names_of_arguments_tell_secrets(name: str, secret: bool) -> None:
    assert names_a_secret(name) is secret


def test_no_secret_is_left_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    value = {"top": 1, "none": None, "body": [{"api_key": "x", "user": "sk-0123456789"}], "at": "http://me:pw@host"}
    assert public(value) == {"top": 1, "body": [{"user": "***"}], "at": "http://***@host"}
