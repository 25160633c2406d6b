"""Thresholds by reranker and kind of questions, and passages that an LM shortens."""

import threading
from dataclasses import asdict

import dspy
import pytest
from support.patience import PATIENCE
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Function, Reply, engine_lm, render, scripted

from programs.steps.filtering import Match, shorten, threshold_for
from retrieval import Passage, UsageError
from signatures.extract import SummarizePassage

MATCHES = [Match(Passage(name, f"{name} is long.", name.title(), 1.0), f"query {name}") for name in "abcde"]


def summary(name: str, text: str) -> Reply:
    return Reply(SummarizePassage, {"summary": text}, when=f"{name} is long.")


def shortened(*replies: Reply, k: int) -> tuple[list[tuple[str, str]], int, list[dict[str, str]]]:
    """Ids and texts that are kept, how many were looked at, and the inputs of each call."""
    with scripted(*replies) as script:
        kept, looked_at = shorten(dspy.Predict(SummarizePassage), MATCHES, k)
    return [(match.passage.id, match.passage.text) for match in kept], looked_at, [inputs(u) for _, u in script.prompts]


@pytest.mark.parametrize(
    ("reranker", "preset", "threshold"),
    [("lexical", "odqa", 2.0), ("cross-encoder:some/model", "multihop", 3.0), ("cross-encoder", "commonsense", 0.0)],
)
def test_a_threshold_goes_by_the_kind_of_reranker_and_of_questions(
    reranker: str, preset: str, threshold: float
) -> None:
    assert threshold_for(reranker, preset) == threshold


def test_a_reranker_without_a_known_threshold_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"upr.*threshold"):
        threshold_for("upr:some/model", "odqa")


def test_each_passage_is_shortened_towards_its_own_query_and_keeps_all_but_its_text() -> None:
    with scripted(summary("a", " A\nis short. ")) as script:
        (match,), looked_at = shorten(dspy.Predict(SummarizePassage), MATCHES, 1)
    assert [inputs(user) for _, user in script.prompts] == [{"passage": "[1] A | a is long.", "question": "query a"}]
    assert asdict(match.passage) == {"id": "a", "text": "A is short.", "title": "A", "score": 1.0}
    assert match.query == "query a"
    assert looked_at == 1


def test_no_more_are_looked_at_than_it_takes() -> None:
    replies = [summary("a", "irrelevant"), summary("b", "B."), summary("c", '"Irrelevant."'), summary("d", "D.")]
    kept, looked_at, prompts = shortened(*replies, k=2)
    assert kept == [("b", "B."), ("d", "D.")]
    # Two, and as many again as were irrelevant, each time.
    assert (looked_at, len(prompts)) == (4, 4)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("**Irrelevant**", False),
        ("The passage is irrelevant to the question.", False),
        ("Summary: this passage is not relevant.", False),
        ("Zorx is a planet; of its moons the passage says what is irrelevant here.", True),
        ("Irrelevance theory is a theory.", True),
        ("Irrelevant. The passage is about another planet.", False),
        ("The first half is irrelevant, but Zorx lies near Lund.", True),
        ("Not relevant to its moons. However, Zorx lies near Lund.", True),
    ],
)
def test_the_word_irrelevant_may_stand_in_a_sentence(said: str, kept: bool) -> None:
    replies = [summary("a", said), *[summary("b", "B.")] * (not kept)]
    assert shortened(*replies, k=1)[0] == [("a", said) if kept else ("b", "B.")]


def test_where_too_few_are_relevant_all_are_looked_at() -> None:
    replies = [summary("a", "A."), *(summary(name, "irrelevant") for name in "bcd"), summary("e", " ")]
    kept, looked_at, _ = shortened(*replies, k=3)
    assert (kept, looked_at) == ([("a", "A.")], 5)


def test_a_reply_that_cannot_be_parsed_leaves_the_passage_whole() -> None:
    kept, _, _ = shortened(*[Reply(SummarizePassage, UNPARSABLE)] * 2, k=1)
    assert kept == [("a", "a is long.")]


def test_k_passages_are_shortened_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE)

    def reply(system: str, user: str) -> str:
        meeting.wait()
        return render({"summary": "Short."})

    with dspy.context(lm=engine_lm(Function(reply))):
        kept, looked_at = shorten(dspy.Predict(SummarizePassage), MATCHES, 3)
    assert ([match.passage.id for match in kept], looked_at) == (["a", "b", "c"], 3)
