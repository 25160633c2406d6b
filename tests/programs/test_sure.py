"""SuRe: which candidate wins by validity and ranking, and replies that are no use; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.sure import SuRe
from retrieval import Memory, Passage
from signatures.answer import ProposeTwoAnswers
from signatures.verify import CompareSummaries, SummarizeForCandidate, SupportsCandidate

QUESTION = "Where was the finder of the planet Zorx born?"
PASSAGES = [
    Passage("zorx", "Zorx is a planet found in 2190 by Ada Quill.", "Zorx"),
    Passage("ada", "Ada Quill was born in Lund.", "Ada Quill"),
    *(Passage(f"bo{n}", f"Bo Quill, note {n}, is a baker from Malmö.", "Bo Quill") for n in range(10)),
]
RETRIEVER = Memory(PASSAGES, {QUESTION: [passage.id for passage in PASSAGES]})
CONTEXT = "\n".join(f"[{n}] {p.title} | {p.text}" for n, p in enumerate(PASSAGES[:10], 1))
FOR_MALMO, FOR_LUND = "A Quill is from Malmö.", "Ada Quill found Zorx; she was born in Lund."


def proposed(answer: str = " Malmö ", alternative: str = "Lund") -> Reply:
    return Reply(ProposeTwoAnswers, {"answer": answer, "alternative": alternative})


def supported(first: str, second: str) -> list[Reply]:
    return [
        Reply(SupportsCandidate, {"supported": first}, when=FOR_MALMO),
        Reply(SupportsCandidate, {"supported": second}, when=FOR_LUND),
    ]


def compared(forth: str, back: str) -> list[Reply]:
    return [
        Reply(CompareSummaries, {"better": forth}, when=f"[[ ## first ## ]]\n{FOR_MALMO}"),
        Reply(CompareSummaries, {"better": back}, when=f"[[ ## first ## ]]\n{FOR_LUND}"),
    ]


SUMMARIES = [
    Reply(SummarizeForCandidate, {"summary": f" {FOR_MALMO}\n"}, when="[[ ## candidate ## ]]\nMalmö"),
    Reply(SummarizeForCandidate, {"summary": FOR_LUND}, when="[[ ## candidate ## ]]\nLund"),
]
CASE = [proposed(), *SUMMARIES, *supported("no", "yes"), *compared("second", "first")]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    script = [Reply(r.to, r.fields, r.when, r.delay) for r in replies]
    with scripted(*script) as made, measured() as cost:
        seen = SuRe(RETRIEVER, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts]


def test_the_candidate_with_the_better_summary_wins() -> None:
    seen, cost, prompts = run(*CASE)
    assert dict(seen.items()) == {
        "answer": "Lund",
        "queries": [QUESTION],
        "passages": PASSAGES[:10],
        "evidence": [*PASSAGES[:10], Passage("lm:summary-1", ""), Passage("lm:summary-2", "")],
        "candidates": ["Malmö", "Lund"],
        "valid": [False, True],
        "rank": [0.0, 1.0],
    }
    assert [(p.title, p.text) for p in seen.evidence[10:]] == [("Malmö", FOR_MALMO), ("Lund", FOR_LUND)]
    # The promise of the class docstring: 7 LM calls and 1 search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (7, 1, 0)
    assert prompts[0] == {"context": CONTEXT, "question": QUESTION}
    asked = {"context": CONTEXT, "question": QUESTION}
    for prompt in (asked | {"candidate": "Malmö", "rival": "Lund"}, asked | {"candidate": "Lund", "rival": "Malmö"}):
        assert prompt in prompts[1:3]
    # What follows goes by the summaries alone.
    for prompt in (
        {"question": QUESTION, "candidate": "Malmö", "summary": FOR_MALMO},
        {"question": QUESTION, "candidate": "Lund", "summary": FOR_LUND},
        {"question": QUESTION, "first": FOR_MALMO, "second": FOR_LUND},
        {"question": QUESTION, "first": FOR_LUND, "second": FOR_MALMO},
    ):
        assert prompt in prompts[3:]


@pytest.mark.parametrize(
    ("valid", "better", "rank", "answer"),
    [
        (("yes", "yes"), ("first", "second"), [1.0, 0.0], "Malmö"),
        (("yes", "yes"), ("second", "first"), [0.0, 1.0], "Lund"),
        (("no", "yes"), ("first", "first"), [0.5, 0.5], "Lund"),
        (("yes", "yes"), ("first", "first"), [0.5, 0.5], "Malmö"),
        # Validity against ranking is a tie, and the first candidate wins.
        (("no", "yes"), ("first", "second"), [1.0, 0.0], "Malmö"),
        (("yes", "no"), ("second", "first"), [0.0, 1.0], "Malmö"),
        # What cannot be parsed supports nothing and decides nothing.
        (("yes", "?"), ("second", "?"), [0.0, 1.0], "Malmö"),
        (("yes", "yes"), ("second", "?"), [0.0, 1.0], "Lund"),
        (("yes", "yes"), ("?", "?"), [0.5, 0.5], "Malmö"),
    ],
)
def test_validity_and_ranking_add_up(
    valid: tuple[str, str], better: tuple[str, str], rank: list[float], answer: str
) -> None:
    judged = [*supported(*valid), *compared(*better)]
    again = [reply for reply in judged if "?" in dict(reply.fields).values()]
    seen, cost, _ = run(proposed(), *SUMMARIES, *judged, *again)
    assert (seen.rank, seen.answer) == (rank, answer)
    assert seen.valid == [flag == "yes" for flag in valid]
    assert cost.unparsable == len(again)


@pytest.mark.parametrize(
    ("answer", "alternative", "candidates"),
    [(" Lund ", '"lund".', ["Lund"]), ("", "Lund", ["Lund"]), ("Lund", " \n", ["Lund"]), (" ", "", [])],
)
def test_a_single_candidate_is_the_answer(answer: str, alternative: str, candidates: list[str]) -> None:
    seen, cost, _ = run(proposed(answer, alternative))
    assert (seen.candidates, seen.valid, seen.rank) == (candidates, [], [])
    assert seen.answer == "".join(candidates)
    assert seen.evidence == seen.passages == PASSAGES[:10]
    assert cost.lm_calls == 1


def test_unparsable_candidates_give_an_empty_answer_and_are_counted() -> None:
    seen, cost, _ = run(*[Reply(ProposeTwoAnswers, "Lund or Malmö.")] * 2)
    assert (seen.answer, seen.candidates) == ("", [])
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 2)


def test_an_unparsable_summary_is_empty() -> None:
    broken = Reply(SummarizeForCandidate, UNPARSABLE, when="[[ ## candidate ## ]]\nMalmö")
    judged = [
        Reply(SupportsCandidate, {"supported": "no"}, when="[[ ## candidate ## ]]\nMalmö"),
        Reply(SupportsCandidate, {"supported": "yes"}, when=FOR_LUND),
        Reply(CompareSummaries, {"better": "second"}, when="[[ ## first ## ]]\n\n"),
        Reply(CompareSummaries, {"better": "first"}, when=f"[[ ## first ## ]]\n{FOR_LUND}"),
    ]
    seen, cost, _ = run(proposed(), broken, broken, SUMMARIES[1], *judged)
    assert seen.answer == "Lund"
    assert [passage.text for passage in seen.evidence[10:]] == ["", FOR_LUND]
    assert cost.unparsable == 1
