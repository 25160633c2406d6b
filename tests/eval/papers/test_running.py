import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import Function, engine_lm, render

import programs
from eval.papers.measuring import metrics_for
from eval.papers.printing import beside
from eval.papers.running import ANSWER_LAST, NoAnswer, run
from eval.papers.setup import Setup
from eval.papers.tables import Table, TableRow, find
from eval.papers.tables import choose as choose_parts
from eval.runs.found import known_runs
from eval.runs.prepare import adapter
from eval.runs.prepare import run as run_one
from eval.runs.request import Request
from eval.tasks import choose, load
from eval.tasks.demonstrations.training import Shown
from lms.extractive import extractive_lm
from odqa.limits import Limiter, Limits
from programs.instruments.cost import measured
from programs.instruments.state import save_state
from retrieval import Memory, Passage, Retriever
from retrieval import load as load_retriever


@pytest.fixture(scope="module")
def sample() -> Retriever:
    return load_retriever("sample")


def setup(directory: Path, retriever: Retriever | None, **more: Any) -> Setup:
    """A setup; what a request has too goes into that."""
    of_request = {name: more.pop(name) for name in [*more] if name in Request.__dataclass_fields__}
    if "data" in of_request:
        of_request["data"] = str(of_request["data"])
    request = Request(task="", program="", **of_request)
    retrievers = {"": ("sample", retriever)} if retriever else {}
    usual = {"lms": {"": lambda *_: extractive_lm()}, "retrievers": retrievers, "directory": directory}
    return Setup(request=request, **{**usual, **more})


def with_rows(*rows: dict[str, Any]) -> Table:
    """BlendFilter's Table 4 with other rows."""
    table = find("blendfilter:table4")
    usual = {"figures": [None, None], "retriever": "bm25"}
    return table.model_copy(update={"rows": tuple(TableRow.model_validate({**usual, **row}) for row in rows)})


def run_and_print(table: Table, setup: Setup) -> str:
    return beside(run(table, setup))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A local copy of HotpotQA, with the sample's questions in it."""
    directory = tmp_path / "data"
    directory.mkdir()
    lines = [json.dumps(dict(example.items())) for example in load("sample", 6)]
    (directory / "hotpotqa.dev.jsonl").write_text("\n".join(lines))
    return directory


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)


