"""Compiling over real questions and passages, with an LM that has to be taught (more: benchmarks/compile_gains.py)."""

from pathlib import Path

import dspy
import pytest
from support import compiling
from support.learning_oracle import KEYS, LearningOracle

import retrieval
from eval import tasks
from eval.runs.ceiling import gold_of
from optimizers import filter_f1
from optimizers.optimize import Outcome
from optimizers.split import split
from programs.blendfilter import BlendFilter
from programs.migres import MIGRES
from retrieval import Retriever
from retrieval.bm25.search import BM25
from retrieval.corpora.reader import read

DATA = Path(__file__).parents[3] / "shared" / "data"
POOL = "musique_train"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    index = tmp_path_factory.mktemp("pool") / "index"
    BM25.build(read(DATA / f"{POOL}.corpus.jsonl.gz"), index)
    return retrieval.load(f"bm25:{index}")


def compiled(
    recipe: str, program: dspy.Module, directory: Path, deaf: bool = False, **more: object
) -> tuple[Outcome, LearningOracle]:
    train, held_out = split(tasks.load(f"file:{DATA / POOL}.questions.jsonl.gz"), train=10, held_out=8, seed=0)
    learner = LearningOracle([gold_of(example) for example in [*train, *held_out]], deaf=deaf)
    return compiling.compiled(recipe, program, learner, directory, train=train, held_out=held_out, **more), learner


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "kind", "part"),
    [("bootstrap_few_shot", BlendFilter, "select.predict"), ("bootstrap_few_shot", MIGRES, "extract")],
)
def test_demonstrations_are_worth_something_to_the_program_and_to_its_parts(
    recipe: str, kind: type[dspy.Module], part: str, retriever: Retriever, tmp_path: Path
) -> None:
    outcome, _ = compiled(recipe, kind(retriever), tmp_path / "hears")
    before, after = (summary.total.scores["em"] for summary in (outcome.before, outcome.after))
    assert before.mean < 0.3 < 0.6 < after.mean
    part_before, part_after = outcome.parts[part]
    assert part_before is not None
    assert part_after is not None
    assert part_before.mean < 0.7 < 0.95 < part_after.mean
    deaf, _ = compiled(recipe, kind(retriever), tmp_path / "deaf", deaf=True)
    assert deaf.before.total.scores == deaf.after.total.scores == outcome.before.total.scores


def test_the_filter_learns_by_its_own_objective_from_what_is_said_of_it(retriever: Retriever, tmp_path: Path) -> None:
    outcome, learner = compiled("gepa", BlendFilter(retriever), tmp_path, metric=filter_f1, only=["select"])
    before, after = (summary.total.scores["filter_f1"] for summary in (outcome.before, outcome.after))
    assert before.mean < 0.7
    assert after.mean == 1.0
    assert outcome.program.select.predict.signature.instructions.endswith(KEYS["relevant"])
    assert any("not needed and were kept: [" in prompt for prompt in learner.taught)
    assert outcome.program.answer.dump_state() == BlendFilter(retriever).answer.dump_state()


@pytest.mark.slow
def test_queries_learn_from_what_they_did_not_find(retriever: Retriever, tmp_path: Path) -> None:
    outcome, _ = compiled("gepa", MIGRES(retriever), tmp_path, only=["detect", "subquery"])
    assert KEYS["queries"] in outcome.program.subquery.signature.instructions
    assert outcome.after.total.scores["em"].mean > outcome.before.total.scores["em"].mean + 0.3
