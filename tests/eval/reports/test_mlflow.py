import asyncio
import importlib
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import render

import lms
from eval.__main__ import main
from eval.metrics import em, f1, load
from eval.runs.runner import evaluate
from eval.runs.store import read
from odqa.limits import Limiter, Limits
from programs.blendfilter import BlendFilter
from programs.instruments.cost import measured
from retrieval import Memory, Passage, RetrievalError, Retriever, UsageError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of types of its own
    import mlflow
    from mlflow import MlflowClient
    from mlflow.entities import Span, SpanType, Trace

    from eval.reports.mlflow import Tracing, log, trace_to

pytestmark = [
    pytest.mark.needs("mlflow"),
    pytest.mark.filterwarnings("ignore"),  # those of MLflow and of what it stands on
]

PASSAGES = [
    Passage("1", "The Gateway Arch is an arch in St. Louis, designed by Eero Saarinen.", "Gateway Arch"),
    Passage("2", "Eero Saarinen was an architect, born in Kirkkonummi.", "Eero Saarinen"),
    Passage("3", "St. Louis is a city on the Mississippi.", "St. Louis"),
]
QUESTION = "Where was the designer of the Gateway Arch born?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """MLflow's store in a directory of its own."""
    directory = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")
        patch.chdir(directory)  # where artifacts go
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(f"sqlite:///{directory}/store.db")
        yield directory
        mlflow.set_tracking_uri(before)
        os.environ.pop("MLFLOW_EXPERIMENT_ID", None)  # what set_experiment leaves to processes that are started


@pytest.fixture
def experiment(store: Path, request: pytest.FixtureRequest) -> str:
    return str(mlflow.set_experiment(request.node.name).experiment_id)


@pytest.fixture
def untraced() -> Iterator[None]:
    """Nothing is traced any more when the test is over."""
    yield
    mlflow.dspy.autolog(disable=True, silent=True)
    mlflow.tracing.configure(span_processors=[])
    dspy.configure(callbacks=[], track_usage=False)


@pytest.fixture
def traced(experiment: str, untraced: None) -> str:
    """The id of an experiment that all questions are traced to."""
    dspy.configure(callbacks=[Tracing()])
    mlflow.dspy.autolog(silent=True)
    return experiment


def traces(experiment: str) -> list[Trace]:
    return mlflow.search_traces(locations=[experiment], return_type="list")


def spans(trace: Trace, kind: str) -> list[Span]:
    return [span for span in trace.data.spans if span.span_type == kind]


def check_tree(trace: Trace) -> Span:
    """The root, from which all spans are reached."""
    parents = {span.span_id: span.parent_id for span in trace.data.spans}
    (root,) = (span for span in trace.data.spans if span.parent_id is None)
    for id_ in parents:
        while parents[id_] is not None:
            id_ = parents[id_]
        assert id_ == root.span_id
    return root


@pytest.mark.slow
def test_a_question_is_one_trace_of_program_predictors_lm_calls_and_searches(traced: str) -> None:
    program = BlendFilter(Memory(PASSAGES), k=2)
    with dspy.context(lm=lms.load("extractive")), measured() as cost:
        prediction = program(question=QUESTION)
    (trace,) = traces(traced)
    root = check_tree(trace)
    assert (root.name, root.inputs) == ("BlendFilter.forward", {"question": QUESTION})
    assert root.outputs["answer"] == prediction.answer
    assert len(spans(trace, SpanType.CHAT_MODEL)) == cost.lm_calls == 7
    predictors = spans(trace, SpanType.LLM)
    assert [span.name for span in predictors] == ["Predict.forward"] * 7
    assert {span.parent_id for span in spans(trace, SpanType.CHAT_MODEL)} == {span.span_id for span in predictors}

    searches = spans(trace, SpanType.RETRIEVER)
    assert {span.name for span in searches} == {"Memory.forward"}
    assert {span.parent_id for span in searches} == {root.span_id}  # those in threads too
    assert sorted(span.inputs["query"] for span in searches) == sorted(prediction.queries)
    (first,) = (span for span in searches if span.inputs == {"query": QUESTION, "k": 2})
    assert first.outputs == [
        {"id": p.id, "page_content": p.text, "metadata": {"title": p.title, "score": p.score}}
        for p in Memory(PASSAGES)(QUESTION, 2)
    ]


