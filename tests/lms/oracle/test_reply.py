from typing import Literal

import dspy
import pytest

from lms.oracle import Gold, oracle_lm
from lms.oracle.reply import leads_of
from programs.migres import MIGRES
from retrieval import Memory, Passage, number
from signatures.act import ChooseStrategy, ReasonOn
from signatures.answer import AnswerShort, AnswerYesNo
from signatures.detect import DetectMissing
from signatures.extract import CondensePassages, ExtractStatements, NameCandidate, TakeNotes
from signatures.query import AskForHop, AskForMissing
from signatures.select import SelectPassages
from signatures.verify import RateAnswer
from signatures.write import UpdateDocument, WriteDocument, WriteNextThought, WritePassage

FILM = Passage(
    "1", "The Lighthouse Keeper is a 1951 British drama film directed by Ada Quill.", "The Lighthouse Keeper"
)
DIRECTOR = Passage("2", "Ada Quill was a British film director. She was born in Whitby.", "Ada Quill")
RIVER = Passage("3", "The Orm is a river in Norway, by which a lighthouse keeper was born.", "Orm (river)")
QUESTION = "Where was the director of the lighthouse film born?"
GOLD = Gold(QUESTION, ("Whitby", "Whitby, England"), (("The Lighthouse Keeper", "Ada Quill"),))
ORM = Gold("Is the Orm in Norway?", ("yes",), (("Orm (river)",),))
ENOUGH, TOO_LITTLE = number([RIVER, FILM, DIRECTOR]), number([RIVER, FILM])
MULTIHOP = Memory([FILM, DIRECTOR, RIVER])


def ask(
    signature: type[dspy.Signature], lm: dspy.LM | None = None, adapter: object = None, **inputs: str
) -> dspy.Prediction:
    with dspy.context(lm=lm or oracle_lm([GOLD, ORM]), adapter=adapter):
        return dspy.ChainOfThought(signature)(**inputs)


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
def test_selects_exactly_the_gold_passages_shown(adapter: object) -> None:
    reply = ask(SelectPassages, adapter=adapter, topic="film", context=ENOUGH, question=QUESTION)
    assert reply.relevant == [2, 3]


@pytest.mark.parametrize(("context", "answer"), [(ENOUGH, "Whitby"), (TOO_LITTLE, "unknown"), ("", "unknown")])
def test_answers_only_what_the_context_covers(context: str, answer: str) -> None:
    assert ask(AnswerShort, context=context, question=QUESTION).answer == answer


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ("[1] Who directed it? Ada Quill\n[2] where was Ada Quill born?  Whitby", "Whitby"),
        ("[1] Who directed it? Ada Quill\n[2] Where was Bo Quill born? Whitby", "unanswerable"),
        ("[1] Where was Ada Quill born? Whitby", "unanswerable"),
    ],
)
def test_all_steps_with_their_answers_are_as_good_as_the_gold_passages(facts: str, answer: str) -> None:
    steps = (("Who directed it?", "Ada Quill"), ("Where was Ada Quill born?", "Whitby"))
    knowing = oracle_lm([Gold(GOLD.question, GOLD.answers, GOLD.titles, steps=steps)])
    assert ask(DetectMissing, knowing, facts=facts, question=QUESTION).answer == answer


def test_a_passage_that_only_mentions_a_title_covers_nothing() -> None:
    written = number([Passage("lm:1", "Ada Quill. The Lighthouse Keeper. Whitby")])
    assert ask(AnswerShort, context=written, question=QUESTION).answer == "unknown"


def test_a_document_covers_the_passages_that_it_was_written_from() -> None:
    draft = ask(WriteDocument, context=TOO_LITTLE, question=QUESTION).document
    assert draft == f"The Lighthouse Keeper: {FILM.text} ¶ Ada Quill"
    assert ask(AnswerShort, context=number([Passage("lm:1", draft)]), question=QUESTION).answer == "unknown"
    document = ask(UpdateDocument, draft=draft, context=number([DIRECTOR]), question=QUESTION).document
    assert document == f"The Lighthouse Keeper: {FILM.text} ¶ Ada Quill: {DIRECTOR.text}"
    assert ask(AnswerShort, context=number([Passage("lm:1", document)]), question=QUESTION).answer == "Whitby"


