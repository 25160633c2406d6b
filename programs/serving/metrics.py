"""Counts of what the server does, as Prometheus reads them: numbers and names of methods, no word of any question."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from programs.instruments.cost import Cost

__all__ = ["Metrics"]

_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """What is counted of questions; `registry` has it, and what others add."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.in_flight = Gauge("answers_in_flight", "Questions in flight", registry=registry)
        self._questions = Counter("answers_questions", "Questions that ended", ["method", "outcome"], registry=registry)
        self._seconds = Histogram(
            "answers_question_seconds", "Time of a question", ["method"], buckets=_SECONDS, registry=registry
        )
        names = {"lm_calls": "LM calls", "searches": "Searches", "input_tokens": "Tokens of prompts"}
        names |= {"output_tokens": "Tokens of replies", "usd": "US dollars, as far as prices are known"}
        self._amounts = {
            name: Counter(f"answers_{name}", help_, ["method"], registry=registry) for name, help_ in names.items()
        }

    def ended(self, method: str, outcome: str, cost: Cost) -> None:
        """Count a question that ended.

        Args:
            method: Its method.
            outcome: answered, unanswered, or the code of its problem.
            cost: Of all that was done for it.
        """
        self._questions.labels(method, outcome).inc()
        self._seconds.labels(method).observe(cost.seconds)
        for name, counter in self._amounts.items():
            counter.labels(method).inc(getattr(cost, name) or 0)