@pytest.mark.slow
@pytest.mark.leaves_sockets
def test_a_trace_has_no_secret_of_the_lm(experiment: str, untraced: None) -> None:
    trace_to(mlflow.get_experiment(experiment).name)
    given: dict[str, Any] = {"extra_headers": {"X": "sk-in-a-header"}, "extra_body": {"token": "sk-in-body", "seed": 5}}
    with Provider(lambda *_: render({"answer": "Adwa"})).running() as provider:
        lm = dspy.LM("openai/a-model-of-ours", api_base=provider.url, api_key="sk-itself", cache=False, **given)
        with dspy.context(lm=lm):
            dspy.Predict("question -> answer")(question=QUESTION)
    (trace,) = traces(experiment)
    told = json.dumps(trace.to_dict())
    assert "sk-i" not in told
    assert "extra_body" in told


def test_an_awaited_question_is_one_trace_too(traced: str) -> None:
    program = BlendFilter(Memory(PASSAGES), k=2)
    with dspy.context(lm=lms.load("extractive")):
        asyncio.run(program.acall(question=QUESTION))
    (trace,) = traces(traced)
    check_tree(trace)
    assert len(spans(trace, SpanType.RETRIEVER)) == 3


def test_a_search_that_fails_is_an_error_in_the_trace(traced: str) -> None:
    class Down(Retriever):
        def search(self, query: str, k: int) -> list[Passage]:
            raise RetrievalError("no server answers")

    with dspy.context(lm=lms.load("extractive")), pytest.raises(RetrievalError):
        BlendFilter(Down())(question=QUESTION)
    (trace,) = traces(traced)
    root = check_tree(trace)
    (search, *_) = spans(trace, SpanType.RETRIEVER)
    assert str(search.status.status_code) == str(root.status.status_code) == "SpanStatusCode.ERROR"
    assert "no server answers" in json.dumps(search.to_dict())


def examples(*questions: str) -> list[dspy.Example]:
    return [
        dspy.Example(id=f"q{n}", question=question, answers=["Kirkkonummi"], type="a/b").with_inputs("question")
        for n, question in enumerate(questions)
    ]


class Answer(dspy.Module):
    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer="Kirkkonummi")


SECRET = "sk-do-not-tell-anyone"


def reply(prompt: str, before: int) -> str:
    known = ("July 1969", "the playwright Shakespeare", "\n8\n", "the longer one of the two")
    return render({"answer": "in Finland", "implied": any(answer in prompt for answer in known)})


def judged(provider: Provider, directory: Path, **settings: Any) -> None:
    """A run of two questions with a judge, or what the limits let of it."""

    class Program(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = dspy.Predict("question -> answer")

        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=self.read(question=question).answer)

    metric = load("acc_judge:openai/gpt-4o", judge_api_base=provider.url)
    manifest = {"task": "t", "program": "p", "lm": "openai/gpt-4o-mini", "state": None, "settings": {"k": 5, "x": None}}
    with dspy.context(lm=dspy.LM("openai/gpt-4o-mini", api_base=provider.url, cache=False)):
        evaluate(
            Program(),
            examples("one?", "two?"),
            metrics=[em, f1, metric],
            directory=directory,
            manifest=manifest,
            threads=1,
            **settings,
        )


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with Provider(reply).running() as provider:
        yield provider


def everything(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_a_run_is_logged_and_brought_up_to_date(provider: Provider, store: Path, tmp_path: Path) -> None:
    directory, client = tmp_path / "my run", MlflowClient()
    judged(provider, directory, limiter=Limiter(Limits(calls=1)))
    id_ = log(read(directory), experiment="logged")
    run = client.get_run(id_)
    assert (run.info.status, run.data.metrics["n"]) == ("KILLED", 0)

    judged(provider, directory)
    assert log(read(directory), experiment="logged") == id_
    run = client.get_run(id_)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "my run")
    assert {"task": "t", "settings.k": "5", "settings.x": "null", "asked": "2"}.items() <= run.data.params.items()
    assert "state" not in run.data.params
    metrics = run.data.metrics
    assert {"n": 2, "failed": 0, "em": 0, "em.n": 2, "a_b/em": 0, "per_question.lm_calls": 1}.items() <= metrics.items()
    score = json.loads((directory / "summary.json").read_text())["total"]["scores"]["em"]
    assert (metrics["em.low"], metrics["em.high"]) == (score["low"], score["high"])
    assert (metrics["total/lm_calls"], metrics["predictor/read/lm_calls"]) == (2, 2)
    assert metrics["judge/acc_judge:openai/gpt-4o/lm_calls"] == 10
    assert 0 < metrics["total/usd"] < metrics["judge/acc_judge:openai/gpt-4o/usd"]

    kept = {artifact.path: artifact.file_size for artifact in client.list_artifacts(id_)}
    assert kept == {path.name: path.stat().st_size for path in directory.iterdir()}
    (place,) = (e.experiment_id for e in client.search_experiments() if e.name == "logged")
    assert len(client.search_runs([place])) == 1


