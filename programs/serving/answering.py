"""Asks questions: each in a thread and a context of its own, and no longer than somebody waits for the answer."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import dspy

from odqa.bridge import bound, watching, within
from odqa.errors import there_are
from programs.instruments.cost import Cost, measured
from programs.instruments.live import AloneQuestion, Asked, Live, Source, Spending, Step, Written, shown
from programs.instruments.trace import Answer, Call, Found, Kept, Query, Statement, Trace, observed, trace
from programs.instruments.words import no_answer
from programs.serving.conversation import StandAlone, Turn
from programs.serving.limits import Day, Limits, Places, Spent
from programs.serving.methods import Methods, Program
from programs.serving.metrics import Metrics
from programs.serving.problems import Problem, as_problem
from programs.serving.question import LATE, Question, Record, Stopped, late
from programs.serving.support import supports
from retrieval import Passage, Retriever, UsageError, union

__all__ = ["Answering", "Asking"]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a client asks."""

    question: str
    method: str
    """Its name, alone or over a retriever: METHOD@RETRIEVER."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not to have their default."""
    retriever: str | None = None
    """Its name; None for the first."""
    prompts: bool = False
    """Whether prompts and replies are told."""
    written: bool = False
    """Whether the answer is told while it is written, where the method's last step is one call."""
    earlier: Sequence[Turn] = ()
    """What was said before the question."""


