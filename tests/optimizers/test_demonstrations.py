import dspy

from optimizers._demonstrations import labelled
from retrieval import Memory, Passage

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
        {"question": "Where was she born?", "answer": "Lund"},
    ]
    (made,) = labelled([example(gold_titles=["Zorx", "Ada Quill"], decomposition=steps)], TABLE, k=4)
    lines = made.context.splitlines()
    assert len(lines) == 4
    assert [line.split("] ")[1].split(" |")[0] for n, line in enumerate(lines, 1) if n in made.relevant] in (
        ["Zorx", "Ada Quill"],
        ["Ada Quill", "Zorx"],
    )
    assert made.passage == "Zorx is a planet found by Ada Quill . Ada Quill was born in Lund ."
    assert made.reasoning == "Who found Zorx? Ada Quill. Where was she born? Lund."
    assert made.inputs().keys() == ["question"]


def test_what_the_gold_does_not_give_is_left_out() -> None:
    bare, no_such_title, questions_only = labelled(
        [
            example(),
            example(gold_titles=["Zorx", "Nowhere"]),
            example(gold_titles=["Zorx"], decomposition=["Who found Zorx?"]),
        ],
        TABLE,
    )
    assert not {"context", "relevant", "passage", "reasoning"} & set(bare.keys())
    assert not {"context", "relevant", "passage", "reasoning"} & set(no_such_title.keys())
    assert "context" in questions_only
    assert "reasoning" not in questions_only


def test_the_original_examples_stay_as_they_are() -> None:
    original = example(gold_titles=["Zorx"])
    labelled([original], TABLE)
    assert "context" not in original