@pytest.mark.parametrize(("context", "probability"), [(ENOUGH, 1), (TOO_LITTLE, 0), ("", 0)])
def test_an_answer_is_right_where_the_context_covers_it(context: str, probability: float) -> None:
    rated = ask(RateAnswer, context=context, question=QUESTION, candidate="unknown")
    assert rated.correct_probability == probability


def test_closed_book_answers_from_memory() -> None:
    assert ask(dspy.Signature("question -> answer"), question=QUESTION).answer == "Whitby"


def test_yes_and_no() -> None:
    assert ask(AnswerYesNo, context=number([RIVER]), question=ORM.question).answer == "yes"
    lots = {ask(AnswerYesNo, context="", question=ORM.question).answer for _ in range(3)}
    assert len(lots) == 1


def test_the_draft_leads_to_what_is_missing() -> None:
    draft = ask(AnswerShort, context=TOO_LITTLE, question=QUESTION).reasoning
    assert "Ada Quill" in draft
    assert "Lighthouse Keeper" not in draft
    passage = ask(WritePassage, question=QUESTION).passage
    assert "Ada Quill" in passage
    assert "The Lighthouse Keeper" in passage


def test_a_chain_of_thought_goes_on_to_what_is_missing_and_ends_with_the_answer() -> None:
    def next_sentence(context: str, history: str = "") -> str:
        return str(ask(WriteNextThought, context=context, question=QUESTION, history=history).sentence)

    assert next_sentence("") == "The Lighthouse Keeper"
    assert next_sentence(TOO_LITTLE) == "Ada Quill"
    assert next_sentence(TOO_LITTLE, "Ada Quill") == "Whitby"
    assert next_sentence(ENOUGH, "Ada Quill") == "So the answer is: Whitby"


def test_information_covers_the_passages_that_it_was_drawn_from() -> None:
    def drawn(context: str) -> str:
        return str(ask(CondensePassages, question=QUESTION, chain="", query="film", context=context).information)

    def reason(*information: str, searched: str = "") -> dspy.Prediction:
        chain = [f"Action 1: search for {searched}", *(f"[1] {text}" for text in information)]
        return ask(ReasonOn, question=QUESTION, chain="\n".join(chain), searches_left="9")

    assert drawn(number([RIVER])) == "No helpful information"
    assert reason(drawn(ENOUGH)).answer == reason(drawn(number([FILM])), drawn(number([DIRECTOR]))).answer == "Whitby"
    assert reason(drawn(TOO_LITTLE)).query == "Ada Quill"
    assert reason(drawn(TOO_LITTLE), searched="Ada Quill").query == "Whitby"  # not the same again


def test_the_strategy_is_to_search_once_or_several_times_and_never_to_answer_from_memory() -> None:
    assert ask(ChooseStrategy, question=QUESTION).strategy == "multiple"
    assert ask(ChooseStrategy, question=ORM.question).strategy == "single"
    bare, steps = Gold("Who?", ("Ada",)), Gold("Where?", ("Lund",), steps=(("Who?", "Ada"), ("Where?", "Lund")))
    assert ask(ChooseStrategy, oracle_lm([bare, steps]), question="Who?").strategy == "single"
    assert ask(ChooseStrategy, oracle_lm([bare, steps]), question="Where?").strategy == "multiple"


def test_notes_cover_the_passages_that_they_rest_on() -> None:
    taken = ask(TakeNotes, question=QUESTION, notes="", context=TOO_LITTLE)
    assert (len(taken.new_notes), taken.relevant) == (1, [2])
    notes = f"[1] {taken.new_notes[0]}"
    assert ask(AskForHop, question=QUESTION, notes=notes).query == "Ada Quill"
    more = ask(TakeNotes, question=QUESTION, notes=notes, context=number([DIRECTOR])).new_notes
    assert ask(AnswerShort, context=f"{notes}\n[2] {more[0]}", question=QUESTION).answer == "Whitby"
    assert ask(TakeNotes, question=QUESTION, notes="", context=number([RIVER])).new_notes == []


