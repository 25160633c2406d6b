"""The oracle: in place of a language model, a responder that knows each question's gold and makes no mistakes.

A run with it gives the best score that a method can reach with its retriever: whatever is lost was not found, or found
and not kept. It reads the method's prompts and does what a perfect model would do:

selections      exactly the gold passages among those shown
queries, plans, drafts, passages from memory
                the titles of the gold passages that are not shown, the intermediate answers and the answer
strategies      several searches where the gold passages are several, else one
answers         the gold answer if what is shown covers the gold passages; else "unknown", or yes or no at random if
                nothing else is allowed
sentences       of a chain of thought: the title of a gold passage that is not shown; "So the answer is" once none is
what is missing "unanswerable" and the missing titles, until nothing is missing: the gold passages are shown, or each
                step with its answer
statements      one for each gold passage shown, with its number
notes, information
                drawn from passages: the gold ones shown, with their titles
documents       written from passages: the gold ones shown, with their titles, and what leads to those that are missing;
                a document covers what its passages cover
probabilities   that an answer is right: 1 if what is shown covers the gold passages

What the oracle knows guides the search but is no evidence: a text that an LM wrote from memory covers no gold passage.
A prompt without a field for evidence (closed book) gets the gold answer, so scores there say nothing.

A passage is gold if it has the title of a gold passage. If a question's gold titles are not known, a passage that has
an answer in it is gold; if, besides, the answer is yes or no, every passage is, so that the score is an upper bound.

With an error rate, that share of the calls goes wrong: each such call is answered as if another of the questions had
been asked, and it gives a wrong answer even if what is shown covers none.
"""

import random
import re
from collections.abc import Iterable

import dspy

from lms.engine import AsyncPromptEngine, PromptEngine
from lms.extractive.fields import fill
from lms.oracle.reply import Gold, PerfectReply, fold, leads_of
from lms.prompt import Prompt, parse, render
from odqa.errors import UsageError

__all__ = ["Gold", "OracleEngine", "oracle_lm"]

_LONGEST = 12  # words of a lead that a prompt is searched for


class OracleEngine(PromptEngine):
    """The oracle as a DSPy engine; `oracle_lm` wraps it in a `dspy.LM`.

    Args:
        golds: The gold of each question that will be asked.
        error_rate: The share of the calls that go wrong, 0 to 1.
        seed: Decides which calls go wrong; the order in which calls are made does not matter.

    Raises:
        UsageError: the error rate is out of range, or there are no questions.
    """

    def __init__(self, golds: Iterable[Gold], *, error_rate: float = 0.0, seed: int = 0) -> None:
        if not 0 <= error_rate <= 1:
            raise UsageError(f"the oracle's error rate must be from 0 to 1, not {error_rate}")
        self._golds = {fold(gold.question): gold for gold in golds}
        if not self._golds:
            raise UsageError("the oracle needs the gold of at least one question")
        self._longest_first = sorted(self._golds, key=len, reverse=True)
        self._by_lead: dict[str, Gold] = {}
        for gold in self._golds.values():
            for lead in [*leads_of(gold), *(question for question, _ in gold.steps)]:
                self._by_lead.setdefault(fold(lead), gold)
        self._error_rate = error_rate
        self._seed = seed

    def reply(self, system: str, user: str) -> str:
        """The reply to a prompt; never raises, whatever its text."""
        prompt = parse(system, user)
        gold, own = self.gold_for(prompt)
        lot = random.Random(f"{self._seed}\n{system}\n{user}")
        wrong = gold if lot.random() < self._error_rate else None
        if wrong:
            others = [other for other in self._golds.values() if other is not wrong]
            gold = lot.choice(others) if others else Gold("", ("unknown",))
        return render(prompt, fill(prompt) if gold is None else PerfectReply(prompt, gold, own, wrong).values())

    def gold_for(self, prompt: Prompt) -> tuple[Gold | None, bool]:
        """The gold of the question that a prompt is about, and whether it asks that very question.

        The prompt's question is compared with the known ones: it equals one, else it contains one, else it contains a
        title or another lead of one, which the oracle itself wrote into a query on the way.
        """
        texts = [fold(text) for name, text in prompt.inputs.items() if re.search(r"question|quer", name.lower())]
        for text in texts:
            if text in self._golds:
                return self._golds[text], True
        for text in texts:
            if found := next((question for question in self._longest_first if question in text), None):
                return self._golds[found], True
        for text in texts:
            words = text.split()
            for length in range(min(_LONGEST, len(words)), 0, -1):
                for start in range(len(words) - length + 1):
                    if gold := self._by_lead.get(" ".join(words[start : start + length])):
                        return gold, False
        return None, False


def oracle_lm(golds: Iterable[Gold], *, error_rate: float = 0.0, seed: int = 0) -> dspy.LM:
    """The oracle as a `dspy.LM`, for `dspy.configure(lm=…)` or `dspy.context(lm=…)`; see `OracleEngine`."""
    engine = OracleEngine(golds, error_rate=error_rate, seed=seed)
    name = f"oracle/error-rate-{error_rate:g}" if error_rate else "oracle/perfect"
    return dspy.LM(name, engine=engine, async_engine=AsyncPromptEngine(engine), cache=False)
