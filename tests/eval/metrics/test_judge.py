from collections.abc import Callable

import dspy
import pytest
from support.scripted import Function, engine_lm, render

from eval.metrics import acc_judge
from retrieval import UsageError

# What a judge must know: for each question a word that an answer has, or has not, if it implies the right one.
RIGHT = {
    "Moon": lambda said: "1969" in said,
    "Hamlet": lambda said: "Marlowe" not in said,
    "spider": lambda said: "8" in said,
    "Danube": lambda said: "longer" in said,
    "Paris": lambda said: "Seine" in said,
    "Italy": lambda said: "Rome" in said or "eternal" in said,
}


def field(user: str, name: str) -> str:
    return user.split(f"[[ ## {name} ## ]]\n")[1].split("\n\n[[")[0]


class Judge:
    """A judge as an LM; keeps the predictions it was asked about."""

    def __init__(self, verdict: Callable[[str, str], str] | None = None) -> None:
        self.asked: list[str] = []
        self.verdict = verdict or self.know

    @staticmethod
    def know(question: str, prediction: str) -> str:
        return "yes" if next(rule for word, rule in RIGHT.items() if word in question)(prediction) else "no"

    def reply(self, system: str, user: str) -> str:
        question, prediction = field(user, "question"), field(user, "prediction")
        self.asked.append(prediction)
        return render({"implied": self.verdict(question, prediction)})

    @property
    def lm(self) -> dspy.LM:
        return engine_lm(Function(self.reply))


QUESTION = dspy.Example(question="What is the capital of Italy?", answers=["Rome", "Roma"]).with_inputs("question")


def test_the_judge_decides_what_no_rule_does() -> None:
    judge = Judge()
    metric = acc_judge(judge.lm)
    assert len(judge.asked) == 8  # its test
    judge.asked.clear()
    answers = ["the eternal city", "Paris", "Rome.", "", "Roma"]
    assert [metric(QUESTION, dspy.Prediction(answer=answer)) for answer in answers] == [1, 0, 1, 0, 1]
    assert judge.asked == ["the eternal city", "Paris"]
    assert metric.__name__ == "acc_judge"


def test_an_answer_that_contains_a_right_one_is_right_without_asking_where_the_paper_has_it_so() -> None:
    italian, said = dspy.Example(question=QUESTION.question, answers=["Roma"]), dspy.Prediction(answer="Romagna")
    judge = Judge(lambda question, prediction: "no" if prediction == "Romagna" else Judge.know(question, prediction))
    assert [acc_judge(judge.lm, contained=contained)(italian, said) for contained in (False, True)] == [0, 1]
    assert judge.asked.count("Romagna") == 1
    assert acc_judge(judge.lm, contained=True)(QUESTION, dspy.Prediction(answer="the eternal city")) == 1


def test_the_right_answers_are_shown() -> None:
    seen = []

    def reply(system: str, user: str) -> str:
        seen.append(field(user, "right"))
        return Judge().reply(system, user)

    acc_judge(engine_lm(Function(reply)))(QUESTION, dspy.Prediction(answer="Milan"))
    assert seen[-1].startswith("Rome\nRoma\n")


@pytest.mark.parametrize(
    ("verdict", "wrong"),
    [
        (lambda question, prediction: "yes", 4),
        (lambda question, prediction: "no", 4),
        (lambda question, prediction: "0.8", 8),  # cannot be parsed
        (lambda question, prediction: "as you like it", 8),
        (lambda question, prediction: "no" if Judge.know(question, prediction) == "yes" else "yes", 8),
        (lambda question, prediction: "yes" if "Marlowe" in prediction else Judge.know(question, prediction), 1),
    ],
)
def test_a_bad_judge_is_refused(verdict: Callable[[str, str], str], wrong: int) -> None:
    with pytest.raises(
        UsageError, match=rf"test/scripted is no judge of answers: of 8 known ones it gets {wrong} wrong"
    ):
        acc_judge(Judge(verdict).lm)


def test_what_cannot_be_parsed_is_undefined() -> None:
    def verdict(question: str, prediction: str) -> str:
        return "hm" if "Italy" in question else Judge.know(question, prediction)

    metric = acc_judge(Judge(verdict).lm)
    assert metric(QUESTION, dspy.Prediction(answer="the eternal city")) is None
    assert metric(QUESTION, dspy.Prediction(answer="Rome")) == 1


def test_without_gold_it_is_undefined() -> None:
    assert acc_judge(Judge().lm)(dspy.Example(question="Italy?"), dspy.Prediction(answer="x")) is None


def test_an_error_of_the_judges_provider_is_no_verdict() -> None:
    def verdict(question: str, prediction: str) -> str:
        if "Italy" in question:
            raise ConnectionError("gone")
        return Judge.know(question, prediction)

    metric = acc_judge(Judge(verdict).lm)
    with pytest.raises(Exception, match="gone"):
        metric(QUESTION, dspy.Prediction(answer="the eternal city"))


def test_the_judge_stays_out_of_an_optimizers_trace() -> None:
    program = dspy.Predict("question -> answer")
    judge = Judge()
    optimizer = dspy.BootstrapFewShot(metric=acc_judge(judge.lm), max_labeled_demos=0)
    said = engine_lm(Function(lambda system, user: render({"answer": "the eternal city"})))
    with dspy.context(lm=said):
        compiled = optimizer.compile(program, trainset=[QUESTION])
    assert [demo.answer for demo in compiled.demos] == ["the eternal city"]
    metric = acc_judge(judge.lm)
    with dspy.context(trace=[]):
        metric(QUESTION, dspy.Prediction(answer="the eternal city"))
        assert dspy.settings.trace == []
