"""Asking for names and facts: every reply is kept, and what goes wrong is said."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMAuthError, LMServerError
from support.graph_passages import PASSAGES, TRIPLES, Knowing
from support.scripted import Function, Reply, engine_lm, scripted

from retrieval import Passage, RetrievalError
from retrieval.hipporag.openie import Found, OpenIE, Replies, Unfinished, extract_all, identity
from retrieval.indexes import CORPUS, Corpus, LineWriter, passage_line
from signatures.adapters import XMLAdapter
from signatures.extract import ExtractTriples, NameEntities

ADA = PASSAGES[0]


def corpus_of(passages: list[Passage], directory: Path) -> Corpus:
    with LineWriter(directory / CORPUS) as file:
        for passage in passages:
            file.write(passage_line(passage))
    return Corpus(directory)


def ask_all(lm: dspy.LM, directory: Path, max_calls: int | None = None, at_once: int = 3) -> list[Found]:
    corpus = corpus_of(PASSAGES, directory)
    with Replies(directory / "replies.jsonl").writing() as replies:
        return extract_all(
            corpus,
            OpenIE(lm, replies),
            at_once=at_once,
            calls_before=replies.calls,
            max_calls=max_calls,
            progress=lambda rows, **_: rows,
        )


def test_the_names_are_asked_for_and_then_the_facts_with_the_names(tmp_path: Path) -> None:
    script = (
        Reply(NameEntities, {"entities": '["Ada Quill", "Lund\\nof old"]'}),
        Reply(ExtractTriples, {"triples": '[["Ada Quill", "was born in", "Lund"]]'}),
    )
    with scripted(*script) as asked, Replies(tmp_path / "replies.jsonl").writing() as replies:
        found = OpenIE(dspy.settings.lm, replies).extract(ADA)
    assert found == Found(["Ada Quill", "Lund\nof old"], [["Ada Quill", "was born in", "Lund"]])
    assert [prompt.partition("\n\nRespond")[0] for _, prompt in asked.prompts] == [
        "[[ ## passage ## ]]\nAda Quill\nAda Quill was born in Lund and found the planet Zorx.",
        "[[ ## passage ## ]]\nAda Quill\nAda Quill was born in Lund and found the planet Zorx.\n\n"
        "[[ ## entities ## ]]\nAda Quill\nLund of old",
    ]


def test_every_passage_is_asked_about_and_every_reply_kept(tmp_path: Path, knowing: Knowing) -> None:
    found = ask_all(knowing.lm, tmp_path)
    assert [one.triples for one in found] == list(TRIPLES.values())
    assert sorted(knowing.asked) == sorted((act, p.id) for p in PASSAGES for act in ("entities", "triples"))
    lines = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == sorted([p.id for p in PASSAGES] * 2)
    assert all(line["calls"] == 1 for line in lines)
    knowing.asked.clear()
    assert ask_all(knowing.lm, tmp_path) == found
    assert knowing.asked == []


def test_the_limit_of_calls_holds_over_the_sittings(tmp_path: Path, knowing: Knowing) -> None:
    with pytest.raises(Unfinished, match="limit of 3 LM calls is reached, with 1 of 5 passages done"):
        ask_all(knowing.lm, tmp_path, max_calls=3, at_once=1)
    assert len(knowing.asked) == 3
    with pytest.raises(Unfinished, match="limit of 4 LM calls"):
        ask_all(knowing.lm, tmp_path, max_calls=4)
    assert len(knowing.asked) == 4
    assert [one.triples for one in ask_all(knowing.lm, tmp_path, max_calls=10)] == list(TRIPLES.values())
    assert len(knowing.asked) == 10


def test_a_reply_that_cannot_be_read_is_none_and_counts_both_its_calls(tmp_path: Path, knowing: Knowing) -> None:
    knowing.entities["ada"] = knowing.triples["zorx"] = "{}"
    ada, zorx, *_ = ask_all(knowing.lm, tmp_path)
    assert ada == Found(None, TRIPLES["ada"])
    assert zorx == Found(["Zorx"], None)
    assert len(knowing.asked) == 12
    with Replies(tmp_path / "replies.jsonl").writing() as replies:
        assert replies.calls == 12
    knowing.asked.clear()
    ask_all(knowing.lm, tmp_path)
    assert knowing.asked == []


def test_the_replies_of_another_lm_or_adapter_are_not_used(tmp_path: Path, knowing: Knowing) -> None:
    ask_all(knowing.lm, tmp_path)
    ask_all(knowing.lm.copy(temperature=0.3), tmp_path)
    assert len(knowing.asked) == 20
    with dspy.context(adapter=XMLAdapter()):
        ask_all(knowing.lm, tmp_path)
    assert len(knowing.asked) == 30
    ask_all(knowing.lm.copy(num_retries=1), tmp_path)
    assert len(knowing.asked) == 30


def test_an_identity_holds_no_secret() -> None:
    secret = {"api_key": "sk-1", "extra_headers": {"a": "b"}, "extra_body": {"access_token": "sk-2"}}
    lm = dspy.LM("openai/gpt-4o-mini", temperature=0.0, api_base="https://me:pw@host/v1?key=x", **secret)
    assert identity(lm) == {
        "model": "openai/gpt-4o-mini",
        "temperature": 0,
        "api_base": "https://***@host/v1?***",
        "extra_body": {},
    }


class Failing:
    """An engine that fails for some passages."""

    def __init__(self, knowing: Knowing, error: Exception, *ids: str) -> None:
        self._function = Function(knowing.reply)
        self._error, self._texts = error, [p.text for p in PASSAGES if p.id in ids]

    def complete(self, request: Any) -> Any:
        if any(text in (request.messages[-1].text or "") for text in self._texts):
            raise self._error
        return self._function.complete(request)


def test_passages_that_the_server_failed_are_counted_and_asked_about_again(tmp_path: Path, knowing: Knowing) -> None:
    lm = engine_lm(Failing(knowing, LMServerError("503\nat https://me:pw@host"), "ada", "bo"))
    with pytest.raises(Unfinished, match=r"did not answer for 2 of 5 passages \(LMServerError: .*503") as error:
        ask_all(lm, tmp_path)
    assert "pw" not in str(error.value)
    assert len(knowing.asked) == 6
    knowing.asked.clear()
    ask_all(knowing.lm, tmp_path)
    assert {id for _, id in knowing.asked} == {"ada", "bo"}


def test_a_server_that_never_answers_is_left_alone(
    tmp_path: Path, knowing: Knowing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.hipporag.openie._HOPELESS", 2)
    lm = engine_lm(Failing(knowing, LMAuthError("no key"), *TRIPLES))
    with pytest.raises(Unfinished, match="did not answer for 2 of 5 passages"):
        ask_all(lm, tmp_path, at_once=1)


def test_what_a_killed_process_left_of_a_line_is_cut_off(tmp_path: Path, knowing: Knowing) -> None:
    ask_all(knowing.lm, tmp_path)
    whole = (tmp_path / "replies.jsonl").read_bytes()
    (tmp_path / "replies.jsonl").write_bytes(whole[:-9])
    knowing.asked.clear()
    ask_all(knowing.lm, tmp_path)
    assert len(knowing.asked) == 1
    assert sorted((tmp_path / "replies.jsonl").read_bytes().splitlines()) == sorted(whole.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        *["nonsense", '{"key": 1}', "[]", "[" * 100_000, '{"key": [], "id": "a", "found": [], "calls": 1}'],
        '{"key": "a", "id": "a", "found": [1], "calls": 1}',
        '{"key": "a", "id": "a", "found": [["a", "b"]], "calls": 1}',
        '{"key": "a", "id": "a", "found": [], "calls": "1"}',
    ],
)
def test_a_damaged_file_is_said(line: str, tmp_path: Path) -> None:
    (tmp_path / "replies.jsonl").write_text(line + "\n")
    with pytest.raises(RetrievalError, match="is damaged"):
        Replies(tmp_path / "replies.jsonl")


def test_lone_surrogates_of_a_reply_are_kept(tmp_path: Path) -> None:
    found = [["\ud800", "is in", "Lund"]]
    with Replies(tmp_path / "replies.jsonl").writing() as replies:
        replies.add("key", "ada", found, 1)
    assert Replies(tmp_path / "replies.jsonl")["key"] == found


def test_an_interrupt_finishes_the_calls_under_way(tmp_path: Path, knowing: Knowing) -> None:
    def interrupted(system: str, user: str) -> str:
        if len(knowing.asked) == 3:
            raise KeyboardInterrupt
        return knowing.reply(system, user)

    with pytest.raises(KeyboardInterrupt):
        ask_all(engine_lm(Function(interrupted)), tmp_path, at_once=1)
    assert len((tmp_path / "replies.jsonl").read_text().splitlines()) == 3
