import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import render

import programs
from eval.papers.printing import beside
from eval.papers.running import run
from eval.papers.setup import Setup, assigned, states
from eval.papers.tables import Table, TableRow, find
from eval.tasks import choose, load
from eval.tasks.demonstrations.training import Shown
from lms.extractive import extractive_lm
from programs.instruments.state import save_state
from retrieval import Memory, Passage, Retriever
from retrieval import load as load_retriever


@pytest.fixture(scope="module")
def sample() -> Retriever:
    return load_retriever("sample")


def setup(directory: Path, retriever: Retriever | None, **more: Any) -> Setup:
    return Setup(
        lm=lambda examples, _: extractive_lm(),
        retriever=retriever,
        retriever_spec="sample" if retriever else None,
        directory=directory,
        **more,
    )


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


def test_runs_on_the_sample_and_takes_up_what_was_run(sample: Retriever, data: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    made = setup(tmp_path / "runs", sample, limit=2, data=data, on_row=lambda row: asked.append(row.id))
    printed = run_and_print(find("blendfilter:table4"), made)
    line = next(line for line in printed.splitlines() if line.startswith("BlendFilter  ") and "Exact Match" in line)
    assert line.split()[3] == "0.420"
    assert line.endswith(" 2")
    assert "floor (extractive reader, no LM) (paper: GPT3.5-turbo-Instruct" in printed
    assert "Retrieval: sample (paper: BM25" in printed
    assert "2 of the local copy of hotpotqa, in place of hotpotqa:blendfilter" in printed
    assert "Not run" not in printed
    runs = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert len(runs) == 8
    calls = {path: (path / "rows.jsonl").read_bytes() for path in (tmp_path / "runs").iterdir()}
    assert run_and_print(find("blendfilter:table4"), made) == printed
    assert {path: (path / "rows.jsonl").read_bytes() for path in (tmp_path / "runs").iterdir()} == calls


def test_settings_reach_the_programs(sample: Retriever, data: Path, tmp_path: Path) -> None:
    made = setup(tmp_path / "runs", sample, limit=1, data=data, settings=assigned(["k=3"]))
    run_and_print(find("blendfilter:table5"), made)
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert len(manifests) == 4  # the same for both retrievers
    assert {(m["settings"]["original"], m["settings"]["k"]) for m in manifests} == {(True, 3), (False, 3)}


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
    files = states([f"direct:hotpotqa={tmp_path / 'state.json'}"])
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
    files = states([f"cot={tmp_path / 'state.json'}"])
    of_another = setup(tmp_path / "others", sample, limit=1, data=data, states=files)
    assert "is a state of Direct, not of CoT" in run_and_print(table, of_another)


def test_labelled_demonstrations_are_made_where_the_paper_shows_some_and_are_part_of_the_run(
    sample: Retriever, data: Path, tmp_path: Path
) -> None:
    table = with_rows(
        {"name": "One", "program": "direct", "demonstrations": "none"},
        {"name": "Two", "program": "direct"},
        {"name": "Three", "program": "cot", "demonstrations": "required"},
    )
    made = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=2)
    assert "Two: cannot " in run_and_print(table, made)  # no training questions
    assert len(list((tmp_path / "runs").iterdir())) == 1
    (data / "hotpotqa.train.jsonl").write_text((data / "hotpotqa.dev.jsonl").read_text())
    told: list[Shown] = []
    made = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=2, on_demonstrations=told.append)
    printed = run_and_print(table, made)
    assert "Not run" not in printed
    assert "; zero-shot" in printed
    assert "; 2 labelled demonstrations of hotpotqa:train" in printed
    assert [shown.by_predictor for shown in told] == [{"answer": 2}, {"answer.predict": 2}]
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert sorted(m["demonstrations"] is not None for m in manifests) == [False, True, True]
    asked = load("sample", 1)[0].id
    assert all(asked not in m["demonstrations"]["questions"] for m in manifests if m["demonstrations"])
    other = setup(tmp_path / "runs", sample, limit=1, data=data, demonstrations=1)
    run_and_print(table, other)
    assert len(list((tmp_path / "runs").iterdir())) == 5  # runs with other demonstrations


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
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
        made = Setup(
            lm=lambda *_: lm, retriever=None, retriever_spec=None, directory=tmp_path / "runs", limit=1, data=data
        )
        printed = run_and_print(table, made)
    ours = [line.split()[4] for line in printed.splitlines() if "Exact Match" in line]
    assert ours == ["0.000", "1.000"]
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert {manifest["top_p"] for manifest in manifests} == {None, 0.0, 0.5, 1.0}


def test_says_what_is_missing(data: Path, tmp_path: Path) -> None:
    printed = run_and_print(find("blendfilter:table4"), setup(tmp_path / "runs", None, limit=1, data=data))
    assert "BlendFilter: needs a retriever: give --retriever" in printed
    assert len(list((tmp_path / "runs").iterdir())) == 2  # closed book
    nothing = run_and_print(find("migres:table3"), setup(tmp_path / "none", None))  # looks for no questions, either
    assert "40.1" in nothing
    assert "MIGRES, oracle corpus: needs --oracle-retriever" in nothing
    assert not (tmp_path / "none").exists()


def test_an_oracle_corpus_has_a_retriever_of_its_own(data: Path, tmp_path: Path) -> None:
    table = with_rows(
        {"name": "Usual", "program": "direct"}, {"name": "Oracle", "program": "direct", "retriever": "oracle"}
    )
    usual, oracle = Memory([Passage("1", "Rashomon won.")]), Memory([Passage("2", "Rashomon won.")])
    without = setup(tmp_path / "a", usual, limit=1, data=data)
    assert "Oracle: needs --oracle-retriever" in run_and_print(table, without)
    run_and_print(table, setup(tmp_path / "b", usual, limit=1, data=data, oracle=oracle, oracle_spec="the oracle's"))
    seen = {
        json.loads((run / "manifest.json").read_text())["retriever"]: json.loads((run / "rows.jsonl").read_text())
        for run in (tmp_path / "b").iterdir()
    }
    assert {name: [p["id"] for p in row["prediction"]["passages"]] for name, row in seen.items()} == {
        "sample": ["1"],
        "the oracle's": ["2"],
    }


def test_a_judge_and_weights_have_to_be_given(sample: Retriever, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("hotpotqa", "2wikimultihopqa", "strategyqa", "musique", "nq", "triviaqa", "webquestions"):
        row = {"id": "1", "question": "Which river is long?", "answers": ["yes" if name == "strategyqa" else "Orm"]}
        file = choose(name)[0].variants["all"].file
        (data / f"{name}.{file}.jsonl").write_text(json.dumps(row))
    made = setup(tmp_path / "runs", sample, limit=1, data=data)
    assert "needs --judge LM" in run_and_print(find("migres:table8"), made)
    runs = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("react-strategyqa*/manifest.json")]
    assert [run["settings"]["style"] for run in runs] == ["yesno"]
    assert "needs --set upr=…" in run_and_print(find("chain_of_rewrite:table4"), made)
