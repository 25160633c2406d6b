"""ALCE's modes: what is read, which of several replies is taken, and replies that are no use."""

from typing import Any, Literal

import dspy
import pytest
from support.citation_replies import citing, numbered
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Function, Reply, engine_lm, render, scripted

from programs.alce import ALCE
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage, Retriever
from signatures.answer import AnswerCiting
from signatures.extract import ExtractSnippet, SummarizePassage

QUESTION = "Where was Ada Quill, finder of the planet Zorx, born?"
BREAD = Passage("bread", "The Zorxes were a band of bakers.", "Zorxes")
ZORX = Passage("zorx", "Zorx is a planet found by Ada Quill. It is small.", "Zorx")
ADA = Passage("ada", "Ada Quill was born in Lund. She liked bread.", "Ada Quill")
RANKED = [f"{passage.title} | {passage.text}" for passage in (ZORX, ADA, BREAD)]  # four, three, none of the words
FOUND, BIRTH = "Ada Quill found Zorx.", "Ada Quill was born in Lund."


def run(*replies: Reply, retriever: Retriever | None = None, **options: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    with scripted(*replies) as script, measured() as cost:
        seen = ALCE(retriever or Memory([BREAD, ZORX, ADA]), **options)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


def test_vanilla_reads_the_best_passages_whole() -> None:
    seen, cost, prompts = run(citing(AnswerCiting, (FOUND, [1]), (BIRTH, [2, 9]), answer=" Lund "))
    assert prompts == [{"context": numbered(*RANKED), "question": QUESTION}]
    assert (seen.answer, seen.queries, ids(seen.evidence)) == ("Lund", [QUESTION], ["zorx", "ada", "bread"])
    assert seen.known_facts == [{"fact": FOUND, "passages": ["zorx"]}, {"fact": BIRTH, "passages": ["ada"]}]
    assert seen.samples == [{"answer": "Lund", "citation_recall": None}]
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (1, 1, 0)


def test_k_passages_are_read_of_the_m_that_are_found() -> None:
    seen, _, prompts = run(citing(AnswerCiting, answer="Lund"), k=2)
    assert prompts[0]["context"] == numbered(*RANKED[:2])
    assert len(seen.passages) == 3
    found = Memory([BREAD, ZORX, ADA], {QUESTION: ["bread", "ada", "zorx"]})
    assert ids(run(citing(AnswerCiting, answer="Lund"), retriever=found, m=2)[0].evidence) == ["ada", "bread"]


@pytest.mark.parametrize(
    ("mode", "to", "field"), [("summ", SummarizePassage, "summary"), ("snippet", ExtractSnippet, "snippet")]
)
def test_passages_are_made_shorter_until_there_are_k_relevant_ones(
    mode: Literal["summ", "snippet"], to: type[dspy.Signature], field: str
) -> None:
    replies = [
        Reply(to, {field: " Ada Quill\nfound Zorx. "}, when="[1] Zorx |"),
        Reply(to, {field: '"Irrelevant."'}, when="[1] Ada Quill |"),
        Reply(to, {field: "Bakers."}, when="[1] Zorxes |"),
        citing(AnswerCiting, ("The band baked.", [2]), answer="Lund"),
    ]
    seen, cost, prompts = run(*replies, mode=mode, k=2)
    # The two best first; one of them is irrelevant, so the next best is looked at.
    assert {prompt["passage"] for prompt in prompts[:2]} == {numbered(text) for text in RANKED[:2]}
    assert prompts[2] == {"passage": numbered(RANKED[2]), "question": QUESTION}
    assert prompts[3] == {"context": "[1] Zorx | Ada Quill found Zorx.\n[2] Zorxes | Bakers.", "question": QUESTION}
    assert ids(seen.evidence) == ["zorx", "bread"]
    assert seen.known_facts == [{"fact": "The band baked.", "passages": ["bread"]}]
    # The promise of the class docstring: one, and one for each passage that is looked at.
    assert (cost.lm_calls, cost.searches) == (4, 1)


def test_where_all_is_irrelevant_there_is_nothing_to_read() -> None:
    irrelevant = [Reply(SummarizePassage, {"summary": "irrelevant"})] * 3
    seen, cost, prompts = run(*irrelevant, citing(AnswerCiting, answer="Lund"), mode="summ")
    assert (prompts[-1]["context"], seen.evidence, cost.lm_calls) == ("", [], 4)


def test_an_unparsable_summary_leaves_the_passage_whole() -> None:
    garbled = [Reply(SummarizePassage, UNPARSABLE)] * 2
    _, cost, prompts = run(*garbled, citing(AnswerCiting, answer="Lund"), mode="summ", k=1)
    assert prompts[-1]["context"] == numbered(RANKED[0])
    assert cost.unparsable == 1


@pytest.fixture
def _in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call after the other: which of four threads asks first is a matter of luck."""
    monkeypatch.setattr("programs.alce.side_by_side", lambda *calls: [call() for call in calls])


class Sampled:
    """Gives one reply after the other, and keeps the temperatures."""

    def __init__(self, *replies: str | dict[str, str]) -> None:
        self.replies = replies
        self.temperatures: list[float | None] = []

    def lm(self) -> dspy.LM:
        engine = Function(lambda system, user: "")
        waiting = list(self.replies)

        def complete(request: Any) -> Any:
            self.temperatures.append(request.config.temperature)
            said = waiting.pop(0)
            return Function(lambda system, user: said if isinstance(said, str) else render(said)).complete(request)

        engine.complete = complete  # type: ignore[method-assign]
        return engine_lm(engine)


def said(answer: str, *statements: tuple[str, list[int]]) -> dict[str, str]:
    reply = citing(AnswerCiting, *statements, answer=answer).fields
    assert isinstance(reply, dict)
    return reply


def rerank(*replies: str | dict[str, str], **options: Any) -> tuple[dspy.Prediction, Cost, Sampled]:
    sampled = Sampled(*replies)
    with dspy.context(lm=sampled.lm()), measured() as cost:
        seen = ALCE(Memory([BREAD, ZORX, ADA]), mode="rerank", samples=len(replies), **options)(question=QUESTION)
    return seen, cost, sampled


@pytest.mark.usefixtures("_in_order")
def test_the_reply_with_the_best_citation_recall_is_taken() -> None:
    replies = [
        said("Malmö", ("Ada Quill was born in Malmö.", [2])),  # not entailed
        said("Lund", (FOUND, [1]), (BIRTH, [2])),  # both are
        said("Oslo", (FOUND, [1]), (BIRTH, [1])),  # one is, the other only by what it does not cite
        said("Rome", (BIRTH, [])),
    ]
    seen, cost, sampled = rerank(*replies)
    assert seen.samples == [
        {"answer": "Malmö", "citation_recall": 0.0},
        {"answer": "Lund", "citation_recall": 1.0},
        {"answer": "Oslo", "citation_recall": 0.5},
        {"answer": "Rome", "citation_recall": 0.0},
    ]
    assert seen.answer == "Lund"
    assert seen.known_facts == [{"fact": FOUND, "passages": ["zorx"]}, {"fact": BIRTH, "passages": ["ada"]}]
    assert (cost.lm_calls, cost.searches) == (4, 1)
    assert sampled.temperatures == [0.5] * 4


@pytest.mark.usefixtures("_in_order")
def test_what_is_cited_counts_together_and_the_first_three_citations_alone() -> None:
    both = ("Ada Quill, born in Lund, found the planet Zorx.", [1, 2])
    table = Memory([BREAD, ZORX, Passage("quill", "Ada Quill wrote."), ADA])
    late = ("The Zorxes were bakers.", [1, 2, 3, 4])
    sampled = Sampled(said("late", late), said("both", both))
    with dspy.context(lm=sampled.lm()):
        seen = ALCE(table, mode="rerank", samples=2)(question=QUESTION)
    assert [sample["citation_recall"] for sample in seen.samples] == [0.0, 1.0]
    assert seen.answer == "both"


@pytest.mark.usefixtures("_in_order")
def test_of_equals_the_first_that_answers_is_taken() -> None:
    assert rerank(said("Lund", (BIRTH, [2])), said("Oslo", (BIRTH, [2])))[0].answer == "Lund"
    assert rerank(said(""), said("Lund"), said("Oslo"))[0].answer == "Lund"


@pytest.mark.usefixtures("_in_order")
def test_an_unparsable_reply_is_not_taken_and_counted() -> None:
    sampled = Sampled("Lund.", "Lund.", said("Lund", (BIRTH, [2])))
    with dspy.context(lm=sampled.lm()), measured() as cost:
        seen = ALCE(Memory([BREAD, ZORX, ADA]), mode="rerank", samples=2)(question=QUESTION)
    assert (seen.answer, cost.unparsable, cost.lm_calls) == ("Lund", 1, 3)
    assert seen.samples[0] == {"answer": "", "citation_recall": 0.0}


def test_each_reply_is_sampled_anew_but_a_run_repeats(tmp_path: Any) -> None:
    """DSPy's cache tells the four requests apart, and has all of them the second time."""
    replies = [said(name, (BIRTH, [2])) for name in ("Lund", "Oslo", "Rome", "Malmö")]
    sampled = Sampled(*replies)
    lm = sampled.lm()
    lm.cache = True
    dspy.configure_cache(disk_cache_dir=str(tmp_path), enable_disk_cache=False, enable_memory_cache=True)
    with dspy.context(lm=lm):
        program = ALCE(Memory([BREAD, ZORX, ADA]), mode="rerank")
        first, again = program(question=QUESTION), program(question=QUESTION)
    assert {sample["answer"] for sample in first.samples} == {"Lund", "Oslo", "Rome", "Malmö"}
    assert first.toDict() == again.toDict()
    assert len(sampled.temperatures) == 4


def test_only_what_the_settings_use_is_there() -> None:
    made: dict[Any, ALCE] = {mode: ALCE(Memory([]), mode=mode) for mode in ("vanilla", "summ", "snippet", "rerank")}
    names = {mode: [name for name, _ in program.named_predictors()] for mode, program in made.items()}
    assert names == {
        "vanilla": ["answer"],
        "summ": ["compress", "answer"],
        "snippet": ["compress", "answer"],
        "rerank": ["answer"],
    }
    assert [mode for mode, program in made.items() if program.judge] == ["rerank"]
