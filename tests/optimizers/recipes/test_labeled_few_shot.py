from pathlib import Path

import dspy
from support.compiling import compiled
from support.learning_lm import TABLE, TRAIN, LearningLM

from eval.metrics import em
from optimizers.recipes.labeled_few_shot import compile
from programs.blendfilter import BlendFilter
from programs.migres import MIGRES
from retrieval import Memory, Passage


def test_labelled_demonstrations_help_on_questions_never_seen(tmp_path: Path) -> None:
    outcome = compiled("labeled_few_shot", BlendFilter(TABLE), LearningLM(), tmp_path)
    assert outcome.before.total.scores["em"].mean == 0.0
    assert outcome.after.total.scores["em"].mean == 1.0
    assert outcome.cost.lm_calls == 0
    demos = {name: predictor.demos for name, predictor in outcome.program.named_predictors()}
    assert {name: len(shown) for name, shown in demos.items()} == {
        "draft.predict": 3, "recall": 0, "topic": 0, "select.predict": 0, "answer.predict": 3,
    }  # fmt: skip  # the paper's prompts show none to the others
    shown = {demo.question for demos_ in demos.values() for demo in demos_}
    assert shown <= {example.question for example in TRAIN}
    assert set(demos["draft.predict"][0].keys()) == {"context", "question", "reasoning", "answer"}


WORLD = Memory(
    [
        Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx"),
        Passage("2", "Ada Quill was born in Lund .", "Ada Quill"),
        Passage("3", "Zorx is also a game about a planet .", "Zorx (game)"),
    ]
)


def example(*titles: str, n: int) -> dspy.Example:
    return dspy.Example(question=f"Where , {n} ?", answer="Lund", gold_titles=list(titles)).with_inputs("question")


def test_of_two_demonstrations_one_is_of_too_few_facts() -> None:
    one = [example("Zorx", n=n) for n in range(6)]  # does not state the answer: nothing to detect
    two = [example("Ada Quill", "Zorx", n=n) for n in range(6, 8)]
    program = compile(MIGRES(WORLD), [*one, *two], em, demonstrations=3)
    assert [demo.answer for demo in program.detect.demos] == ["Lund", "unanswerable"]
    assert len(program.extract.demos) == 3
