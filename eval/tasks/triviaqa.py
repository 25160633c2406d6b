"""TriviaQA, unfiltered: quiz questions, with all names of the answer (Joshi et al. 2017)."""

from typing import Any

from eval.tasks.task import DPR, RawQuestion, Task, Variant, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    answer = raw["answer"]
    return {
        "id": raw["question_id"],
        "question": raw["question"],
        "answers": distinct(answer["value"], *answer["aliases"]),
    }


TASK = Task(
    "triviaqa",
    "mandarjoshi/trivia_qa",
    _example,
    {
        "all": Variant("validation", DPR, "the development set, 11,313 questions, which DPR tests on"),
        "chain_of_rewrite": Variant("validation", DPR, "Chain-of-Rewrite 3.1: the split of DPR"),
        # The paper shares the demonstrations of NQ.
        "migres": Variant(
            "validation",
            DPR,
            "MIGRES 4.1: 200, as the authors publish them",
            sample=200,
            training="nq:train",
            published="triviaqa",
        ),
        "train": Variant("train", DPR, "the training set, 87,622 questions", file="train"),
    },
    config="unfiltered.nocontext",
)
