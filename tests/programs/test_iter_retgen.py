"""ITER-RETGEN over two, three and one turns; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Reply, scripted

from programs.blendfilter import BlendFilter
from programs.instruments.cost import Cost, measured
from programs.iter_retgen import IterRetGen
from retrieval import Memory, Passage
from signatures.answer import AnswerShort, AnswerYesNo

QUESTION = "Where was the finder of the planet Zorx born?"
TABLE = {
    "zorx": "Zorx is a planet found in 2190 by Ada Quill.",
    "zorxes": "The Zorxes were a band of bakers.",
    "ada": "Ada Quill, an astronomer, comes from a village near Lund.",
    "bo": "Bo Quill was a baker from Malmö.",
    "village": "Quillby is a village near Lund.",
}
FIRST = Reply(AnswerShort, {"reasoning": "Ada Quill found it.", "answer": "unknown"}, when="[1] Zorx is a planet")
SECOND = Reply(AnswerShort, {"reasoning": "She is from a village.", "answer": "Quillby"}, when="[1] Ada Quill, an")
THIRD = Reply(AnswerShort, {"reasoning": "It is Quillby.", "answer": " Quillby "}, when="[1] Quillby is")
QUERIES = [
    QUESTION,
    f"Ada Quill found it. unknown {QUESTION}",
    f"She is from a village. Quillby {QUESTION}",
]
FOUND = [["zorx", "zorxes"], ["ada", "zorx", "bo"], ["village", "ada"]]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    retriever = Memory((Passage(*row) for row in TABLE.items()), dict(zip(QUERIES, FOUND, strict=True)))
    script = [Reply(r.to, r.fields, r.when) for r in replies]
    with scripted(*script) as made, measured() as cost:
        seen = IterRetGen(retriever, **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in made.prompts]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


@pytest.mark.parametrize(
    ("turns", "script", "everything", "answer", "reasoning"),
    [
        (1, [FIRST], ["zorx", "zorxes"], "unknown", "Ada Quill found it."),
        (2, [FIRST, SECOND], ["zorx", "zorxes", "ada", "bo"], "Quillby", "She is from a village."),
        (3, [FIRST, SECOND, THIRD], ["zorx", "zorxes", "ada", "bo", "village"], "Quillby", "It is Quillby."),
    ],
)
def test_each_turn_searches_with_the_last_answer_and_reads_what_that_finds(
    turns: int, script: list[Reply], everything: list[str], answer: str, reasoning: str
) -> None:
    seen, cost, prompts = run(*script, turns=turns)
    assert seen.queries == QUERIES[:turns]
    assert seen.iterations == [{"retrieved": ids_, "kept": ids_, "shown": ids_} for ids_ in FOUND[:turns]]
    assert ids(seen.passages) == everything
    # The passages of a turn replace those of the turn before.
    assert ids(seen.evidence) == FOUND[turns - 1]
    for prompt, found in zip(prompts, FOUND, strict=False):
        context = "\n".join(f"[{n}] {TABLE[id_]}" for n, id_ in enumerate(found, 1))
        assert prompt == {"context": context, "question": QUESTION}
    assert (seen.answer, seen.reasoning) == (answer, reasoning)
    # The promise of the class docstring: T LM calls and T searches.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (turns, turns, 0)


def test_two_turns_are_the_default() -> None:
    assert run(FIRST, SECOND)[0].queries == QUERIES[:2]


def test_five_passages_are_the_default() -> None:
    retriever = Memory((Passage(id_, "Zorx.") for id_ in "1234567"), {QUESTION: [*"1234567"]})
    with scripted(Reply(AnswerShort, {"reasoning": "", "answer": "Lund"})):
        seen = IterRetGen(retriever, turns=1)(question=QUESTION)
    assert ids(seen.evidence) == [*"12345"]


def test_it_is_blendfilters_external_augmentation_alone_without_a_filter() -> None:
    same, asked = [], []
    for program in (
        lambda retriever: IterRetGen(retriever, turns=3),
        lambda retriever: BlendFilter(retriever, original=False, internal=False, filter="off", hops=2),
    ):
        retriever = Memory((Passage(*row) for row in TABLE.items()), dict(zip(QUERIES, FOUND, strict=True)))
        with scripted(*[Reply(r.to, r.fields, r.when) for r in (FIRST, SECOND, THIRD)]) as script:
            same.append(program(retriever)(question=QUESTION))
        asked.append(script.prompts)
    for name in ("answer", "queries", "passages", "evidence", "reasoning"):
        assert same[0][name] == same[1][name], name
    assert asked[0] == asked[1]


def test_yes_no_style_puts_the_decision_into_the_query() -> None:
    replies = [Reply(AnswerYesNo, {"reasoning": "She is.", "answer": said}) for said in ("no", "yes")]
    seen, cost, _ = run(*replies, style="yesno")
    assert seen.queries == [QUESTION, f"She is. no {QUESTION}"]
    assert seen.answer == "yes"
    assert cost.lm_calls == 2


def test_an_unparsable_turn_leaves_the_question_as_the_query_and_is_counted() -> None:
    first = Reply(AnswerShort, {"reasoning": "Ada Quill found it.", "answer": "Lund"}, when="[1] Zorx is a planet")
    seen, cost, _ = run(*[Reply(AnswerShort, "Ada Quill.")] * 2, first)
    assert seen.queries == [QUESTION, QUESTION]
    assert seen.answer == "Lund"
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 3)


def test_a_draft_without_end_is_cut_before_it_is_searched_with() -> None:
    endless = Reply(AnswerShort, {"reasoning": "Quill " * 20_000, "answer": "Lund"}, when="[1] Zorx is a planet")
    seen, _, _ = run(endless, Reply(AnswerShort, {"reasoning": "", "answer": "Lund"}))
    assert len(seen.queries[1]) < 4100
    assert seen.queries[1].endswith(f" Lund {QUESTION}")
