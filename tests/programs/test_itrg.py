"""ITRG over one, two and three turns with either strategy; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.itrg import ITRG
from retrieval import Memory, Passage
from signatures.answer import AnswerShortDirectly
from signatures.write import UpdateDocument, WriteDocument

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, comes from a village near Lund.",
    "village": "Quillby is a village near Lund.",
}
DOCUMENTS = ["Ada Quill found Zorx.", "Ada Quill found Zorx. She is from a village.", "It is Quillby."]
QUERIES = [QUESTION, *(f"{QUESTION} {document}" for document in DOCUMENTS)]
FOUND = [["zorx", "zorxes"], ["ada", "zorx"], ["village", "zorxes"], ["zorxes", "village"]]


def lines(*ids: str) -> str:
    return "\n".join(f"[{n}] {TABLE[id_]}" for n, id_ in enumerate(ids, 1))


def document(n: int, to: type[dspy.Signature] = WriteDocument) -> Reply:
    """The document of the n-th turn, to whoever was shown what this turn found first."""
    return Reply(to, {"document": f" {DOCUMENTS[n]}\n"}, when=f"[1] {TABLE[FOUND[n][0]]}")


def answer(text: str = " Quillby ") -> Reply:
    return Reply(AnswerShortDirectly, {"answer": text})


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), dict(zip(QUERIES, FOUND, strict=True)))
    with scripted(*replies) as made, measured() as cost:
        program = ITRG(retriever, **settings)
        seen = program(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts if "JSON object" not in user]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_refresh_writes_each_document_from_what_the_last_one_found(turns: int) -> None:
    seen, cost, prompts = run(*map(document, range(turns)), answer(), turns=turns)
    assert seen.queries == QUERIES[:turns]
    assert seen.found == FOUND[:turns]
    assert seen.documents == DOCUMENTS[:turns]
    assert {passage.id for passage in seen.passages} == {id_ for ids in FOUND[:turns] for id_ in ids}
    assert [(p.id, p.text) for p in seen.evidence] == [("lm:document", DOCUMENTS[turns - 1])]
    assert seen.answer == "Quillby"
    # All that a turn found is shown, and no earlier document; the answer comes from the last one alone.
    assert prompts == [
        *({"context": lines(*ids), "question": QUESTION} for ids in FOUND[:turns]),
        {"context": f"[1] {DOCUMENTS[turns - 1]}", "question": QUESTION},
    ]
    # The promise of the class docstring: T + 1 LM calls and T searches.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (turns + 1, turns, 0)


def test_refine_goes_on_with_the_document_and_shows_it_what_the_last_turn_did_not_find() -> None:
    replies = [document(n, UpdateDocument) for n in range(3)]
    seen, cost, prompts = run(*replies, answer(), strategy="refine")
    assert prompts == [
        {"draft": "", "context": lines("zorx", "zorxes"), "question": QUESTION},
        {"draft": DOCUMENTS[0], "context": lines("ada"), "question": QUESTION},
        {"draft": DOCUMENTS[1], "context": lines("village", "zorxes"), "question": QUESTION},
        {"context": f"[1] {DOCUMENTS[2]}", "question": QUESTION},
    ]
    # The fourth search finds what the third one found, and ends it before the fifth turn.
    assert (seen.queries, seen.found) == (QUERIES, FOUND)
    assert seen.documents == DOCUMENTS
    assert {passage.id for passage in seen.passages} == set(TABLE)
    assert (cost.lm_calls, cost.searches) == (4, 4)


def test_refine_writes_from_memory_where_the_first_search_finds_nothing() -> None:
    with scripted(Reply(UpdateDocument, {"document": "It is Quillby."}), answer()) as made:
        seen = ITRG(Memory([]), strategy="refine")(question=QUESTION)
    assert inputs(made.prompts[0][1]) == {"draft": "", "context": "", "question": QUESTION}
    assert (seen.documents, seen.answer) == (["It is Quillby."], "Quillby")
    assert seen.queries == [QUESTION, f"{QUESTION} It is Quillby."]


def test_refresh_and_five_turns_are_the_defaults() -> None:
    with scripted(*[Reply(WriteDocument, {"document": "It is Quillby."}) for _ in range(5)], answer()):
        seen = ITRG(Memory([]))(question=QUESTION)
    assert seen.queries == [QUESTION, *[f"{QUESTION} It is Quillby."] * 4]
    assert seen.passages == []


@pytest.mark.parametrize("lost", [UNPARSABLE, {"document": " \n"}])
def test_a_lost_document_leaves_the_one_before(lost: str | dict[str, str]) -> None:
    broken = [Reply(WriteDocument, lost, when=f"[1] {TABLE['ada']}") for _ in range(1 + isinstance(lost, str))]
    seen, cost, _ = run(document(0), *broken, answer(), turns=2)
    assert seen.documents == [DOCUMENTS[0]] * 2
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == ((1, 4) if isinstance(lost, str) else (0, 3))


def test_without_any_document_the_question_is_answered_from_nothing() -> None:
    seen, cost, prompts = run(*[Reply(WriteDocument, UNPARSABLE)] * 4, answer(), turns=2)
    assert seen.queries == [QUESTION] * 2
    assert prompts[-1] == {"context": "", "question": QUESTION}
    assert (seen.evidence, seen.answer, seen.documents) == ([], "Quillby", ["", ""])
    assert cost.unparsable == 2


def test_a_document_without_end_is_cut_before_it_is_searched_with() -> None:
    endless = [Reply(WriteDocument, {"document": "Quill " * 20_000}) for _ in range(2)]
    seen, _, _ = run(*endless, answer(), turns=2)
    assert len(seen.queries[1]) < 4100