def test_runs_on_the_sample_and_takes_up_what_was_run(sample: Retriever, data: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    made = setup(tmp_path / "runs", sample, limit=2, data=data, on_row=lambda row: asked.append(row.id))
    printed = run_and_print(find("blendfilter:table4"), made)
    line = next(line for line in printed.splitlines() if line.startswith("BlendFilter  ") and "Exact Match" in line)
    assert line.split()[3] == "0.420"
    assert line.endswith(" 2")
    assert "Reader: extractive/reader = floor (extractive reader, no LM) (paper: gpt-3.5-turbo-instruct)" in printed
    assert "Retrieval: sample (paper: bm25)" in printed
    assert "2 of the local copy of hotpotqa, in place of hotpotqa:blendfilter" in printed
    assert "Not run" not in printed
    runs = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(runs) == 8
    calls = {path: (path / "rows.jsonl").read_bytes() for path in (tmp_path / "runs").iterdir()}
    assert run_and_print(find("blendfilter:table4"), made) == printed
    assert {path: (path / "rows.jsonl").read_bytes() for path in (tmp_path / "runs").iterdir()} == calls


def test_demonstrations_are_shown_where_the_paper_shows_some(sample: Retriever, data: Path, tmp_path: Path) -> None:
    table = with_rows(
        {"name": "One", "program": "direct", "demonstrations": "none"},
        {"name": "Two", "program": "direct"},
        {"name": "Three", "program": "direct", "demonstrations": "required"},
        {"name": "Four", "program": "cot", "demonstrations": "required"},
    )
    program = programs.load("direct")(sample)
    program.answer.demos = [dspy.Example(context="[1] Orm: a river", question="What is the Orm?", answer="a river")]
    save_state(program, tmp_path / "state.json", {})
    files = {"direct:hotpotqa": str(tmp_path / "state.json")}
    made = setup(tmp_path / "runs", sample, limit=1, data=data, states=files)
    printed = run_and_print(table, made)
    assert "Four: needs --demonstrations N, or --state cot=FILE" in printed
    assert "; zero-shot" in printed
    assert f"; with the state {tmp_path / 'state.json'}" in printed
    tokens = {}
    for directory in (tmp_path / "runs").iterdir():
        shown = json.loads((directory / "manifest.json").read_text())["state"] is not None
        tokens[shown] = json.loads((directory / "rows.jsonl").read_text())["cost"]["input_tokens"]
    assert tokens[False] < tokens[True]
    files = {"cot": str(tmp_path / "state.json")}
    of_another = setup(tmp_path / "others", sample, limit=1, data=data, states=files)
    assert "is a state of Direct, not of CoT" in run_and_print(table, of_another)


def test_labelled_demonstrations_are_made_where_the_paper_shows_some_and_are_part_of_the_run(
    offline: None, sample: Retriever, data: Path, tmp_path: Path
) -> None:
    table = with_rows(
        {"name": "One", "program": "direct", "demonstrations": "none"},
        {"name": "Two", "program": "direct"},
        {"name": "Three", "program": "cot", "demonstrations": "required"},
    )
    made = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=2)
    assert "Two; Three: cannot " in run_and_print(table, made)  # no training questions
    assert len(list((tmp_path / "runs").iterdir())) == 1
    asked_first, *others = (data / "hotpotqa.dev.jsonl").read_text().splitlines()
    (data / "hotpotqa.dev.jsonl").write_text(asked_first)
    (data / "hotpotqa.train.jsonl").write_text("\n".join([asked_first, *others]))
    told: list[Shown | str] = []
    made = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=2, on_demonstrations=told.append)
    printed = run_and_print(table, made)
    assert "Not run" not in printed
    assert "; zero-shot" in printed
    assert "; 2 labelled demonstrations of hotpotqa:train" in printed
    assert [shown.by_predictor for shown in told if isinstance(shown, Shown)] == [{"answer": 2}, {"answer.predict": 2}]
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert sorted(m["demonstrations"] is not None for m in manifests) == [False, True, True]
    asked = load("sample", 1)[0].id
    assert all(asked not in m["demonstrations"]["questions"] for m in manifests if m["demonstrations"])
    other = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=1)
    run_and_print(table, other)
    assert len(list((tmp_path / "runs").iterdir())) == 5  # runs with other demonstrations


def test_blendfilters_rows_show_three_where_training_questions_are_at_hand(
    offline: None, sample: Retriever, data: Path, tmp_path: Path
) -> None:
    (table,) = choose_parts([find("blendfilter:fig2")], ["BM25"], [])
    told: list[str] = []
    made = setup(tmp_path / "runs", sample, limit=1, data=data, on_demonstrations=lambda one: told.append(str(one)))
    printed = run_and_print(table, made)  # the hub is not asked for what the local copies lack
    assert "(paper: gpt-3.5-turbo-instruct); zero-shot, the paper 3-shot" in printed
    assert told == []
    asked_first, *others = (data / "hotpotqa.dev.jsonl").read_text().splitlines()
    (data / "hotpotqa.dev.jsonl").write_text(asked_first)
    (data / "hotpotqa.train.jsonl").write_text("\n".join([asked_first, *others]))
    printed = run_and_print(table, made)
    assert "Not run" not in printed
    assert "; 3 labelled demonstrations of hotpotqa:train" in printed
    assert len(told) == 2  # direct retrieval asks no LM, and shows it nothing
    none = setup(tmp_path / "none", sample, limit=1, data=data, demonstrations=0)
    assert "labelled demonstrations" not in run_and_print(table, none)
    (data / "hotpotqa.train.jsonl").write_text(asked_first)
    printed = run_and_print(table, made)
    assert "; zero-shot, the paper 3-shot" in printed
    assert "Not run" not in printed
    assert "blendfilter, hotpotqa:blendfilter: zero-shot: all questions of hotpotqa:train are asked" in told[-1]
    asked_for = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=3)
    assert "all questions of hotpotqa:train are asked" in run_and_print(table, asked_for)


