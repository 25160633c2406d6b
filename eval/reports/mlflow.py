"""Runs and traces in MLflow; needs the extra `mlflow`.

log(read("runs/sample-blendfilter"))     logs a run: its settings, figures, costs and files
dspy.configure(callbacks=[Tracing()])    before mlflow.dspy.autolog(): traces of programs, LM calls and searches

Both go to the store that MLFLOW_TRACKING_URI names.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.figures.costs import costs
from eval.figures.summary import Figures, Summary, summarise
from eval.records.run import Run
from odqa.secrets import names_a_secret, public
from retrieval import OdqaError, Passage, Retriever, UsageError

try:
    import mlflow
    from mlflow import MlflowClient
    from mlflow.dspy.callback import MlflowCallback
    from mlflow.entities import Document, Metric, Param, RunStatus, SpanType
    from mlflow.exceptions import MlflowException
    from mlflow.utils.validation import MAX_METRICS_PER_BATCH
except ImportError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[mlflow]'") from error

__all__ = ["Tracing", "log", "trace_to"]

_TAG = "dspy-odqa.run"  # on MLflow's run: a hash of the manifest, to find the run again
_FOLDER = 100  # characters; MLflow takes names of 250


class Tracing(MlflowCallback):
    """MLflow's callback for DSPy, in which each search is a span of the type RETRIEVER with its query and documents.

    Configure it before `mlflow.dspy.autolog()` is called; MLflow then adds no callback of its own.
    """

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if isinstance(outputs, list) and all(isinstance(passage, Passage) for passage in outputs):
            outputs = [Document(p.text, {"title": p.title, "score": p.score}, p.id).to_dict() for p in outputs]
        super().on_module_end(call_id, outputs, exception)

    def _get_span_type_for_module(self, instance: Any) -> str:
        retriever: str = SpanType.RETRIEVER
        return retriever if isinstance(instance, Retriever) else super()._get_span_type_for_module(instance)


def log(run: Run, *, experiment: str = "dspy-odqa") -> str:
    """Log a run, finished or not, to an experiment, which is made if it is missing; gives the id of MLflow's run.

    Its manifest becomes parameters; its scores with their intervals, its counts and costs become metrics; the files of
    its directory become artifacts. A run that was logged before is updated.

    Raises:
        UsageError: it is the best of several runs.
        OdqaError: MLflow cannot log it.
    """
    if len(run.directories) > 1:
        raise UsageError(f"{run.name} are several runs: log each by itself")
    summary = summarise(run.rows, run.manifest.asked, run.manifest)
    with _reported(f"log {run.name}"):
        client = MlflowClient()
        id_ = _run(client, experiment, run)
        now = int(1000 * time.time())
        metrics = [Metric(_name(name), value, now, 0) for name, value in _metrics(summary, run)]
        client.log_batch(id_, params=[Param(name, value) for name, value in _params(run.manifest.entries())])
        for start in range(0, len(metrics), MAX_METRICS_PER_BATCH):
            client.log_batch(id_, metrics[start : start + MAX_METRICS_PER_BATCH])
        client.log_artifacts(id_, str(run.directories[0]))
        status = RunStatus.FINISHED if summary.complete else RunStatus.KILLED
        client.set_terminated(id_, RunStatus.to_string(status))
    return id_


def trace_to(experiment: str) -> None:
    """Turn on `mlflow.dspy.autolog` for this process: from now on what DSPy does is traced to the experiment.

    Raises:
        OdqaError: MLflow cannot use it.
    """
    with _reported(f"trace to {experiment!r}"):
        mlflow.set_experiment(experiment)
    mlflow.tracing.configure(span_processors=[_without_secrets])
    mlflow.dspy.autolog(silent=True)


def _without_secrets(span: Any) -> None:
    """Take out what is secret of an LM's arguments: MLflow leaves out those with a few names only, and no headers."""
    for name, value in span.attributes.items():
        if not name.startswith("mlflow."):  # its own
            span.set_attribute(name, "***" if names_a_secret(name) else public(value))


@contextmanager
def _reported(what: str) -> Iterator[None]:
    try:
        yield
    except MlflowException as error:
        raise OdqaError(f"MLflow cannot {what}: {public(str(error))}") from error


def _run(client: MlflowClient, experiment: str, run: Run) -> str:
    """The id of MLflow's run for this one: the run logged before, or a new one."""
    known = client.get_experiment_by_name(experiment)
    place = known.experiment_id if known else client.create_experiment(experiment)
    sign = hashlib.sha256(json.dumps(run.manifest.entries(), sort_keys=True).encode()).hexdigest()
    found = client.search_runs([place], f"tags.`{_TAG}` = '{sign}'", max_results=1)
    made = found[0] if found else client.create_run(place, run_name=Path(run.name).resolve().name, tags={_TAG: sign})
    return str(made.info.run_id)


def _params(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in manifest.items():
        nested = value if name in ("settings", "versions") else {}
        named = {f"{name}.{key}": setting for key, setting in nested.items()} or {name: value}
        for key, setting in named.items():
            if name != "self_tests" and (nested or setting is not None):
                yield key, setting if isinstance(setting, str) else json.dumps(setting, ensure_ascii=False)


def _metrics(summary: Summary, run: Run) -> Iterator[tuple[str, float]]:
    yield from _figures(summary.total)
    for type_, figures in summary.by_type.items():
        yield from ((f"{_folder(type_)}/{name}", value) for name, value in _figures(figures))
    spent = costs(run.rows, run.manifest)
    groups = {"total": spent.total, **{f"predictor/{name}": share for name, share in spent.total.predictors.items()}}
    groups |= {f"judge/{name}": judge for name, judge in spent.judges.items()}
    amounts = {"iterations": spent.iterations, "passages_per_iteration": spent.passages}
    for group, share in groups.items():
        amounts |= {f"{group}/{name}": value for name, value in asdict(share).items() if name != "predictors"}
    yield from ((name, value) for name, value in amounts.items() if value is not None)


def _figures(figures: Figures) -> Iterator[tuple[str, float]]:
    yield from {"n": figures.n, "failed": figures.failed, "unparsable": figures.unparsable}.items()
    for name, score in figures.scores.items():
        yield from {
            name: score.mean,
            f"{name}.low": score.low,
            f"{name}.high": score.high,
            f"{name}.n": score.n,
        }.items()
    yield from ((f"per_question.{name}", value) for name, value in figures.cost.items())


def _folder(type_: str) -> str:
    """A type of questions, which may be any text, as the folder of its metrics: MLflow makes a path of their names."""
    return re.sub(r"[^\w. -]", "_", type_)[:_FOLDER].strip(".") or "_"


def _name(name: str) -> str:
    """The name with _ for each character that MLflow does not allow, such as @."""
    return re.sub(r"[^\w./: -]", "_", name)