def test_types_of_questions_may_be_many_and_any_text(store: Path, tmp_path: Path) -> None:
    odd = ["..", "../../up", "", "/", "\n", "x" * 9999, "=cmd|'x'"]
    types = [*(f"type {n}" for n in range(60)), *odd]
    some = examples(*map(str, range(len(types))))
    for example, type_ in zip(some, types, strict=True):
        example.type = type_
    evaluate(Answer(), some, metrics=[em], directory=tmp_path, manifest={})
    metrics = MlflowClient().get_run(log(read(tmp_path), experiment="types")).data.metrics
    assert len(metrics) > 1000
    assert all(metrics[f"type {n}/em"] == 1 for n in range(60))
    names = [name for name in metrics if name.endswith("/n") and not name.startswith("type")]
    assert sorted(names) == ["_.._up/n", "_/n", "_cmd__x_/n", "x" * 100 + "/n"]


def test_no_secret_is_logged_or_traced(provider: Provider, traced: str, store: Path, tmp_path: Path) -> None:
    lm = dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key=SECRET)
    with dspy.context(lm=lm):
        dspy.Predict("question -> answer")(question=QUESTION)
    judged(provider, tmp_path / "run")
    log(read(tmp_path / "run"), experiment="secrets")
    assert len(traces(traced)) > 2
    assert QUESTION.encode() in everything(store)
    assert SECRET.encode() not in everything(store)


def call(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_the_command(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(tmp_path / name) for name in ("one", "two")]
    for run in runs:
        metrics = "em,recall@2"
        flags = ["--lm", "extractive", "--limit", "2", "--run", run, "--metrics", metrics]
        assert call("sample", "--program", "migres", *flags) == 0
    capsys.readouterr()
    assert call("mlflow", *runs, "--experiment", "from the command line") == 0
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["run"] for each in logged] == runs
    run = MlflowClient().get_run(logged[1]["mlflow_run"])
    assert (run.data.params["program"], run.data.params["settings.k"]) == ("migres", "5")
    assert {"recall_2", "iterations", "passages_per_iteration"} <= run.data.metrics.keys()
    assert call("mlflow", str(tmp_path / "none")) == 2
    assert "none holds no run: there is no " in capsys.readouterr().err
    assert call("mlflow", ",".join(runs)) == 2
    assert "are several runs: log each by itself" in capsys.readouterr().err


def test_a_run_from_the_command_line_is_traced(store: Path, untraced: None, tmp_path: Path) -> None:
    run = ["sample", "--program", "blendfilter", "--lm", "extractive", "--limit", "2", "--run", str(tmp_path / "run")]
    assert call(*run, "--max-calls", "3") == 0  # ends within a question
    assert call(*run, "--mlflow", "by flag") == 0
    found = traces(mlflow.get_experiment_by_name("by flag").experiment_id)
    assert [check_tree(trace).name for trace in found] == ["BlendFilter.forward"] * 2
    assert [len(spans(trace, SpanType.RETRIEVER)) for trace in found] == [3, 3]


def test_a_server_that_is_down(
    provider: Provider,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged(provider, tmp_path / "run")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"http://me:{SECRET}@127.0.0.1:{port}")
    try:
        assert call("mlflow", str(tmp_path / "run")) == 2
    finally:
        mlflow.set_tracking_uri(before)
    output, errors = capsys.readouterr()
    (line,) = (line for line in errors.splitlines() if line.startswith("odqa eval: error: "))
    assert f"MLflow cannot log {tmp_path}/run: API request to http://***@127.0.0.1:{port}/" in line
    assert (output, SECRET in errors) == ("", False)


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.delitem(sys.modules, "eval.reports.mlflow")
    with pytest.raises(UsageError, match=r"mlflow is not installed, get it by: pip install 'dspy-odqa\[mlflow\]'"):
        importlib.import_module("eval.reports.mlflow")