@pytest.mark.leaves_sockets
def test_the_best_of_several_answers(data: Path, tmp_path: Path) -> None:
    table = with_rows(
        {"name": "One", "program": "direct", "retriever": "none"},
        {"name": "Three", "program": "direct", "retriever": "none", "top_p": [0, 0.5, 1]},
    )
    (example,) = load("sample", 1)

    def reply(prompt: str, before: int) -> str:
        return render({"answer": example.answers[0] if before == 2 else "no idea"})

    with Provider(reply).running() as provider:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key="none", cache=False)
        made = setup(tmp_path / "runs", None, lms={"": lambda *_: lm}, limit=1, data=data)
        printed = run_and_print(table, made)
    ours = [line.split()[4] for line in printed.splitlines() if line.endswith(" 1") and "Exact Match" in line]
    assert ours == ["0.000", "1.000"]
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert {manifest["lm_args"].get("top_p") for manifest in manifests} == {None, 0.0, 0.5, 1.0}
    assert "top_p" not in printed  # it is one row, by one LM


def manifests(directory: Path) -> list[Any]:
    return [json.loads(path.read_text()) for path in sorted((directory / "runs").glob("*/manifest.json"))]


def calls_by_predictor(directory: Path) -> list[dict[str, int]]:
    """The LM calls of each run."""
    runs = []
    for path in (directory / "runs").glob("*/rows.jsonl"):
        spent = [json.loads(line)["cost"]["predictors"] for line in path.read_text().splitlines()]
        runs.append({name: sum(one[name]["lm_calls"] for one in spent) for name in spent[0]})
    return sorted(runs, key=len)


@pytest.fixture
def answering() -> Iterator[Callable[..., Provider]]:
    """Starts servers that always give one answer, whatever they are asked."""
    with ExitStack() as servers:
        yield lambda **fields: servers.enter_context(Provider(lambda prompt, before: render(fields)).running())


def test_a_run_that_a_limit_stops_before_its_first_answer_says_so(
    sample: Retriever, data: Path, tmp_path: Path
) -> None:
    table = with_rows({"name": "One", "program": "blendfilter"})
    made = setup(tmp_path / "runs", sample, limit=1, data=data, limiter=Limiter(Limits(calls=2)))
    assert "One: the limit of 2 LM calls is reached before a question was answered" in run_and_print(table, made)


def test_a_rows_own_settings_win_over_the_callers(sample: Retriever, data: Path, tmp_path: Path) -> None:
    table = with_rows(
        {"name": "Own", "program": "iter_retgen", "settings": {"k": 3}}, {"name": "Any", "program": "iter_retgen"}
    ).model_copy(update={"settings": {"k": 4, "turns": 1}})
    made = setup(tmp_path / "runs", sample, limit=1, data=data, settings={"k": 2})
    run_and_print(table, made)
    assert {(m["settings"]["k"], m["settings"]["turns"]) for m in manifests(tmp_path)} == {(3, 1), (2, 1)}


def test_f1_is_that_of_the_paper(sample: Retriever, tmp_path: Path) -> None:
    row = {"id": "1", "question": "Is the Orm a river?", "answers": ["yes"]}
    (tmp_path / "hotpotqa.dev.jsonl").write_text(json.dumps(row))
    said = engine_lm(Function(lambda system, prompt: render({"answer": "yes it is"})))
    (table,) = choose_parts([find("blendfilter:table4")], ["Direct, without retrieval"], ["F1"])
    ran = run(table, setup(tmp_path / "runs", None, lms={"": lambda *_: said}, data=tmp_path))
    assert [cell.ours and cell.ours.value for cell in ran.cells] == [0]


def test_a_column_has_the_retriever_of_its_task(offline: None, data: Path, tmp_path: Path) -> None:
    row = {"id": "1", "question": "What won?", "answers": ["Rashomon"]}
    (data / "musique.dev.jsonl").write_text(json.dumps(row))
    (table,) = choose_parts([find("migres:table3")], ["VANILLA"], ["Hotpot EM", "Musique EM"])
    both = {
        "": ("of 2018", Memory([Passage("1", "It won.")])),
        "@musique": ("of 2021", Memory([Passage("2", "Rashomon won.")])),
    }
    run_and_print(table, setup(tmp_path / "runs", None, limit=1, data=data, retrievers=both))
    assert {m["task"]: m["retriever"] for m in manifests(tmp_path)} == {
        "hotpotqa:migres": "of 2018",
        "musique:migres": "of 2021",
    }


