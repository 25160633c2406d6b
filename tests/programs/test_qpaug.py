"""QPaug against tables of the paper's appendix (and 8 and 9, which summarise two of them), and its switches.

Who asks for what, what each passage tells and in which order, what the LM wrote from memory and what it answered are
the tables', told in our own words; of long passages the telling part. Two of the plans are ours altogether, because the
paper shows only that of Table 8.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response
from support.patience import PATIENCE
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Function, Reply, engine_lm, render, scripted

from programs.instruments.cost import Cost, measured
from programs.qpaug import QPaug
from retrieval import Memory, Passage, Retriever, UsageError
from signatures.answer import THREE_WORDS, AnswerInThreeWords, AnswerInThreeWordsFromBoth
from signatures.query import PlanQuestion
from signatures.write import WritePassageOrNone


@dataclass
class Case:
    """One table: what the question finds, and what question and plan find, best first."""

    question: str
    found: dict[str, str]
    plan: str = ""
    found_with_plan: dict[str, str] = field(default_factory=dict)

    @property
    def augmented(self) -> str:
        return f"{self.question} {self.plan}"

    def retriever(self, **more: list[str]) -> Memory:
        table = {**self.found, **self.found_with_plan}
        answers = {self.question: list(self.found), self.augmented: list(self.found_with_plan), **more}
        return Memory((Passage(id_, text) for id_, text in table.items()), answers)


SPOUSE = Case(  # Tables 8 and 11
    "To whom is the person married who directed the film Eden And After?",
    found={
        "eden": "Her three husbands come up too: Michael Ansara (from 1958 to 1974), Charles Fegert (from 1977 to "
        "1982) and, since 1991, Jon Eicholtz",
        "papers": "Kyriakos Mitsotakis is her husband",
        "soap": "She has been with Noah, has lived in Paris and has come out of rehab",
        "hungary": "Few stand as high in Hungarian cinema as Lívia Gyarmathy.",
        "lebanon": "Her documentaries on politics and society began in about 2000.",
    },
    plan='1. The director: Find out who made "Eden And After". 2. The marriage: With that name, look into the life of '
    "the director for a husband or a wife, of today or of former days. 3. The check: See whether other sources say the "
    "same. ...",
    found_with_plan={
        "catherine": "Catherine Robbe-Grillet (her maiden name is Rstakian, her birthday 24 September 1930), a "
        "Frenchwoman, writes, takes photographs, and acts on the stage and in films",
        "captive": "Luckily for Alain Robbe-Grillet, Henri Alekan agreed to do the camera work",
        "charpentier": "Marc-Antoine Charpentier (from 1643 to 24 February 1704) composed in the French Baroque.",
        "dice": 'Alain Robbe-Grillet directed "N. a pris les dés..." (in English "N. has taken the dice...") in 1971: '
        "an experimental drama from the French underground.",
        "novel": "Alain Robbe-Grillet (from 18 August 1922 to 18 February 2008) wrote and made films in France.",
        "sixth": "The paper does not show this one.",
        "seventh": "Nor this one.",
        "eighth": "Nor this.",
        "ninth": "Nor that.",
        "alain": "His wife was Catherine Robbe-Grillet, whose maiden name was Rstakian.",
    },
)
HERCULES = Case(  # Tables 9 and 13
    "In which place did whoever directed Mole Men Against The Son Of Hercules die?",
    found={
        "molemen": '"Mole Men Against the Son of Hercules" came to the cinemas on 10 October 1961.',
        "alexander": "Did Alexander have to die because he wished to be a god?",
        "fury": "Gianfranco Parolini wrote and directed The Fury of Hercules, a peplum of 1962.",
        "fury-2": 'In Italy "The Fury of Hercules" was shown from 21 March 1962 on.',
        "margheriti": "Of his own films Margheriti liked those of action, adventure and war best",
    },
)
WILD = Case(  # Table 14
    "In which place did whoever directed Playing It Wild die?",
    found={
        "bambi": "With Who Killed Bambi? the Sex Pistols, a punk band, were to be seen in a film for the first time",
        "buck": 'In April 2013 the Dallas International Film Festival was the first to show "Buck Wild".',
        "wild": "Wild was a small child when her parents went to Vancouver, her home for most of the years to come.",
        "jeopardy": "On their journey a wild, kind beauty (Annie Potts) crosses their path.",
        "goldmine": "The part of Curt Wild went to Ewan McGregor",
    },
)
ADAM = Case(  # Table 15
    "In which place did the father of James Adam (Architect) die?",
    found={
        "james": "The architect William Adam was their father.",
        "john": "His grave is in Edinburgh, at Greyfriars Kirkyard, in the mausoleum of his father.",
        "judge": "Edinburgh was where he died, on 17 February 1839, and Greyfriars Kirkyard where he was laid to rest",
        "james-2": "James Adam (from 21 July 1732 to 20 October 1794), a Scot, designed houses and furniture",
        "william": "Late in 1747 Adam fell ill; the next summer he died. He lies in Greyfriars Kirkyard, Edinburgh",
    },
)
KERENSKY = Case(  # Table 16
    "In which place did the father of Oleg Kerensky die?",
    found={
        "death": "In 1970 an arteriosclerotic heart ended Kerensky's life, at St. Luke's Hospital in New York City",
        "sons": "Their two sons, Oleg and Gleb, chose to be engineers.",
        "oleg": "His father, Alexander Kerensky, was yet to be prime minister of Russia",
        "exile": "Until his death he lived abroad as an exile, in Paris and in New York City",
        "oleg-2": "Oleg Aleksandrovich Kerensky, CBE FRS, was a Russian civil engineer (16 April 1905 – 25 June 1984)",
    },
)


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


def shown(passages: dict[str, str]) -> str:
    return "\n".join(f"[{n}] {text}" for n, text in enumerate(passages.values(), 1))


def test_the_tables_on_question_augmentation() -> None:
    """Tables 8 and 11; Tables 10 and 12 show the same for other questions."""
    with scripted(Reply(AnswerInThreeWords, {"answer": "Not mentioned"})) as script, measured() as cost:
        seen = QPaug(SPOUSE.retriever(), augment=False, generate=False)(question=SPOUSE.question)
    assert seen.queries == [SPOUSE.question]
    assert ids(seen.passages) == ids(seen.evidence) == list(SPOUSE.found)
    assert inputs(script.prompts[0][1]) == {"context": shown(SPOUSE.found), "question": SPOUSE.question}
    assert (seen.answer, seen.plan, seen.knowledge) == ("Not mentioned", "", "")
    assert (cost.lm_calls, cost.searches) == (1, 1)

    plan = Reply(PlanQuestion, {"plan": SPOUSE.plan.replace(". ", ".\n")})
    with scripted(plan, Reply(AnswerInThreeWords, {"answer": "Catherine"})) as script, measured() as cost:
        seen = QPaug(SPOUSE.retriever(), generate=False)(question=SPOUSE.question)
    assert inputs(script.prompts[0][1]) == {"question": SPOUSE.question}
    assert (seen.plan, seen.queries) == (SPOUSE.plan, [SPOUSE.augmented])
    assert ids(seen.passages) == ids(seen.evidence) == list(SPOUSE.found_with_plan)
    assert inputs(script.prompts[1][1]) == {"context": shown(SPOUSE.found_with_plan), "question": SPOUSE.question}
    assert (seen.answer, seen.knowledge) == ("Catherine", "")
    assert (cost.lm_calls, cost.searches) == (2, 1)


LEONVIOLA = (
    'Antonio Leonviola directed "Mole Men Against The Son Of Hercules". His life ended in Rome, Italy, on December 14, '
    "1971."
)
PARIS = "It was in Paris, France, that the father, Oleg Kerensky Sr., died."
REFUSAL = (
    "I'm sorry, but I cannot tell you the place where the director of Playing It Wild died, since I have no access to "
    "information in real time."
)


@pytest.mark.parametrize(
    ("case", "written", "knowledge", "answer"),
    [
        pytest.param(HERCULES, f"{LEONVIOLA} [DONE]", LEONVIOLA, "Rome", id="Tables 9 and 13"),
        pytest.param(WILD, REFUSAL, "", "I cannot predict.", id="Table 14"),
        pytest.param(ADAM, "[None]", "", "Edinburgh", id="Table 15"),
        pytest.param(ADAM, f"{PARIS} [None]", "", "Edinburgh", id="inside other text"),
        pytest.param(ADAM, "NONE - I cannot write a factual passage.", "", "Edinburgh", id="with a reason"),
        pytest.param(KERENSKY, PARIS, PARIS, "New York City", id="Table 16"),
    ],
)
def test_the_tables_on_passage_generation(case: Case, written: str, knowledge: str, answer: str) -> None:
    reads = AnswerInThreeWordsFromBoth if knowledge else AnswerInThreeWords
    replies = [Reply(WritePassageOrNone, {"passage": written}), Reply(reads, {"answer": answer})]
    with scripted(*replies) as script, measured() as cost:
        seen = QPaug(case.retriever(), augment=False)(question=case.question)
    assert inputs(script.prompts[0][1]) == {"question": case.question}
    assert seen.queries == [case.question]
    assert ids(seen.passages) == list(case.found)
    # Retrieved and generated text stay apart, in the result as in the prompt.
    assert seen.knowledge == knowledge
    assert ids(seen.evidence) == [*case.found, *(["lm:passage"] if knowledge else [])]
    assert [p.text for p in seen.evidence if p.id == "lm:passage"] == ([knowledge] if knowledge else [])
    asked = {"context": shown(case.found), "question": case.question}
    assert inputs(script.prompts[1][1]) == ({**asked, "knowledge": knowledge} if knowledge else asked)
    # Without a passage the whole prompt is that of the retrieved ones.
    with scripted(Reply(AnswerInThreeWords, {"answer": answer})) as alone:
        QPaug(case.retriever(), augment=False, generate=False, k=9)(question=case.question)
    assert (script.prompts[1] == alone.prompts[0]) == (not knowledge)
    assert any("knowledge" in message for message in script.prompts[1]) == bool(knowledge)
    assert seen.answer == answer
    assert (cost.lm_calls, cost.searches) == (2, 1)


WRITTEN = "Alain Robbe-Grillet directed it."
PLAN = Reply(PlanQuestion, {"plan": SPOUSE.plan})
RECALL = Reply(WritePassageOrNone, {"passage": WRITTEN}, when=f"{SPOUSE.question} {SPOUSE.plan}")
ANSWER = Reply(AnswerInThreeWordsFromBoth, {"answer": " Catherine Robbe-Grillet "}, when=WRITTEN)


def replies(*wanted: Reply) -> list[Reply]:
    """Copies, for a script uses its replies up."""
    return [Reply(r.to, r.fields, r.when, r.delay) for r in wanted]


def run(*script: Reply, retriever: Retriever | None = None, **settings: Any) -> tuple[dspy.Prediction, Cost, list[Any]]:
    with scripted(*replies(*script)) as made, measured() as cost:
        seen = QPaug(retriever or SPOUSE.retriever(), **settings)(question=SPOUSE.question)
    return seen, cost, [inputs(user) for _, user in made.prompts]


def test_all_of_it_at_once() -> None:
    seen, cost, prompts = run(PLAN, RECALL, ANSWER)
    nine = dict(list(SPOUSE.found_with_plan.items())[:9])
    assert prompts == [
        {"question": SPOUSE.question},
        {"question": SPOUSE.augmented},
        {"context": shown(nine), "knowledge": WRITTEN, "question": SPOUSE.question},
    ]
    assert dict(seen.items()) == {
        "answer": "Catherine Robbe-Grillet",
        "queries": [SPOUSE.augmented],
        "passages": [Passage(id_, text) for id_, text in nine.items()],
        "evidence": [*(Passage(id_, text) for id_, text in nine.items()), Passage("lm:passage", WRITTEN)],
        "plan": SPOUSE.plan,
        "knowledge": WRITTEN,
    }
    # Passages with the same id are equal, so their texts are compared for themselves.
    assert [passage.text for passage in seen.evidence] == [*nine.values(), WRITTEN]
    # The promise of the class docstring: 3 LM calls and 1 search.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (3, 1, 0)


class Meeting:
    """Two calls that each wait until the other one is being made as well; alone, either fails."""

    def __init__(self, *met: type[dspy.Signature]) -> None:
        self.met = [signature.instructions for signature in met]
        self.barrier = threading.Barrier(2, timeout=PATIENCE)

    def reply(self, system: str, user: str) -> str:
        plain = " ".join(system.split())
        if any(" ".join(instructions.split()) in plain for instructions in self.met):
            self.barrier.wait()
        return render({"plan": "Look.", "passage": "It is so.", "answer": "so"})


def test_retrieval_and_passage_generation_run_side_by_side() -> None:
    meeting = Meeting(WritePassageOrNone)

    class Waiting(Memory):
        def search(self, query: str, k: int) -> list[Passage]:
            meeting.barrier.wait()
            return super().search(query, k)

    with dspy.context(lm=engine_lm(Function(meeting.reply))):
        assert QPaug(Waiting([]))(question="Is it so?").answer == "so"


def test_a_passage_from_the_question_alone_does_not_wait_for_the_plan() -> None:
    meeting = Meeting(WritePassageOrNone, PlanQuestion)
    with dspy.context(lm=engine_lm(Function(meeting.reply))):
        assert QPaug(Memory([]), generate_from="question")(question="Is it so?").knowledge == "It is so."


def test_a_plan_finds_what_the_question_alone_does_not() -> None:
    """The effect of Table 4, with a ranking that nobody scripted."""
    retriever = Memory(
        [
            Passage("eden", "Barbara Eden, known from film and television, was married three times."),
            Passage("after", "The director of the film says what comes after Eden."),
            Passage("alain", "Alain Robbe-Grillet, writer and filmmaker, was the husband of the actress Catherine."),
        ]
    )
    question = SPOUSE.question
    plan = Reply(PlanQuestion, {"plan": "1. Find the writer and filmmaker, \n2. the actress whose husband he was"})
    with scripted(Reply(AnswerInThreeWords, {"answer": ""})):
        plain = QPaug(retriever, k=2, augment=False, generate=False)(question=question)
    with scripted(plan, Reply(AnswerInThreeWords, {"answer": ""})):
        augmented = QPaug(retriever, k=2, generate=False)(question=question)
    assert "alain" not in ids(plain.passages)
    assert ids(augmented.passages)[0] == "alain"


class TestSwitches:
    def test_a_compiled_instruction_about_both_does_not_hold_where_the_passage_was_declined(self) -> None:
        program = QPaug(SPOUSE.retriever(), augment=False)
        program.answer.signature = program.answer.signature.with_instructions("Weigh your knowledge against them.")
        declined = Reply(WritePassageOrNone, {"passage": "None. I do not have that information."})
        with scripted(declined, Reply(AnswerInThreeWords, {"answer": "Catherine"})) as script:
            assert program(question=SPOUSE.question).answer == "Catherine"
        with scripted(Reply(AnswerInThreeWords, {"answer": "Catherine"})) as alone:
            QPaug(SPOUSE.retriever(), augment=False, generate=False, k=9)(question=SPOUSE.question)
        assert script.prompts[-1] == alone.prompts[-1]

    def test_a_compiled_instruction_about_retrieved_passages_holds(self) -> None:
        program = QPaug(SPOUSE.retriever(), augment=False, generate=False)
        program.answer.signature = program.answer.signature.with_instructions("Think of the Tudors.")
        with scripted(Reply(program.answer.signature, {"answer": "Catherine"})):
            assert program(question=SPOUSE.question).answer == "Catherine"

    @pytest.mark.parametrize(("generate", "k"), [(True, 9), (False, 10)])
    @pytest.mark.parametrize("augment", [True, False])
    def test_a_plan_does_not_change_how_many_are_retrieved(self, augment: bool, generate: bool, k: int) -> None:
        assert QPaug(SPOUSE.retriever(), augment=augment, generate=generate).k == k

    def test_the_prompt_says_whose_knowledge_it_is_and_how_long_the_answer_may_be(self) -> None:
        with scripted(*replies(PLAN, RECALL, ANSWER)) as script:
            QPaug(SPOUSE.retriever())(question=SPOUSE.question)
        system, _ = script.prompts[-1]
        assert "`knowledge` (str): your knowledge: what you wrote about the question; not retrieved" in system
        assert f"`answer` (str): {THREE_WORDS}" in system
        assert "three words" in THREE_WORDS

    @pytest.mark.parametrize(
        ("generate", "k", "found"), [(True, None, 9), (False, None, 10), (True, 3, 3), (False, 3, 3)]
    )
    def test_k_is_what_the_retriever_is_asked_for(self, generate: bool, k: int | None, found: int) -> None:
        script = [PLAN, RECALL, ANSWER] if generate else [PLAN, Reply(AnswerInThreeWords, {"answer": ""})]
        many = [*SPOUSE.found_with_plan, *SPOUSE.found]
        retriever = SPOUSE.retriever(**{SPOUSE.augmented: many})
        seen, _, _ = run(*script, retriever=retriever, generate=generate, k=k)
        assert ids(seen.passages) == many[:found]

    def test_searching_with_the_plan_alone_changes_the_query_and_nothing_else(self) -> None:
        retriever = SPOUSE.retriever(**{SPOUSE.plan: ["alain"]})
        seen, _, prompts = run(PLAN, RECALL, ANSWER, retriever=retriever, query="plan")
        assert seen.queries == [SPOUSE.plan]
        assert ids(seen.passages) == ["alain"]
        assert prompts[1] == {"question": SPOUSE.augmented}
        assert prompts[2]["question"] == SPOUSE.question

    def test_searching_with_a_plan_that_is_not_made_is_refused(self) -> None:
        with pytest.raises(UsageError, match="no plan to search with"):
            QPaug(SPOUSE.retriever(), augment=False, query="plan")

    def test_writing_from_the_question_alone_changes_that_prompt_and_nothing_else(self) -> None:
        recall = Reply(WritePassageOrNone, {"passage": WRITTEN})
        seen, cost, prompts = run(PLAN, recall, ANSWER, generate_from="question")
        assert prompts[0] == prompts[1] == {"question": SPOUSE.question}
        assert seen.toDict() == run(PLAN, RECALL, ANSWER)[0].toDict()
        assert seen.evidence[-1].text == WRITTEN
        assert cost.lm_calls == 3

    def test_without_a_plan_a_passage_from_the_question_alone_is_written_once(self) -> None:
        recall = Reply(WritePassageOrNone, {"passage": WRITTEN})
        seen, cost, prompts = run(recall, ANSWER, augment=False, generate_from="question")
        assert prompts[0] == {"question": SPOUSE.question}
        assert (seen.knowledge, cost.lm_calls) == (WRITTEN, 2)


def test_demonstrations_with_knowledge_are_shown_without_it_where_there_is_none() -> None:
    class Kept(Function):
        messages: list[str]

        def complete(self, request: Request) -> Response:
            self.messages = [str(request.system), *(message.text or "" for message in request.messages)]
            return super().complete(request)

    engine = Kept(lambda system, user: render({"passage": "[NONE]", "answer": "Edinburgh"}))
    program = QPaug(ADAM.retriever(), augment=False)
    program.answer.demos = [dspy.Example(context="[1] It is.", knowledge="I know it.", question="Is it?", answer="so")]
    with dspy.context(lm=engine_lm(engine)):
        assert program(question=ADAM.question).answer == "Edinburgh"
    shown = "\n".join(engine.messages)
    assert "Is it?" in shown
    assert "not supplied" not in shown.lower()
    assert "know" not in shown.lower()


class TestMistakes:
    @pytest.mark.parametrize("query", ["question+plan", "plan"])
    @pytest.mark.parametrize(
        "plan", [UNPARSABLE, {"plan": " \n "}, {"plan": "I'm sorry, but I cannot write a plan for this."}]
    )
    def test_without_a_usable_plan_the_question_is_searched(self, plan: str | dict[str, str], query: Any) -> None:
        unusable = [Reply(PlanQuestion, plan)] * (2 if isinstance(plan, str) else 1)
        recall = Reply(WritePassageOrNone, {"passage": WRITTEN})
        seen, cost, prompts = run(*unusable, recall, ANSWER, query=query)
        assert (seen.plan, seen.queries) == ("", [SPOUSE.question])
        assert ids(seen.passages) == list(SPOUSE.found)
        assert prompts[-2] == {"question": SPOUSE.question}
        assert cost.unparsable == (1 if isinstance(plan, str) else 0)

    def test_an_unparsable_passage_is_left_out_and_counted(self) -> None:
        answer = Reply(AnswerInThreeWords, {"answer": "Catherine"})
        seen, cost, prompts = run(PLAN, *[Reply(WritePassageOrNone, UNPARSABLE)] * 2, answer)
        assert seen.knowledge == ""
        assert "lm:passage" not in ids(seen.evidence)
        assert list(prompts[-1]) == ["context", "question"]
        # DSPy asks once more, for JSON, before it gives up.
        assert (cost.unparsable, cost.lm_calls) == (1, 4)
