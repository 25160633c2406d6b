import dspy
import pytest

from eval.tasks.demonstrations.wording import Worded, worded_steps

RELATIONS = [  # Wikidata's, as 2WikiMultiHopQA and MuSiQue have them
    ("place of birth", "What is the place of birth of Ada?", "The place of birth of Ada is Lund."),
    ("capital", "What is the capital of Ada?", "The capital of Ada is Lund."),
    ("capital of", "What is Ada capital of?", "Ada is capital of Lund."),
    ("founded by", "What is Ada founded by?", "Ada is founded by Lund."),
    ("educated at", "What is Ada educated at?", "Ada is educated at Lund."),
    ("member of sports team", "What is Ada member of?", "Ada is member of Lund."),
    ("located in the administrative territorial entity", "What is Ada located in?", "Ada is located in Lund."),
    ("shares border with", "What is it that Ada shares border with?", "Ada shares border with Lund."),
]


@pytest.mark.parametrize(("relation", "question", "statement"), RELATIONS)
def test_a_relation_makes_a_question_and_a_statement(relation: str, question: str, statement: str) -> None:
    evidences = dspy.Example(evidences=[["Ada", relation, "Lund"], ["odd", "one"]])
    short_form = dspy.Example(decomposition=[{"question": f"Ada >> {relation}", "answer": "Lund"}])
    assert worded_steps(evidences) == worded_steps(short_form) == [Worded(question, "Lund", statement)]


def test_a_question_is_written_as_one_with_its_answer_behind_it() -> None:
    asked = [{"question": "where is ada from ?", "answer": "Lund"}, {"question": "Who rules #1", "answer": "Bo Jr."}]
    assert worded_steps(dspy.Example(decomposition=asked)) == [
        Worded("Where is ada from?", "Lund", "Where is ada from? Lund."),
        Worded("Who rules Lund?", "Bo Jr.", "Who rules Lund? Bo Jr."),
    ]
    assert worded_steps(dspy.Example(question="q")) == []
