"""How well each predictor does its part, by the gold."""

from typing import Any

import dspy
import pytest
from support.learning_lm import HELD_OUT, KEY, TABLE, LearningLM
from support.scripted import engine_lm

from optimizers.predictor_metrics import Traced, predictor_metrics
from programs.blendfilter import BlendFilter
from programs.iter_retgen import IterRetGen
from programs.migres import MIGRES
from retrieval import Passage, number

GOLD = [
    Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx"),
    Passage("2", "Ada Quill was born in Lund .", "Ada Quill"),
]
OTHER = Passage("3", "Zorx is also a game .", "Zorx (game)")
EXAMPLE = dspy.Example(
    question="Where was who found Zorx born?", answers=["Lund"], gold_titles=["Zorx", "Ada Quill"]
).with_inputs("question")
CONTEXT = {"context": number([OTHER, *GOLD]), "question": "?"}


def score(program: dspy.Module, name: str, *calls: tuple[dict[str, Any], dict[str, Any]], **more: Any) -> float | None:
    """The score of a predictor that made these calls, given as inputs and outputs; another one made the last."""
    predictors = dict(program.named_predictors())
    last = [] if more.pop("last", False) else [(None, {}, dspy.Prediction(answer="Malmö"))]
    fields = {"answer": "Malmö", "queries": ["Zorx q"], "passages": [*GOLD, OTHER], "evidence": GOLD, **more}
    prediction = dspy.Prediction(**fields)
    prediction._trace = [(predictors[name], i, dspy.Prediction(**o)) for i, o in calls] + last
    return predictor_metrics(program)[name](EXAMPLE, prediction)


BLEND, GATHER = BlendFilter(TABLE), MIGRES(TABLE)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [([2, 3], 1.0), ([1, 2, 3], 0.8), ([2], 2 / 3), ([1], 0.0), ([], 0.0), ([2, 3, 9], 0.8)],
)
def test_a_selection(chosen: list[int], expected: float) -> None:
    assert score(BLEND, "select.predict", (CONTEXT, {"relevant": chosen})) == pytest.approx(expected)


def test_nothing_to_select_and_nothing_selected_is_right_and_calls_are_averaged() -> None:
    nothing = {"context": number([OTHER]), "question": "?"}
    assert score(BLEND, "select.predict", (nothing, {"relevant": []})) == 1.0
    assert score(BLEND, "select.predict", (nothing, {"relevant": []}), (CONTEXT, {"relevant": [1]})) == 0.5


def test_statements_count_that_cite_a_gold_passage_and_follow_from_it() -> None:
    def cited(text: str, *numbers: int) -> dict[str, Any]:
        return {"statements": [{"statement": text, "passages": list(numbers)}]}

    assert score(GATHER, "extract", (CONTEXT, cited("Ada Quill was born in Lund .", 3))) == pytest.approx(2 / 3)
    assert score(GATHER, "extract", (CONTEXT, cited("Ada Quill was born in Lund .", 3, 9, 2))) == pytest.approx(2 / 3)
    assert score(GATHER, "extract", (CONTEXT, cited("The moon weighs nine tons .", 3))) == 0.0


@pytest.mark.parametrize(
    ("facts", "answer", "expected"),
    [
        (GOLD, "Lund", 1.0),
        (GOLD, "unanswerable", 0.0),
        (GOLD[:1], "unanswerable", 1.0),
        (GOLD[:1], "Malmö", 0.0),
        (GOLD[:1], "It is not said, but it is Malmö.", 0.0),
    ],
)
def test_whether_something_was_missing(facts: list[Passage], answer: str, expected: float) -> None:
    call = {"facts": number(facts), "question": "?"}, {"answer": answer, "explanation": "So.", "missing": "Where?"}
    assert score(GATHER, "detect", call) == expected
    assert score(GATHER, "detect", call, last=True) == expected


def test_the_last_answer_where_the_passages_state_it() -> None:
    assert score(BLEND, "answer.predict", (CONTEXT, {"answer": "lund"}), last=True) == 1.0
    assert score(BLEND, "answer.predict", (CONTEXT, {"answer": "in Lund"}), last=True) == 0.0
    unstated = {"context": number([OTHER]), "question": "?"}, {"answer": "Malmö"}
    assert score(BLEND, "answer.predict", unstated, last=True) is None
    assert score(BLEND, "answer.predict", ({"question": "?"}, {"answer": "Malmö"}), last=True) == 0.0


def test_what_was_searched_with_by_what_was_found() -> None:
    call = CONTEXT, {"answer": "Lund"}
    searched = {"queries": ["Where was Zorx?", "Lund Where was Zorx?"]}
    assert score(BLEND, "draft.predict", call, **searched) == 1.0
    assert score(BLEND, "draft.predict", call, **searched, passages=[GOLD[0], OTHER]) == 0.5
    assert score(BLEND, "draft.predict", call) is None
    assert score(BLEND, "topic", ({"question": "?"}, {"topic": "planets"}), **searched) is None
    # One that answers in several turns is judged by its last answer.
    turns = IterRetGen(TABLE)
    assert score(turns, "answer.predict", (CONTEXT, {"answer": "Malmö"}), call, **searched, last=True) == 1.0


def test_without_gold_or_without_a_trace_nothing_is_said() -> None:
    program = BlendFilter(TABLE)
    bare = dspy.Example(question="Where was Person 1 born ?").with_inputs("question")
    with dspy.context(lm=engine_lm(LearningLM("Person"))):
        traced, untraced = Traced(program)(question=bare.question), program(question=bare.question)
    assert "_trace" not in traced.toDict()
    for metric in predictor_metrics(program).values():
        assert metric(bare, traced) is None
        assert metric(HELD_OUT[0], untraced) is None


def test_a_run_is_traced_under_the_names_of_its_own_program() -> None:
    program = BlendFilter(TABLE)
    example = HELD_OUT[0]
    assert [name for name, _ in Traced(program).named_predictors()] == [n for n, _ in program.named_predictors()]

    def scores() -> dict[str, float | None]:
        with dspy.context(lm=engine_lm(LearningLM())):
            prediction = Traced(program)(question=example.question)
        return {name: metric(example, prediction) for name, metric in predictor_metrics(program).items()}

    before = scores()
    assert before["answer.predict"] == 0.0
    assert before["select.predict"] is not None
    program.answer.predict.signature = program.answer.predict.signature.with_instructions(KEY)
    assert scores() == {**before, "answer.predict": 1.0}
