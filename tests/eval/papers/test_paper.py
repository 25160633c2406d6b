import inspect
import json
from pathlib import Path

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import render

import programs
from eval import metrics
from eval.papers import paper
from eval.papers.paper_tables import TABLES
from eval.papers.study import STUDIES
from eval.runs.ceiling import gold_of, is_oracle, label, load_oracle
from eval.tasks import choose, load
from lms.extractive import extractive_lm
from programs.instruments.state import save_state
from retrieval import Memory, Passage, Retriever, UsageError
from retrieval import load as load_retriever

LISTED = {
    *(f"blendfilter:table{n}" for n in range(1, 6)),
    *(f"blendfilter:fig{n}" for n in range(2, 5)),
    *(f"qpaug:table{n}" for n in range(2, 8)),
    *(f"qpaug:fig{n}" for n in range(2, 4)),
    *(f"chain_of_rewrite:table{n}" for n in range(1, 5)),
    "chain_of_rewrite:fig6",
    *(f"migres:table{n}" for n in range(1, 11)),
}


@pytest.fixture(scope="module")
def sample() -> Retriever:
    return load_retriever("sample")


def setup(directory: Path, retriever: Retriever | None, **more: object) -> paper.Setup:
    return paper.Setup(
        lm=lambda examples, _: extractive_lm(),
        retriever=retriever,
        retriever_spec="sample" if retriever else None,
        directory=directory,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A local copy of HotpotQA, with the sample's questions in it."""
    directory = tmp_path / "data"
    directory.mkdir()
    lines = [json.dumps(dict(example.items())) for example in load("sample", 6)]
    (directory / "hotpotqa.dev.jsonl").write_text("\n".join(lines))
    return directory


def test_all_tables_and_figures_are_there() -> None:
    assert set(TABLES) == LISTED
    assert len(LISTED) == 31
    assert all(name in paper.listing() for name in LISTED)


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_row_can_be_run(name: str) -> None:
    table = paper.find(name)
    assert table.lines
    for line in table.lines:
        assert len(line.figures) in (0, len(table.columns)), line
        study = STUDIES.get(line.program)
        program = study.module if study else programs.load(line.program)
        known = inspect.signature(program.__init__).parameters
        assert set(line.settings) <= {*known, "retriever", "state", "top_p"}, line
        assert any(column.metric for column in table.columns)
    studied = {name for line in table.lines for name in _of_study(line.program)}
    for column in table.columns:
        assert bool(column.task) == bool(column.metric), column
        if column.task:
            task, variant = choose(column.task)
            assert variant in task.variants
            assert column.metric in (*paper.COUNTS, "acc_judge", *studied) or metrics.load(column.metric)
    assert "(" in paper.show(table).splitlines()[0]


def _of_study(program: str) -> list[str]:
    return [*STUDIES[program].metrics, *STUDIES[program].ratios] if program in STUDIES else []


def test_figures_are_the_papers() -> None:
    def figure(table: str, line: str, column: int) -> str:
        return next(row for row in paper.find(table).lines if row.name == line).figures[column]

    assert figure("blendfilter:table1", "BlendFilter", 0) == "0.508"
    assert figure("blendfilter:table2", "ITER-RETEGEN", 4) == "0.3551"
    assert figure("qpaug:table7", "Contriever + Pgen", 0) == "29.7"
    assert figure("qpaug:table5", "ANCE", 2) == "43.6"
    assert figure("chain_of_rewrite:table3", "Chain-of-Rewrite", 0) == "59.80"
    assert figure("migres:table1", "Extraction", 8) == "74.2"
    assert figure("migres:table10", "First search", 11) == "-3/200"


def test_runs_on_the_sample_and_takes_up_what_was_run(sample: Retriever, data: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    made = setup(tmp_path / "runs", sample, limit=2, data=data, on_row=lambda row: asked.append(row["id"]))
    printed = paper.run(paper.find("blendfilter:table4"), made)
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
    assert paper.run(paper.find("blendfilter:table4"), made) == printed
    assert {path: (path / "rows.jsonl").read_bytes() for path in (tmp_path / "runs").iterdir()} == calls


def test_settings_reach_the_programs(sample: Retriever, data: Path, tmp_path: Path) -> None:
    made = setup(tmp_path / "runs", sample, limit=1, data=data, settings=paper.assigned(["k=3"]))
    paper.run(paper.find("blendfilter:table5"), made)
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert len(manifests) == 4  # the same for both retrievers
    assert {(m["settings"]["original"], m["settings"]["k"]) for m in manifests} == {(True, 3), (False, 3)}


def test_demonstrations_are_shown_where_the_paper_shows_some(
    sample: Retriever, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "One | direct state=none |\nTwo | direct |\nThree | direct state=? |\nFour | cot state=? |"
    monkeypatch.setitem(TABLES, "blendfilter:table4", {**TABLES["blendfilter:table4"], "rows": lines})
    program = programs.load("direct")(sample)
    program.answer.demos = [dspy.Example(context="[1] Orm: a river", question="What is the Orm?", answer="a river")]
    save_state(program, tmp_path / "state.json", {})
    states = paper.states([f"direct:hotpotqa={tmp_path / 'state.json'}"])
    made = setup(tmp_path / "runs", sample, limit=1, data=data, states=states)
    printed = paper.run(paper.find("blendfilter:table4"), made)
    assert "Four: needs --state cot=FILE" in printed
    assert "; zero-shot" in printed
    assert f"; with the state {tmp_path / 'state.json'}" in printed
    tokens = {}
    for run in (tmp_path / "runs").iterdir():
        shown = json.loads((run / "manifest.json").read_text())["state"] is not None
        tokens[shown] = json.loads((run / "rows.jsonl").read_text())["cost"]["input_tokens"]
    assert tokens[False] < tokens[True]
    of_another = setup(tmp_path / "others", sample, limit=1, data=data, states={"cot": str(tmp_path / "state.json")})
    assert "is a state of Direct, not of CoT" in paper.run(paper.find("blendfilter:table4"), of_another)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_best_of_several_answers(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "One | direct retriever=none |\nThree | direct retriever=none top_p=0,0.5,1 |"
    monkeypatch.setitem(TABLES, "blendfilter:table4", {**TABLES["blendfilter:table4"], "rows": lines})
    (example,) = load("sample", 1)

    def reply(prompt: str, before: int) -> str:
        return render({"answer": example.answers[0] if before == 2 else "no idea"})

    with Provider(reply).running() as provider:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key="none", cache=False)
        made = paper.Setup(
            lm=lambda *_: lm, retriever=None, retriever_spec=None, directory=tmp_path / "runs", limit=1, data=data
        )
        printed = paper.run(paper.find("blendfilter:table4"), made)
    ours = [line.split()[4] for line in printed.splitlines() if "Exact Match" in line]
    assert ours == ["0.000", "1.000"]
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/manifest.json")]
    assert {manifest["top_p"] for manifest in manifests} == {None, 0.0, 0.5, 1.0}


def test_says_what_is_missing(data: Path, tmp_path: Path) -> None:
    printed = paper.run(paper.find("blendfilter:table4"), setup(tmp_path / "runs", None, limit=1, data=data))
    assert "BlendFilter: needs a retriever: give --retriever" in printed
    assert len(list((tmp_path / "runs").iterdir())) == 2  # closed book
    nothing = paper.run(paper.find("migres:table3"), setup(tmp_path / "none", None))  # looks for no questions, either
    assert "40.1" in nothing
    assert "MIGRES, oracle corpus: needs --oracle-retriever" in nothing
    assert not (tmp_path / "none").exists()


def test_an_oracle_corpus_has_a_retriever_of_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "Usual | direct |\nOracle | direct retriever=oracle |"
    monkeypatch.setitem(TABLES, "blendfilter:table4", {**TABLES["blendfilter:table4"], "rows": lines})
    table = paper.find("blendfilter:table4")
    usual, oracle = Memory([Passage("1", "Rashomon won.")]), Memory([Passage("2", "Rashomon won.")])
    without = setup(tmp_path / "a", usual, limit=1, data=data)
    assert "Oracle: needs --oracle-retriever" in paper.run(table, without)
    paper.run(table, setup(tmp_path / "b", usual, limit=1, data=data, oracle=oracle, oracle_spec="the oracle's"))
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
    assert "needs --judge LM" in paper.run(paper.find("migres:table8"), made)
    runs = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("react-strategyqa*/manifest.json")]
    assert [run["settings"]["style"] for run in runs] == ["yesno"]
    assert "needs --set upr=…" in paper.run(paper.find("chain_of_rewrite:table4"), made)


def test_refuses_what_there_is_not() -> None:
    with pytest.raises(UsageError, match="lists them"):
        paper.find("blendfilter:table9")
    with pytest.raises(UsageError, match="NAME=VALUE"):
        paper.assigned(["k"])
    with pytest.raises(UsageError, match="no program 'nosuch'"):
        paper.states(["nosuch=a.json"])
    with pytest.raises(UsageError, match="PROGRAM"):
        paper.states(["migres"])
    with pytest.raises(UsageError, match="nosuch"):
        paper.states(["migres:nosuch=a.json"])
    assert paper.assigned(["top-k=3", "a=False", "b=x=y"]) == {"top_k": 3, "a": False, "b": "x=y"}


def test_the_oracle_knows_what_the_tasks_know() -> None:
    example = dspy.Example(
        question="q?", answers=["no"], gold_titles=["A", "B", "C"], gold_by_annotator=[["1", "2"], ["3", "2"], ["9"]],
        decomposition=[{"question": "s?", "answer": ["x", "y"]}, "t?"], evidences=[["A", "of", "B"]],
    )  # fmt: skip
    memory = Memory([Passage("1", "a", "A"), Passage("2", "b", "B"), Passage("3", "c", "C")])
    gold = gold_of(example, memory)
    assert gold.titles == (("A", "B"), ("C", "B"))
    assert gold.steps == (("s?", "x"),)
    assert gold.leads == ("s?", "x", "t?", "A", "B")
    assert gold_of(example).titles == (("A", "B", "C"),)
    assert is_oracle("oracle:0.1")
    assert not is_oracle("extractive")
    assert load_oracle("oracle:0.1", [example], memory).model == "oracle/error-rate-0.1"
    with pytest.raises(UsageError, match="must be a number"):
        load_oracle("oracle:often", [example], memory)


def test_labels() -> None:
    assert label("oracle/perfect") == "oracle/perfect = ceiling (oracle LM)"
    assert label("extractive/reader") == "extractive/reader = floor (extractive reader, no LM)"
    assert label("openai/gpt-4o-mini") == "openai/gpt-4o-mini"
