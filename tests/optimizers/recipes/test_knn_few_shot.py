import dspy
from support.scripted import Function, engine_lm, render

from eval.metrics import em
from optimizers.recipes.knn_few_shot import compile
from programs.direct import Direct
from retrieval import Memory

TRAIN = [
    dspy.Example(question=question, answer="it", answers=["it"]).with_inputs("question")
    for question in (
        "Who painted the old bridge?",
        "Who painted the tall tower?",
        "Which river is the longest of all?",
        "Which river is the deepest of all?",
    )
]


def test_the_demonstrations_are_of_the_questions_most_like_the_one_that_is_asked() -> None:
    prompts: list[int] = []

    class Counted(Function):
        def complete(self, request: object) -> object:
            prompts.append(sum("painted" in (message.text or "") for message in request.messages))  # type: ignore[attr-defined]
            return super().complete(request)  # type: ignore[arg-type]

    program = compile(Direct(Memory([])), TRAIN, em, neighbours=2, demonstrations=2)
    with dspy.context(lm=engine_lm(Counted(lambda system, user: render({"answer": "it"})))):
        assert program(question="Who painted the river of old?").answer == "it"
        assert prompts[-1] == 2 + 1  # two demonstrations and the question itself
        assert program(question="Which river is the longest and widest of all?").answer == "it"
        assert prompts[-1] == 0
