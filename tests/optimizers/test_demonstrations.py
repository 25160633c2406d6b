import dspy

from eval.metrics import em
from optimizers import labeled_few_shot
from optimizers._demonstrations import fitting, labelled
from programs.migres import MIGRES
from retrieval import Memory, Passage
from signatures.answer import AnswerShort, AnswerShortFromMemory, NameAnswer
from signatures.detect import DetectMissing
from signatures.query import AskForMissing
from signatures.select import NameTopic, SelectPassages
from signatures.write import WriteKnowledgeOrNone, WritePassage

TABLE = Memory(
    [
        Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx"),
        Passage("2", "Ada Quill was born in Lund .", "Ada Quill"),
        Passage("3", "Zorx is also a game about a planet .", "Zorx (game)"),
        Passage("4", "Where the planet was born nobody found out .", "Planets"),
    ]
)
QUESTION = "Where was who found the planet Zorx born ?"


def example(**fields: object) -> dspy.Example:
    return dspy.Example(id="q", question=QUESTION, answer="Lund", **fields).with_inputs("question")


def test_gold_passages_stand_among_distractors_and_are_named() -> None:
    steps = [
        {"question": "Who found Zorx?", "answer": "Ada Quill"},
        {"question": "Where was #1 born?", "answer": "Lund"},
    ]
    made, extract, *_ = labelled(example(gold_titles=["Zorx", "Ada Quill"], decomposition=steps), TABLE, k=4)
    lines = made["context"].splitlines()
    assert len(lines) == 4
    assert sorted(line.split("] ")[1].split(" |")[0] for n, line in enumerate(lines, 1) if n in made["relevant"]) == [
        *("Ada Quill", "Zorx")
    ]
    assert made["passage"] == "Zorx is a planet found by Ada Quill . Ada Quill was born in Lund ."
    assert made["reasoning"] == "Who found Zorx? Ada Quill. Where was Ada Quill born? Lund."
    assert extract["context"] == made["context"]
    assert {one["passages"][0]: one["statement"] for one in extract["statements"]} == {
        n: line.split("] ")[1].replace(" | ", ": ") for n, line in enumerate(lines, 1) if n in made["relevant"]
    }


def test_what_migres_should_make_of_enough_facts_and_of_too_few() -> None:
    gold = example(gold_titles=["Ada Quill", "Zorx"])
    enough, too_few, query = (
        fitting(signature, [labelled(gold, TABLE)])[0] for signature in (DetectMissing, DetectMissing, AskForMissing)
    )
    assert enough[0].facts == (
        "[1] Ada Quill: Ada Quill was born in Lund .\n[2] Zorx: Zorx is a planet found by Ada Quill ."
    )
    assert (enough[0].answer, enough[0].missing) == ("Lund", "")
    assert too_few[1].facts == "[1] Zorx: Zorx is a planet found by Ada Quill ."
    assert (too_few[1].answer, too_few[1].missing) == ("unanswerable", "What is known of Ada Quill.")
    assert (query[0].history, query[0].queries, query[0].facts) == (QUESTION, ["Ada Quill"], too_few[1].facts)
    assert len(enough) == 2
    assert len(query) == 1


def test_of_two_demonstrations_one_is_of_too_few_facts() -> None:
    one = [example(gold_titles=["Zorx"]).copy(question=f"What is Zorx , {n} ?") for n in range(6)]
    two = [example(gold_titles=["Ada Quill", "Zorx"]).copy(question=f"Where , {n} ?") for n in range(2)]
    program = labeled_few_shot.compile(MIGRES(TABLE), [*one, *two], em, demonstrations=2)
    assert [demo.answer for demo in program.detect.demos] == ["Lund", "unanswerable"]
    assert len(program.extract.demos) == 2
    more = labeled_few_shot.compile(MIGRES(TABLE), [*one, *two], em, demonstrations=3)
    assert len(more.detect.demos) == 3


def test_the_sentence_that_matters_is_taken() -> None:
    long = Memory([Passage("1", "Ada Quill had a dog. She was born in Lund. She liked it there.", "Ada Quill")])
    (_, extract, *_) = labelled(example(gold_titles=["Ada Quill"]), long)
    assert extract["statements"] == [{"statement": "Ada Quill: She was born in Lund.", "passages": [1]}]


def test_where_the_facts_without_one_still_state_the_answer_nothing_is_missing() -> None:
    twice = Memory([Passage("1", "Born in Lund .", "Ada Quill"), Passage("2", "Lund was her birthplace .", "Lund")])
    calls = labelled(example(gold_titles=["Ada Quill", "Lund"]), twice)
    assert [call["answer"] for call in calls if "facts" in call and "answer" in call] == ["Lund"]


def test_each_signature_gets_the_calls_that_it_makes() -> None:
    labels = [labelled(e, TABLE) for e in (example(gold_titles=["Zorx", "Ada Quill"]), example())]
    shown = {
        signature.__name__: [sorted(call.keys()) for calls in fitting(signature, labels) for call in calls]
        for signature in (
            *(AnswerShort, AnswerShortFromMemory, SelectPassages, WritePassage, WriteKnowledgeOrNone, NameAnswer),
        )
    }
    assert shown == {
        "AnswerShort": [["answer", "context", "question"]],
        # The example without gold passages has a question and an answer too; that too few facts give none is not shown.
        "AnswerShortFromMemory": [["answer", "question"]] * 2,
        "SelectPassages": [["context", "question", "relevant"]],
        "WritePassage": [["passage", "question"]],
        "WriteKnowledgeOrNone": [["knowledge", "questions"]],
        "NameAnswer": [["candidate", "document", "question"]],
    }
    assert fitting(NameTopic, labels) == []


def test_what_the_gold_does_not_give_is_left_out() -> None:
    for bare in (example(), example(gold_titles=["Zorx", "Nowhere"])):
        assert labelled(bare, TABLE) == [dict(bare.items())]
    assert labelled(example(gold_titles=["Zorx"]), None) == [dict(example(gold_titles=["Zorx"]).items())]
    questions_only, *_ = labelled(example(gold_titles=["Zorx"], decomposition=["Who found Zorx?"]), TABLE)
    assert "context" in questions_only
    assert "reasoning" not in questions_only