def test_each_role_has_its_retriever_and_a_role_without_one_is_not_run(data: Path, tmp_path: Path) -> None:
    table = find("blendfilter:table5")
    table = table.model_copy(update={"rows": (table.rows[0], table.rows[4])})
    bm25, colbert = Memory([Passage("1", "Rashomon won.")]), Memory([Passage("2", "Rashomon won.")])
    made = setup(tmp_path / "runs", None, limit=1, data=data, retrievers={"bm25": ("the bm25", bm25)})
    printed = run_and_print(table, made)
    assert "BlendFilter, ColBERTv2: needs --retriever colbertv2=SPEC, or --retriever SPEC for all" in printed
    assert [m["retriever"] for m in manifests(tmp_path)] == ["the bm25"]
    both = {"": ("usual", colbert), "bm25": ("the bm25", bm25)}
    printed = run_and_print(table, setup(tmp_path / "runs", None, limit=1, data=data, retrievers=both))
    assert "Retrieval: the bm25 (paper: bm25)" in printed
    assert "Retrieval: usual (paper: colbertv2)" in printed
    assert {m["retriever"] for m in manifests(tmp_path)} == {"the bm25", "usual"}
    assert "stands for" not in printed
    same = run_and_print(table, setup(tmp_path / "runs", None, limit=1, data=data, retrievers={"": ("usual", colbert)}))
    assert "One retriever stands for colbertv2, bm25: rows that differ in it alone have the same figures" in same


def qpaug(data: Path, *names: str) -> Table:
    """Rows of QPaug's Table 3 on HotpotQA."""
    (table,) = choose_parts([find("qpaug:table3")], names, ["Hotpot F1"])
    return table


@pytest.mark.leaves_sockets
def test_the_planner_writes_the_plan_and_the_reader_all_else(
    answering: Callable[..., Provider], sample: Retriever, data: Path, tmp_path: Path
) -> None:
    reader, planner = answering(answer="Rome", passage="It is Rome."), answering(plan="1. Look for Rashomon.")
    named = {"gpt-3.5": ("openai/reader", reader.url), "planner": ("openai/planner", planner.url)}
    lms = {
        role: lambda *_, model=model, url=url: dspy.LM(model, api_base=url, api_key="none", cache=False)
        for role, (model, url) in named.items()
    }
    table = qpaug(data, "GPT-3.5, SBERT", "GPT-3.5, SBERT + QPaug", "LLaMA-2-7b-chat, SBERT + QPaug")
    made = setup(tmp_path / "runs", sample, limit=1, data=data, lms=lms)
    printed = run_and_print(table, made)
    assert "Reader: openai/reader, " in printed
    assert "(paper: gpt-3.5); zero-shot" in printed
    assert "Planner: openai/planner, " in printed
    assert "(paper: gpt-4); zero-shot" in printed
    assert "LLaMA-2-7b-chat, SBERT + QPaug: needs --lm llama-2-7b-chat=SPEC, or --lm SPEC for all" in printed
    # Without augmentation there is no plan: one answer; with it one plan, one passage from memory, one answer.
    assert (planner.asked, reader.asked) == (1, 1 + 2)
    (augmented,) = (m for m in manifests(tmp_path) if m["settings"]["augment"])
    assert (augmented["lm"], augmented["planner"]["lm"]) == ("openai/reader", "openai/planner")
    rows = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/rows.jsonl")]
    assert {row["prediction"]["own"]["plan"] for row in rows} == {"", "1. Look for Rashomon."}
    assert run_and_print(table, made) == printed
    for rows_file in (tmp_path / "runs").glob("*/rows.jsonl"):
        rows_file.write_text("")  # as after a kill
    assert run_and_print(table, made) == printed
    assert (planner.asked, reader.asked) == (1, 3)  # the plan's reply is not paid twice, either


def test_a_planner_that_is_the_reader_makes_no_run_of_its_own(sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("qpaug:table2")], ["QPaug"], ["Hotpot"])
    made = setup(tmp_path / "runs", sample, limit=1, data=data)
    run_and_print(table, made)  # the paper's Table 2 has no planner, and Table 3 has the same row with one
    assert "Planner: " in run_and_print(qpaug(data, "GPT-3.5, Contriever + QPaug"), made)
    assert len(manifests(tmp_path)) == 1