def test_says_what_is_missing_until_nothing_is() -> None:
    found = ask(ExtractStatements, context=TOO_LITTLE, question=QUESTION).statements
    assert [statement.passages for statement in found] == [[2]]
    facts = f"[1] {found[0].statement}"
    verdict = ask(DetectMissing, facts=facts, question=QUESTION)
    assert verdict.answer == "unanswerable"
    assert "Ada Quill" in verdict.missing
    queries = ask(AskForMissing, question=QUESTION, history=QUESTION, facts=facts, missing=verdict.missing).queries
    assert queries[0] == "Ada Quill"
    more = ask(ExtractStatements, context=number([DIRECTOR]), question=queries[0]).statements  # the leaf's own question
    verdict = ask(DetectMissing, facts=f"{facts}\n[2] {more[0].statement}", question=QUESTION)
    assert (verdict.answer, verdict.missing) == ("Whitby", "")


@pytest.mark.parametrize(("passage", "candidate"), [(DIRECTOR, "Whitby"), (FILM, "Ada Quill"), (RIVER, "unknown")])
def test_candidates(passage: Passage, candidate: str) -> None:
    assert ask(NameCandidate, question=QUESTION, document=number([passage]), analysis="").candidate == candidate


def test_one_annotator_suffices() -> None:
    gold = Gold(QUESTION, ("Whitby",), (("Another one", "Ada Quill"), ("Ada Quill",)))
    assert ask(AnswerShort, oracle_lm([gold]), context=ENOUGH, question=QUESTION).answer == "Whitby"


def test_without_titles_a_passage_with_the_answer_is_gold() -> None:
    lm = oracle_lm([Gold(QUESTION, ("Whitby",))])
    assert ask(SelectPassages, lm, topic="film", context=ENOUGH, question=QUESTION).relevant == [3]
    assert ask(AnswerShort, lm, context=TOO_LITTLE, question=QUESTION).answer == "unknown"
    assert ask(AnswerShort, lm, context=ENOUGH, question=QUESTION).answer == "Whitby"


def test_follows_its_own_queries_where_there_are_no_titles() -> None:
    found = Memory([FILM, RIVER, DIRECTOR], {QUESTION: ["3"], "Whitby": ["2"]})
    with dspy.context(lm=oracle_lm([Gold(QUESTION, ("Whitby",))])):
        prediction = MIGRES(found, m=2, threshold=-100.0)(question=QUESTION)
    assert (prediction.answer, prediction.queries) == ("Whitby", [QUESTION, "Whitby"])


def test_what_no_gold_is_known_for_is_read() -> None:
    class Odd(dspy.Signature):  # type: ignore[misc]
        """Say what the passages are about."""

        context: str = dspy.InputField()
        question: str = dspy.InputField()
        mood: Literal["grave", "gay"] = dspy.OutputField()
        topic: str = dspy.OutputField()

    reply = ask(Odd, context=ENOUGH, question="Who swam through the Orm?")
    assert reply.mood in ("grave", "gay")
    assert reply.topic


@pytest.mark.parametrize(
    ("answers", "expected"), [(("Yes.", "true"), True), (("no",), False), (("yes", "no"), None), (("Yesterday",), None)]
)
def test_yes_or_no(answers: tuple[str, ...], expected: bool | None) -> None:
    assert Gold("Is it?", answers).yes_no is expected


def test_a_query_can_be_made_of_titles_leads_and_answers_but_not_of_yes_and_no() -> None:
    gold = Gold("Is it?", ("yes",), (("A", "B"), ("C",)), leads=("Who?", "no"))
    assert leads_of(gold) == ["A", "B", "C", "Who?"]
