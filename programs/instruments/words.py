"""What happens to a question, in words for people: its steps, and that there is no answer."""

from collections.abc import Iterator, Sized

from odqa.printable import printable
from programs.instruments.cost import Cost
from programs.instruments.live import AloneQuestion, Asked, Passages, Source, Spending, Step
from programs.instruments.trace import Dropped, Query, Statement, Turn
from retrieval import Retriever

__all__ = ["QUESTIONS", "Words", "line", "no_answer", "spent"]

QUESTIONS = (
    "Which general led the Italian troops at Adwa?",
    "Where in Finland was the designer of the tall stainless-steel arch in St. Louis born?",
)
"""Questions that the extractive reader answers from the packaged corpus."""

_NAMED = 3  # titles of passages that were dropped for the same reason


class Words:
    """Says the steps of one question in words, a line or more for each; passages that were dropped for the same reason
    are one line."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._dropped: dict[str, list[str]] = {}  # titles by reason, which are not said yet

    def __call__(self, step: Step) -> str:
        """The step in words; empty for the answer, which is not said here."""
        return "".join(f"{line}\n" for line in self._lines(step))

    def _lines(self, step: Step) -> Iterator[str]:
        if isinstance(step, Dropped):
            self._dropped.setdefault(line(step.why), []).append(self._titles.get(step.passage, step.passage))
            return
        if not isinstance(step, Source):
            for why, titles in self._dropped.items():
                some = "; ".join(titles[:_NAMED]) + (f" and {len(titles) - _NAMED} more" if titles[_NAMED:] else "")
                yield f"Dropped: {some} ({why})"
            self._dropped.clear()
        match step:
            case AloneQuestion(text=text):
                yield f"Question: {line(text)}"
            case Query(number=number, text=text):
                yield f"Search {number}: {line(text)}"
            case Passages(query=number, passages=None):
                yield f"Search {number} failed"
            case Passages(query=number, passages=found):
                self._titles |= {passage.id: line(passage.title or passage.id) for passage in found or ()}
                yield f"Found {number}: {'; '.join(self._titles[p.id] for p in found or ()) or 'nothing'}"
            case Asked(predictor=predictor, seconds=seconds):
                yield f"Asked: {predictor.removesuffix('.predict')} ({seconds:.1f} s)"
            case Turn(number=number):
                yield f"Round {number}"
            case Source(passage=id_, why=why, supports=supports):
                yield f"{'Says so' if supports else 'Shown'}: {self._named(id_, why)}"
            case Statement(text=text, passages=ids):
                yield f"States: {self._named(line(text), '; '.join(self._titles.get(id_, id_) for id_ in ids))}"
            case Spending(cost=cost):
                yield f"Cost: {spent(cost)}"

    def _named(self, id_: str, why: str) -> str:
        return self._titles.get(id_, id_) + (f" ({line(why)})" if why else "")


def line(text: str) -> str:
    """The text on one line, of which all is seen."""
    return " ".join(printable(text).split())


def spent(cost: Cost) -> str:
    """What a question cost: LM calls, searches and seconds."""
    calls = f"{cost.lm_calls} LM call{'' if cost.lm_calls == 1 else 's'}"
    searches = f"{cost.searches} search{'' if cost.searches == 1 else 'es'}"
    return f"{calls}, {searches}, {cost.seconds:.1f} s"


def no_answer(question: str, retriever: Retriever | None, spec: str, cost: Cost) -> str:
    """What to say where a prediction has no answer.

    Args:
        question: What was asked; it is not advised to ask it again.
        retriever: What there was to search; None for closed book.
        spec: Its name on the command line.
        cost: The question's.
    """
    if not cost.searches:
        return "no answer"
    if spec == "sample" and isinstance(retriever, Sized) and question not in QUESTIONS:
        tries = " or ".join(f'"{question}"' for question in QUESTIONS)
        return f"no answer in the packaged corpus; it knows {len(retriever)} abstracts, try: {tries}"
    return f"no answer in what {spec} found"