class Answering:
    """Answers questions with one LM, some methods and some retrievers.

        question = answering.begin(Asking("Which general led the Italian troops at Adwa?", "blendfilter"))
        try:
            record = await question.record()  # or: async for step in question
        finally:
            question.stop()

    Args:
        lm: Is asked; nothing that it is shown is kept.
        methods: Those that may be asked for.
        retrievers: By name, None for closed book; the first is the default.
        adapter: The form in which the LM is asked.
        limits: What is allowed.
        rewrite: Whether the last question of a conversation is made to stand alone, where the LM is a language model.
    """

    def __init__(
        self,
        lm: dspy.LM,
        methods: Methods,
        retrievers: Mapping[str, Retriever | None],
        *,
        adapter: dspy.Adapter,
        limits: Limits,
        rewrite: bool = True,
    ) -> None:
        self.methods, self.retrievers, self.limits = methods, dict(retrievers), limits
        self.lm_name = str(lm.model)
        self.language_model = not self.lm_name.startswith("extractive/")
        self.metrics = Metrics()
        self._lm, self._adapter = bound(lm), adapter
        self._alone = StandAlone() if rewrite and self.language_model else None
        self._day = Day(limits)
        self.places = Places(limits.at_once)
        self.waited_for: set[Question] = set()
        """The questions whose answers somebody waits for."""
        self._stopping = False

    @property
    def models(self) -> list[str]:
        """What can be asked: each method over the first retriever, and each over each retriever, METHOD@RETRIEVER."""
        pairs = [
            f"{method}@{name}"
            for method in self.methods.names
            for name, retriever in self.retrievers.items()
            if retriever is not None or not self.methods.needs_retriever(method)
        ]
        return [*self.methods.names, *pairs]

    def begin(self, asking: Asking) -> Question:
        """Begin to answer; for the thread of an event loop.

        Raises:
            Problem: it cannot be asked, or not now.
        """
        asking, program = self._checked(asking)
        self._day.check()
        give_back = self._take_place()

        def over(question: Question, why: Problem) -> None:
            self.waited_for.discard(question)
            if why.code == LATE:  # its LM may be silent for long: the next question need not wait for that
                give_back()

        def run() -> None:
            try:
                self._run(asking, program, question)
            finally:
                give_back()

        question = Question(self.limits.seconds, over)
        self.waited_for.add(question)
        self.metrics.in_flight.inc()
        threading.Thread(target=run, name="question", daemon=True).start()
        return question

    async def search(self, retriever: Retriever, query: str, k: int) -> list[Passage]:
        """A search that belongs to no question, and takes the place of one until it ends or its time is over.

        Raises:
            Problem: it cannot be made now, or takes too long.
            RetrievalError: it failed.
        """
        give_back = self._take_place()
        making: Future[list[Passage]] = Future()
        making.set_running_or_notify_cancel()  # it ends by itself, whoever waits for it

        def make() -> None:
            try:
                making.set_result(retriever(query, k))
            except BaseException as error:  # whatever it is, somebody waits to be told
                making.set_exception(error)
            finally:
                give_back()

        threading.Thread(target=make, name="search", daemon=True).start()
        found = asyncio.wrap_future(making)
        try:
            if not (await asyncio.wait({found}, timeout=self.limits.seconds))[0]:
                give_back()
                raise late(self.limits.seconds)
            return found.result()
        finally:
            found.cancel()

    def stop(self) -> None:
        """End all questions in flight, and take no more; for the thread of the event loop."""
        self._stopping = True
        for question in list(self.waited_for):
            question.stop(_stopping())

    def _take_place(self) -> Callable[[], None]:
        """Take one of the places of what may be in flight; what is returned gives it back.

        Raises:
            Problem: there is none.
        """
        if self._stopping:
            raise _stopping()
        return self.places.take()

    def _checked(self, asking: Asking) -> tuple[Asking, Program]:
        """What is asked, with the names of the method and of the retriever apart, and the program."""
        method, at, over = asking.method.partition("@")
        if method not in self.methods.names:
            why = f"there is no method {method!r}; {there_are(method, self.methods.names)}"
            raise Problem(404, why, "model_not_found", param="model")
        if at and asking.retriever not in (None, over):
            why = f"{asking.method} is over {over!r}, and the retriever is said to be {asking.retriever!r}"
            raise Problem(400, why, "invalid_request", param="retriever")
        if not asking.question.strip():
            raise Problem(400, "the question is empty", "invalid_request")
        if len(asking.question) > self.limits.question:
            raise Problem(400, f"a question is at most {self.limits.question:,} characters long", "invalid_request")
        name = over if at else asking.retriever or next(iter(self.retrievers))
        if name not in self.retrievers:
            why = f"there is no retriever {name!r}; {there_are(name, self.retrievers)}"
            raise Problem(400, why, "invalid_request", param="retriever")
        try:
            program = self.methods.program(method, self.retrievers[name], asking.settings)
        except UsageError as error:
            raise as_problem(error) from None
        return replace(asking, method=method, retriever=name), program

    def _run(self, asking: Asking, program: Program, question: Question) -> None:
        """In a thread of the question's own: answer it, and tell how it ended."""
        steps: list[Step] = []
        spent = Spent(self.limits)

        def tell(step: Step) -> None:
            if not isinstance(step, Written):  # the answer has it all
                steps.append(step)
            question.tell(step)

        def before_call() -> None:
            question.proceed()
            try:
                spent.begin()
                self._day.begin()
            except Problem as problem:
                raise Stopped(problem) from None

        live = Live(
            tell,
            program.names,
            before_search=question.proceed,
            before_call=before_call,
            read=spent.add,
            paid=self._day.pay,
            prompts=asking.prompts,
            writes=getattr(program.module, "writes", None) if asking.written else None,
        )
        cost = Cost()
        outcome: Record | Problem
        try:
            settings = {"lm": self._lm, "adapter": self._adapter, "trace": None, "disable_history": True}
            ends = within(self.limits.seconds + 1)  # an LM call that nobody waits for any more ends then too
            with ends, watching(live, **settings), observed() as searches, measured(program.names) as cost:
                asked = self._stand_alone(asking, live)
                prediction = program.module(question=asked)
            found = {p.id: p for p in union(*(search.found or () for search in searches))}
            for step in _last_steps(trace(program.module, searches, cost, dict(prediction.items())), asked, found):
                live.tell(step)
            live.tell(Spending(cost=cost))
            outcome = self._record(question.id, asking, asked, program, steps, found, cost)
        except Stopped as stopped:
            outcome = stopped.problem
        except BaseException as error:  # whatever it is, somebody waits to be told
            outcome = question.stopped or as_problem(error)
        finally:
            self.metrics.in_flight.dec()
        ending = outcome.code if isinstance(outcome, Problem) else "answered" if outcome.answer else "unanswered"
        self.metrics.ended(asking.method, ending, cost)
        question.tell(outcome)

    def _stand_alone(self, asking: Asking, live: Live) -> str:
        """The question, as the method is asked."""
        if not (self._alone and asking.earlier):
            return asking.question
        alone = str(self._alone(question=asking.question, earlier=asking.earlier).question)
        live.tell(AloneQuestion(text=alone))
        return alone

    def _record(
        self,
        id_: str,
        asking: Asking,
        asked: str,
        program: Program,
        steps: Sequence[Step],
        found: Mapping[str, Passage],
        cost: Cost,
    ) -> Record:
        name = str(asking.retriever)
        answer = next((step.text for step in steps if isinstance(step, Answer)), "")
        prompts = [step.prompt for step in steps if isinstance(step, Asked) and step.prompt]
        return Record(
            id=id_,
            question=asked,
            method=asking.method,
            settings=program.settings,
            retriever=name,
            lm=self.lm_name,
            answer=answer,
            note=None if answer else no_answer(asked, self.retrievers[name], name, cost),
            steps=tuple(steps),
            passages={id_: shown(passage) for id_, passage in found.items()},
            cost=cost,
            prompts=tuple(prompts) if asking.prompts else None,
        )


def _last_steps(traced: Trace, question: str, found: Mapping[str, Passage]) -> Iterator[Step]:
    """The steps that are known when the question is answered; the others were told when they happened."""
    answer = next((step.text for step in traced.steps_of(Answer)), "")
    statements = traced.steps_of(Statement)
    for step in traced.steps:
        if isinstance(step, Kept):
            text = f"{found[step.passage].title} {found[step.passage].text}" if step.passage in found else ""
            says = supports(text, step.passage, question=question, answer=answer, statements=statements)
            yield Source(**dict(step), supports=says)
        elif not isinstance(step, Query | Found | Call):
            yield step


def _stopping() -> Problem:
    return Problem(503, "the server stops; try again later", "stopping", {"Retry-After": "10"})
