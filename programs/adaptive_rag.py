"""Adaptive-RAG: the LM first says how a question is to be searched for: not at all, once, or step by step.

Jeong et al., "Adaptive-RAG: Learning to Adapt Retrieval-Augmented Large Language Models through Question Complexity",
NAACL 2024. The paper trains a T5 classifier to tell. Here the LM is asked, and that prompt can be compiled, with the
paper's labels: `AdaptiveRAG.label`.

question -> strategy -> chain of thought from memory | over the passages of one search | IRCoT -> answer
"""

from collections.abc import Callable
from typing import ClassVar, Literal

import dspy

from programs.cot import CoT
from programs.ircot import IRCoT
from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever, as_retriever
from signatures.act import ChooseStrategy

__all__ = ["AdaptiveRAG"]


class AdaptiveRAG(Method):
    """Choose by the question alone whether to search not at all, once or step by step, and answer so.

    Simple questions get their answer at the price of a simple method, and the long way is kept for those that need it.

    Per question:
        LM calls: 1 for the strategy; then 1 from memory or after a single search, and as IRCoT 9 at most: 10 at most.
        Searches: none from memory, 1 for a single one, and as IRCoT 8 at most.
        Depth: as many LM calls as are made.

    In the result:
        strategy: "memory", "single" or "multiple"; "single" where the LM's reply could not be parsed.
        thoughts: the sentences of IRCoT; [] with another strategy.
        iterations: as IRCoT reports them; for a single search what it found; [] from memory.
        reasoning: the reasoning that led to the answer.

    Args:
        retriever: Finds the passages. The paper uses BM25.
        k: Passages of a single search. Its authors' runs with GPT-3.5: 6.
        k_multiple: Passages per search of IRCoT. Its authors' runs with GPT-3.5: 3.
        steps: Number of IRCoT's sentences at most. IRCoT: 8.
        passages: Number of passages that IRCoT gathers at most. Paper: 15.
        style: Form of the answer: "short" for a short phrase, "yesno" for yes or no (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 6,
        k_multiple: Count = 3,
        steps: Count = 8,
        passages: Count = 15,
        style: Literal["short", "yesno"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.route = dspy.Predict(ChooseStrategy)
        self.memory = CoT(None, style=style)
        self.single = CoT(self.retriever, k=k, style=style)
        self.multiple = IRCoT(self.retriever, k=k_multiple, steps=steps, passages=passages, style=style)

    def forward(self, question: str) -> dspy.Prediction:
        # The classifier (3.2), which sees the question alone.
        strategy = ask(self.route, question=question).strategy or "single"

        # The strategy (3.1): LLM(q), LLM(q, Retriever(q)), or both in turns.
        seen = self._answer(strategy, question)
        return result(
            answer=seen.answer,
            queries=seen.queries,
            passages=seen.passages,
            evidence=seen.evidence,
            strategy=strategy,
            thoughts=seen.get("thoughts", []),
            iterations=seen.get("iterations", report_rounds([seen.passages] if seen.queries else [], growing=False)),
            reasoning=seen.reasoning,
        )

    def label(
        self, example: dspy.Example, metric: Callable[[dspy.Example, dspy.Prediction], float | None]
    ) -> dspy.Example:
        """The example with the simplest strategy that answers it right as its field `strategy` (3.2).

        An example that none answers right is given back as it is. `labeled_few_shot` shows the labels to `route`; for
        examples without one it takes what the data tells, as the paper does: "multiple" for questions with several gold
        passages, "single" for others.

        Args:
            example: A question and whatever the metric needs.
            metric: Judges an answer; 1 is right.
        """
        for strategy in ("memory", "single", "multiple"):
            if metric(example, self._answer(strategy, example.question)) == 1:
                return dspy.Example(example, strategy=strategy)
        return example

    def _answer(self, strategy: str, question: str) -> dspy.Prediction:
        program = {"memory": self.memory, "single": self.single, "multiple": self.multiple}[strategy]
        return program(question=question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(AdaptiveRAG)
