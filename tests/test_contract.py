"""What every method promises, whoever wrote it: this test finds the methods by itself."""

import ast
import asyncio
import copy
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import dspy
import pytest

import lms
import programs
from odqa.bridge import watching
from programs import load, names
from programs.instruments.cost import PredictorNames, measured
from programs.instruments.live import Asked, Live, Step, Written
from programs.steps.result import Filtered, Lists, PerPassage, Ranking, Reading, Statements, Turns
from retrieval import Memory, Passage, Retriever, UsageError

ROOT = Path(__file__).parents[1]
METHODS = names()
PASSAGES = [
    Passage("1", "Ada Quill was an astronomer who was born in 2150 in Lund.", "Ada Quill"),
    Passage("2", "Zorx is a planet found in 2190 by Ada Quill.", "Zorx"),
    Passage("3", "Bo Quill was a baker who was born in 2140 in Malmö.", "Bo Quill"),
]
QUESTION = "Where was the astronomer who found the planet Zorx born?"


def source(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(f"programs.{name}")))


def method(name: str) -> dspy.Module:
    return load(name)(Memory(PASSAGES))


def run(name: str) -> dspy.Prediction:
    with dspy.context(lm=lms.load("extractive")):
        return method(name)(question=QUESTION)


def test_an_unknown_method_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match=r"there is no program 'nosuch'; there are: .*blendfilter"):
        load("nosuch")


def test_a_module_that_does_not_name_its_class_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfinished.py").write_text("ANSWER = 42\n")
    monkeypatch.setattr(programs, "__path__", [*programs.__path__, str(tmp_path)])
    with pytest.raises(UsageError, match=r"programs/unfinished.py is no method: its __all__ must name"):
        load("unfinished")


@pytest.mark.parametrize("name", [name for name in METHODS if load(name).writes])
def test_an_answer_that_can_be_told_while_it_is_written_is_that_of_the_last_call(name: str) -> None:
    steps: list[Step] = []

    writes = load(name).writes
    live = Live(steps.append, PredictorNames(), writes=writes)
    with dspy.context(lm=lms.load("extractive")), watching(live):
        answer = method(name)(question=QUESTION).answer
    asked = [step.predictor.removesuffix(".predict") for step in steps if isinstance(step, Asked)]
    assert (asked[-1], asked.count(writes)) == (writes, 1)
    assert "".join(step.text for step in steps if isinstance(step, Written)).strip() == answer


@pytest.mark.parametrize("name", METHODS)
def test_the_common_fields_are_there_and_consistent(name: str) -> None:
    seen = run(name)
    assert isinstance(seen.answer, str)
    assert seen.answer == seen.answer.strip()
    assert all(isinstance(query, str) for query in seen.queries)
    assert len({passage.id for passage in seen.passages}) == len(seen.passages)
    known = {passage.id for passage in seen.passages}
    assert all(passage.id in known or passage.id.startswith("lm:") for passage in seen.evidence)
    assert json.loads(json.dumps(seen.toDict())) == seen.toDict()


@pytest.mark.parametrize("name", METHODS)
def test_called_twice_or_awaited_it_gives_the_same(name: str) -> None:
    with dspy.context(lm=lms.load("extractive")):
        program = method(name)
        before = set(vars(program))
        first, again = program(question=QUESTION), program(question=QUESTION)
        awaited = asyncio.run(program.acall(question=QUESTION))
    assert first.toDict() == again.toDict() == awaited.toDict()
    assert set(vars(program)) == before


@pytest.mark.parametrize("name", METHODS)
def test_every_call_is_accounted_for(name: str) -> None:
    with dspy.context(lm=lms.load("extractive")), measured() as cost:
        seen = method(name)(question=QUESTION)
    assert cost.searches == len(seen.queries)
    assert cost.lm_calls > 0
    assert cost.unparsable == 0


@pytest.mark.parametrize("name", METHODS)
def test_the_retriever_is_shared_by_copies_and_left_out_of_states(name: str, tmp_path: Path) -> None:
    program = method(name)
    assert copy.deepcopy(program).retriever is program.retriever
    assert program.reset_copy().retriever is program.retriever
    program.save(tmp_path / "state.json")
    assert "Ada Quill" not in (tmp_path / "state.json").read_text()
    fresh = method(name)
    fresh.load(tmp_path / "state.json")
    assert fresh.dump_state() == program.dump_state()


