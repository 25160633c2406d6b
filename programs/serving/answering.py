"""Asks questions: each in a thread and a context of its own, and no longer than somebody waits for the answer."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import dspy

from programs.commands.way import no_answer
from programs.instruments.cost import Cost, measured, recording, without_history
from programs.instruments.searches import observed
from programs.instruments.trace import Answer, Call, Found, Query, trace
from programs.serving.conversation import StandAlone, Turn
from programs.serving.limits import Day, Limits
from programs.serving.live import AloneQuestion, Asked, Live, Spending, Step, shown
from programs.serving.methods import Methods, Program
from programs.serving.metrics import Metrics
from programs.serving.problems import Problem, as_problem
from programs.serving.question import Question, Stopped, late
from programs.serving.records import Record
from retrieval import Passage, Retriever, UsageError, union

__all__ = ["Answering", "Asking"]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a client asks."""

    question: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those that are not to have their default."""
    retriever: str | None = None
    """Its name; None for the first."""
    prompts: bool = False
    """Whether prompts and replies are told."""
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
        self._lm, self._adapter = without_history(lm), adapter
        self._alone = StandAlone() if rewrite and self.language_model else None
        self._day = Day(limits)
        self._free = threading.Semaphore(limits.at_once)
        self.waited_for: set[Question] = set()
        """The questions whose answers somebody waits for."""
        self._stopping = False

    def begin(self, asking: Asking) -> Question:
        """Begin to answer; for the thread of an event loop.

        Raises:
            Problem: it cannot be asked, or not now.
        """
        name, program = self._checked(asking)
        self._day.check()
        self._take_place()
        question = Question(self.limits.seconds, self.waited_for.discard)
        self.waited_for.add(question)
        self.metrics.in_flight.inc()
        run = threading.Thread(target=self._run, args=(asking, name, program, question), name="question", daemon=True)
        run.start()
        return question

    async def search(self, retriever: Retriever, query: str, k: int) -> list[Passage]:
        """A search that belongs to no question, and takes the place of one until it ends.

        Raises:
            Problem: it cannot be made now, or takes too long.
            RetrievalError: it failed.
        """
        self._take_place()
        making: Future[list[Passage]] = Future()
        making.set_running_or_notify_cancel()  # it ends by itself, whoever waits for it

        def make() -> None:
            try:
                making.set_result(retriever(query, k))
            except BaseException as error:  # whatever it is, somebody waits to be told
                making.set_exception(error)
            finally:
                self._free.release()

        threading.Thread(target=make, name="search", daemon=True).start()
        found = asyncio.wrap_future(making)
        try:
            if not (await asyncio.wait({found}, timeout=self.limits.seconds))[0]:
                raise late(self.limits.seconds)
            return found.result()
        finally:
            found.cancel()

    def stop(self) -> None:
        """End all questions in flight, and take no more; for the thread of the event loop."""
        self._stopping = True
        for question in list(self.waited_for):
            question.stop(_stopping())

    def _take_place(self) -> None:
        """Take one of the places of what may be in flight.

        Raises:
            Problem: there is none.
        """
        if self._stopping:
            raise _stopping()
        if not self._free.acquire(blocking=False):
            raise Problem(503, "too many questions are in flight; try again later", "busy", {"Retry-After": "1"})

    def _checked(self, asking: Asking) -> tuple[str, Program]:
        """The retriever's name and the program."""
        if asking.method not in self.methods.names:
            there = ", ".join(self.methods.names)
            raise Problem(404, f"there is no method {asking.method!r}; there are: {there}", "model_not_found")
        if not asking.question.strip():
            raise Problem(400, "the question is empty", "invalid_request")
        if len(asking.question) > self.limits.question:
            raise Problem(400, f"a question is at most {self.limits.question:,} characters long", "invalid_request")
        name = asking.retriever or next(iter(self.retrievers))
        if name not in self.retrievers:
            there = ", ".join(self.retrievers)
            raise Problem(400, f"there is no retriever {name!r}; there are: {there}", "invalid_request")
        try:
            return name, self.methods.program(asking.method, self.retrievers[name], asking.settings)
        except UsageError as error:
            raise as_problem(error) from None

    def _run(self, asking: Asking, name: str, program: Program, question: Question) -> None:
        """In a thread of the question's own: answer it, and tell how it ended."""
        steps: list[Step] = []
        calls = count(1)

        def tell(step: Step) -> None:
            steps.append(step)
            question.tell(step)

        def before_call() -> None:
            question.proceed()
            try:
                if next(calls) > (most := self.limits.question_calls):
                    why = f"a question takes at most {most:,} LM calls here: ask for fewer by its settings"
                    raise Problem(400, why, "invalid_request")
                self._day.begin()
            except Problem as problem:
                raise Stopped(problem) from None

        live = Live(
            tell,
            program.names,
            before_search=question.proceed,
            before_call=before_call,
            paid=self._day.pay,
            prompts=asking.prompts,
        )
        cost = Cost()
        outcome: Record | Problem
        try:
            settings = {"lm": self._lm, "adapter": self._adapter, "trace": None}
            with recording(live, **settings), observed() as searches, measured(program.names) as cost:
                asked = self._stand_alone(asking, live)
                prediction = program.module(question=asked)
            for step in trace(program.module, searches, cost, dict(prediction.items())).steps:
                if not isinstance(step, Query | Found | Call):  # which were told live
                    live.tell(step)
            live.tell(Spending(cost=cost))
            found = [passage for search in searches for passage in search.found or ()]
            outcome = self._record(question.id, asking, asked, name, program, steps, found, cost)
        except Stopped as stopped:
            outcome = stopped.problem
        except BaseException as error:  # whatever it is, somebody waits to be told
            outcome = as_problem(error)
        finally:
            self.metrics.in_flight.dec()
            self._free.release()
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
        name: str,
        program: Program,
        steps: Sequence[Step],
        found: Sequence[Passage],
        cost: Cost,
    ) -> Record:
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
            note=None if answer else no_answer(self.retrievers[name], name, cost),
            steps=tuple(steps),
            passages={passage.id: shown(passage) for passage in union(found)},
            cost=cost,
            prompts=tuple(prompts) if asking.prompts else None,
        )


def _stopping() -> Problem:
    return Problem(503, "the server stops; try again later", "stopping", {"Retry-After": "10"})