def test_a_role_for_all_is_said_to_stand_for_several(sample: Retriever, data: Path, tmp_path: Path) -> None:
    printed = run_and_print(qpaug(data, "GPT-4, SBERT", "GPT-3.5, SBERT"), setup(tmp_path, sample, limit=1, data=data))
    assert "One LM stands for gpt-4, gpt-3.5: rows that differ in it alone have the same figures" in printed


def test_searches_alone_pay_for_no_answers(sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("qpaug:table4")], ["SBERT", "SBERT + Qaug by GPT-4"], ["Hotpot"])
    printed = run_and_print(table, setup(tmp_path / "runs", sample, limit=2, data=data))
    assert "No answers are asked for" in printed
    assert "Hotpot: leaves out 1 of 2 questions, which are answered by yes or no" in printed
    assert "Not run" not in printed
    assert calls_by_predictor(tmp_path) == [{}, {"plan": 2}]
    assert {m["lm"] for m in manifests(tmp_path)} == {None}
    assert {name for m in manifests(tmp_path) for name in m["metrics"]} >= {"answer_recall@10"}
    assert not {"f1", "em"} & {name for m in manifests(tmp_path) for name in m["metrics"]}


def test_searches_alone_need_no_lm(sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("qpaug:table4")], ["SBERT", "SBERT + Qaug by GPT-4"], ["Hotpot"])
    printed = run_and_print(table, setup(tmp_path / "runs", sample, limit=1, data=data, lms={}))
    assert "SBERT + Qaug by GPT-4: needs --lm gpt-4=SPEC, or --lm SPEC for all" in printed
    assert [m["settings"]["augment"] for m in manifests(tmp_path)] == [False]


def test_a_row_that_is_scored_by_answers_too_asks_for_them(sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("qpaug:table4")], ["SBERT"], ["Hotpot"])
    f1 = find("qpaug:table3").columns[5].model_copy(update={"task": table.columns[0].task})
    table = table.model_copy(update={"columns": (*table.columns, f1)})
    table = table.model_copy(update={"rows": (table.rows[0].model_copy(update={"figures": (None, None)}),)})
    run_and_print(table, setup(tmp_path / "runs", sample, limit=1, data=data))
    assert calls_by_predictor(tmp_path) == [{"answer": 1}]


def test_an_average_needs_all_its_columns(offline: None, sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("qpaug:table3")], ["GPT-4, SBERT"], ["Hotpot F1", "Average F1"])
    ran = run(table, setup(tmp_path / "runs", sample, limit=1, data=data))
    ours = {cell.column.name: (cell.ours is not None, bool(cell.why_not)) for cell in ran.cells}
    missing = (False, True)
    assert ours == {"NQ F1": missing, "2wiki F1": missing, "Hotpot F1": (True, False), "Average F1": (False, False)}


def test_rounds_and_passages_of_all_loops_are_counted(sample: Retriever, data: Path, tmp_path: Path) -> None:
    (table,) = choose_parts([find("migres:table4")], [], ["Hotpot"])
    ran = run(table, setup(tmp_path / "runs", sample, limit=3, data=data))
    ours = {(cell.row.name, cell.column.name): cell.ours for cell in ran.cells}
    for name in ("ReAct", "Self-Ask", "ITER_RETGEN", "MIGRES"):
        assert ours[name, "Hotpot # Iter"], name
        assert ours[name, "Hotpot # Passages"], name
    iter_retgen = [ours["ITER_RETGEN", f"Hotpot # {what}"] for what in ("API", "Iter", "Passages")]
    assert [figure and figure.value for figure in iter_retgen] == [2, 2, 5]
    react = [ours["ReAct", f"Hotpot # {what}"] for what in ("API", "Iter")]
    assert react[0] == react[1]  # a step is an LM call