@pytest.mark.parametrize("name", METHODS)
def test_the_form_of_the_file(name: str) -> None:
    module = importlib.import_module(f"programs.{name}")
    tree, program = source(name), load(name)
    assert module.__all__ == [program.__name__]
    assert "->" in (module.__doc__ or "").strip().splitlines()[-1], "the docstring ends with the flow as an arrow line"
    parameters = list(inspect.signature(program.__init__).parameters.values())[1:]
    assert parameters[0].name == "retriever"
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is not p.empty for p in parameters[1:])
    arguments = (inspect.getdoc(program) or "").partition("\nArgs:\n")[2]
    for parameter in parameters:
        assert re.search(rf"^    {parameter.name}: \S", arguments, re.MULTILINE), f"{parameter.name} is not documented"
    cost = (inspect.getdoc(program) or "").partition("\nPer question:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^    (\w[\w ]*):", cost, re.MULTILINE) == ["LM calls", "Searches", "Depth"]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Try)]
    imports = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not {i for i in imports if i.split(".")[0] in {"eval", "optimizers", "lms", "logging"}}
    (forward,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    stored = [n for n in ast.walk(forward) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    assert not stored, "nothing is assigned to self in forward"


@pytest.mark.parametrize("name", METHODS)
def test_every_field_of_its_own_is_documented(name: str) -> None:
    fields = (inspect.getdoc(load(name)) or "").partition("\nIn the result:\n")[2].partition("\n\n")[0]
    documented = set(re.findall(r"^    (\w+):", fields, re.MULTILINE))
    assert documented - {"evidence"} == set(run(name).keys()) - {"answer", "queries", "passages", "evidence"}


@pytest.mark.parametrize("name", METHODS)
def test_the_fields_that_say_what_became_of_a_passage_look_as_declared(name: str) -> None:
    seen = run(name)
    reads: dict[str, Reading] = getattr(load(name), "reads", {})
    assert all(_looks_like(seen, field, reading) for field, reading in reads.items())
    undeclared = {"iterations", "known_facts", "ranked", "retrieved", "kept"} & set(seen.keys()) - set(reads)
    assert not undeclared


def _looks_like(seen: dspy.Prediction, field: str, reading: Reading) -> bool:
    known, value = {passage.id for passage in seen.passages}, seen[field]

    def ids(found: list[str]) -> bool:
        return isinstance(found, list) and set(found) <= known

    match reading:
        case Filtered(found, whole):
            kept_of_found = all(ids(kept) and set(kept) <= set(seen[found][name]) for name, kept in value.items())
            return kept_of_found and set(seen[whole]) <= set(value) == set(seen[found])
        case Turns():
            return all(
                ids(turn["retrieved"]) and ids(turn["kept"]) and isinstance(turn["shown"], list) for turn in value
            )
        case Statements():
            return all(isinstance(fact["fact"], str) and isinstance(fact["passages"], list) for fact in value)
        case Ranking():
            return ids(value)
        case Lists():
            return all(ids(found) for found in value)
        case PerPassage():
            return set(value) <= known


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_card_and_a_test(name: str) -> None:
    assert (ROOT / "docs" / "methods" / f"{name}.md").is_file()
    assert (ROOT / "tests" / "programs" / f"test_{name}.py").is_file()


@pytest.mark.parametrize("card", sorted((ROOT / "docs" / "methods").glob("*.md")), ids=lambda p: p.stem)
def test_every_place_that_a_card_names_exists(card: Path) -> None:
    places = re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|toml))(?::([\w.]+))?`", card.read_text(encoding="utf-8"))
    assert places
    for file, qualified in places:
        path = ROOT / file
        assert path.is_file(), file
        if qualified:
            scope: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
            for part in qualified.split("."):
                found = [node for node in scope if _names(node, part)]
                assert found, f"{file} has no {qualified}"
                scope = getattr(found[0], "body", [])


def _names(node: ast.stmt, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return getattr(node, "name", None) == name or any(isinstance(t, ast.Name) and t.id == name for t in targets)


def test_importing_a_method_pulls_in_nothing_heavy() -> None:
    imported = ", ".join(f"programs.{name}" for name in METHODS)
    code = f"import sys, {imported}; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["torch", "faiss", "bm25s", "datasets", "transformers", "sentence_transformers", "fastapi", "Stemmer"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_retriever_is_never_copied() -> None:
    retriever: Retriever = Memory(PASSAGES)
    assert copy.deepcopy({"here": [retriever]})["here"][0] is retriever


@pytest.mark.parametrize("name", METHODS)
def test_whatever_a_method_holds_can_be_copied_by_an_optimizer(name: str, caplog: pytest.LogCaptureFixture) -> None:
    program = method(name)
    with caplog.at_level("WARNING"):
        program.reset_copy()
        program.deepcopy()
    assert not caplog.records
