import dspy

from optimizers.demonstrations import demonstrations_for, labelled_calls
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
    made, extract, *_ = labelled_calls(example(gold_titles=["Zorx", "Ada Quill"], decomposition=steps), TABLE, k=4)
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
    labels = [labelled_calls(gold, TABLE)]
    (detect,), (query,) = (demonstrations_for(signature, labels) for signature in (DetectMissing, AskForMissing))
    enough, too_few = detect
    assert enough.facts == (
        "[1] Ada Quill: Ada Quill was born in Lund .\n[2] Zorx: Zorx is a planet found by Ada Quill ."
    )
    assert (enough.answer, enough.missing) == ("Lund", "")
    assert too_few.facts == "[1] Zorx: Zorx is a planet found by Ada Quill ."
    assert (too_few.answer, too_few.missing) == ("unanswerable", "What is known of Ada Quill.")
    assert (query[0].history, query[0].queries, query[0].facts) == (QUESTION, ["Ada Quill"], too_few.facts)
    assert len(query) == 1


def test_the_sentence_that_matters_is_taken() -> None:
    long = Memory([Passage("1", "Ada Quill had a dog. She was born in Lund. She liked it there.", "Ada Quill")])
    (_, extract, *_) = labelled_calls(example(gold_titles=["Ada Quill"]), long)
    assert extract["statements"] == [{"statement": "Ada Quill: She was born in Lund.", "passages": [1]}]


def test_where_the_facts_without_one_still_state_the_answer_nothing_is_missing() -> None:
    twice = Memory([Passage("1", "Born in Lund .", "Ada Quill"), Passage("2", "Lund was her birthplace .", "Lund")])
    calls = labelled_calls(example(gold_titles=["Ada Quill", "Lund"]), twice)
    assert [call["answer"] for call in calls if "facts" in call and "answer" in call] == ["Lund"]


def test_each_signature_gets_the_calls_that_it_makes() -> None:
    labels = [labelled_calls(e, TABLE) for e in (example(gold_titles=["Zorx", "Ada Quill"]), example())]
    shown = {
        signature.__name__: [sorted(call.keys()) for calls in demonstrations_for(signature, labels) for call in calls]
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
    assert demonstrations_for(NameTopic, labels) == []


def test_what_the_gold_does_not_give_is_left_out() -> None:
    for bare in (example(), example(gold_titles=["Zorx", "Nowhere"])):
        assert labelled_calls(bare, TABLE) == [dict(bare.items())]
    assert labelled_calls(example(gold_titles=["Zorx"]), None) == [dict(example(gold_titles=["Zorx"]).items())]
    questions_only, *_ = labelled_calls(example(gold_titles=["Zorx"], decomposition=["Who found Zorx?"]), TABLE)
    assert "context" in questions_only
    assert "reasoning" not in questions_only
