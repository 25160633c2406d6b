"""What a run is asked to do: one type, whether it comes from flags, a TOML set, a row of a paper or code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from odqa.cluster import Workers
from programs.instruments.adapters import Structured

__all__ = ["Pace", "Request"]


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Where, how fast and how stubbornly questions are asked. It changes no answer."""

    threads: int | None = None
    """Questions in flight at the same time; by default 8, or 64 in each worker; with a local model as many as it
    computes calls at the same time, since more would only mix up the prompts that it keeps."""
    lm_calls: int | None = None
    """LM calls in flight at the same time over all questions, by default 32, or 64 for each worker."""
    workers: Workers | None = None
    """Other processes to ask the questions in; None for this one. Rows, figures, limits and interrupts are the same.
    What reached this process of a worker that dies is kept, and its questions are asked again with that. The program,
    the metrics and the LM are pickled; retrievers that `retrieval.load` opened are opened anew in each worker.
    Callbacks in DSPy's settings hear nothing of what happens there."""
    retries: int = 2
    """How often a question is asked again after an error of the LM's provider that may pass. Calls that were answered
    are not made again."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a run is asked to do. The defaults here are those of the command line too, where no variable of the
    environment says otherwise."""

    task: str
    """The questions, as `eval.tasks.load` takes them."""
    program: str
    """Its name; see `programs.names`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the program, by name; where one is not named, the program's default holds."""
    state: str | None = None
    """A state file with compiled prompts; see `programs.instruments.state`."""
    demonstrations: int | None = None
    """Labelled demonstrations for each predictor, made of training questions; None for none."""
    retriever: str = "sample"
    """As `retrieval.load` takes it; none for closed book."""
    lm: str = "auto"
    """As `lms.load` takes it, or oracle, or oracle:ERROR_RATE."""
    lm_settings: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `lms.load`: api_base, temperature, max_tokens …"""
    adapter: str | None = None
    """As `programs.instruments.adapters.load_adapter` takes it; likewise `structured`."""
    structured: Structured = "auto"
    seed: int = 0
    """Number of this attempt at the questions: with another one the LM draws its replies anew."""
    cache: bool = False
    """Whether the replies in DSPy's cache are used."""
    limit: int | None = None
    """Only the first so many questions."""
    data: str | None = None
    """Directory with local copies of data sets."""
    metrics: tuple[str, ...] = ()
    """As `eval.metrics.load` takes them; if empty, those that are usual for the questions."""
    judge_api_base: str | None = None
    """Address of an OpenAI-compatible server for the LM of acc_judge."""
    pace: Pace = Pace()

    def __str__(self) -> str:
        return ", ".join([self.task, self.program, *(f"{name} {value}" for name, value in self.settings.items())])