def test_says_what_is_missing(data: Path, tmp_path: Path) -> None:
    printed = run_and_print(find("blendfilter:table4"), setup(tmp_path / "runs", None, limit=1, data=data))
    assert "BlendFilter: needs --retriever bm25=SPEC, or --retriever SPEC for all" in printed
    assert len(list((tmp_path / "runs").iterdir())) == 2  # closed book
    nothing = run_and_print(find("migres:table3"), setup(tmp_path / "none", None))  # looks for no questions, either
    assert "40.1" in nothing
    assert "MIGRES, oracle corpus: needs --retriever oracle=SPEC" in nothing
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_judge_and_weights_have_to_be_given(sample: Retriever, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("hotpotqa", "2wikimultihopqa", "strategyqa", "musique", "nq", "triviaqa", "webquestions"):
        row = {"id": "1", "question": "Which river is long?", "answers": ["yes" if name == "strategyqa" else "Orm"]}
        file = choose(name)[0].variants["all"].file
        (data / f"{name}.{file}.jsonl").write_text(json.dumps(row))
    made = setup(tmp_path / "runs", sample, limit=1, data=data)
    (judged,) = choose_parts([find("migres:table8")], [], ["Hotpot", "NQ"])
    assert "needs --judge LM" in run_and_print(judged, made)
    assert not (tmp_path / "runs").exists()  # none of these figures can be had without one
    run_and_print(*choose_parts([find("migres:table3")], ["ReAct"], ["StrategyQA EM", "StrategyQA Acc"]), made)
    runs = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("react-strategyqa*/manifest.json")]
    assert [run["settings"]["style"] for run in runs] == ["yesno"]
    assert "needs --set upr=…" in run_and_print(find("chain_of_rewrite:table4"), made)


def test_a_run_of_eval_that_asked_the_same_stands_for_a_row(
    sample: Retriever, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has another name for the questions and other metrics; one with another setting does not stand for it."""
    usual = Request(task=f"file:{data}/hotpotqa.dev.jsonl", program="cot", lm="extractive", limit=2, metrics=("em",))
    for name, request in {"other": replace(usual, settings={"k": 3}), "same": usual}.items():
        run_one(request, tmp_path / "known" / name)
    before = {path: path.read_bytes() for path in (tmp_path / "known").rglob("*.json*")}
    taken: list[Path] = []
    known = known_runs([tmp_path / "nowhere", tmp_path / "known"])
    made = setup(tmp_path / "runs", sample, limit=2, data=data, known=known, on_run=lambda *run: taken.append(run[2]))
    (table,) = choose_parts([find("blendfilter:table4")], ["CoT"], ["F1"])
    with monkeypatch.context() as patched, adapter(usual):
        patched.setattr("eval.papers.running.ask", lambda *_, **__: pytest.fail("the program is asked again"))
        printed = run_and_print(table, made)
        assert run_and_print(table, made) == printed
    assert "Not run" not in printed
    assert taken[0] == tmp_path / "known" / "same"
    (rescored,) = manifests(tmp_path)
    assert "hotpot_f1" in rescored["metrics"]
    assert rescored["rescored"]["metrics"] == ["em"]
    assert {path: path.read_bytes() for path in (tmp_path / "known").rglob("*.json*")} == before
    with adapter(usual):
        run_and_print(table, replace(made, request=replace(made.request, limit=1)))  # other questions
    assert len(manifests(tmp_path)) == 2


def test_a_run_of_eval_with_all_metrics_is_taken_as_it_is(sample: Retriever, data: Path, tmp_path: Path) -> None:
    task = f"file:{data}/hotpotqa.dev.jsonl"
    names = metrics_for("hotpotqa:blendfilter", "direct", None)
    request = Request(task=task, program="direct", lm="extractive", limit=1, metrics=(*names, "rouge_l"))
    run_one(request, tmp_path / "known" / "same")
    made = setup(tmp_path / "runs", sample, limit=1, data=data, known=known_runs([tmp_path]))
    (table,) = choose_parts([find("blendfilter:table4")], ["Direct"], ["F1"])
    with adapter(request):
        assert "Not run" not in run_and_print(table, made)
    assert manifests(tmp_path) == []


@pytest.mark.parametrize("name", sorted(ANSWER_LAST))
def test_without_the_answer_the_searches_are_the_same_and_cost_less(name: str) -> None:
    seen, calls = [], []
    for answers in (True, False):
        program = programs.load(name)(load_retriever("sample"))
        if not answers:
            program.answer = NoAnswer(program.answer)
        with dspy.context(lm=extractive_lm()), measured() as cost:
            seen.append(program(question="Who founded IKEA?"))
        calls.append(cost.lm_calls)
    for field in ("queries", "passages", "evidence", "retrieved", "ranked"):
        assert seen[0].get(field) == seen[1].get(field), field
    assert seen[0].answer != ""
    assert seen[1].answer == ""
    assert calls[1] < calls[0]
    assert "answer" not in {predictor.partition(".")[0] for predictor in cost.predictors}
