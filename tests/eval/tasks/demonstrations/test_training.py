import json
from pathlib import Path

import dspy
import pytest
from support.training_rows import KINDS, WORLD

from eval.tasks import load
from eval.tasks.demonstrations.training import at_hand, show
from programs.blendfilter import BlendFilter
from programs.cot import CoT
from programs.das import DAS
from programs.direct import Direct
from programs.react import ReAct
from programs.sure import SuRe
from retrieval import Memory, Passage, UsageError
from retrieval import load as load_retriever


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Training questions of 2WikiMultiHopQA and StrategyQA, and one of HotpotQA to be asked."""
    for kind, name in ("2wikimultihopqa", "2wikimultihopqa_train.questions"), ("hotpotqa", "hotpotqa.dev"):
        lines = [json.dumps(example.toDict()) for example in KINDS[kind]]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return tmp_path


def asked(data: Path) -> list[dspy.Example]:
    return load("2wikimultihopqa:train", data=data)[:1]


def test_predictors_get_demonstrations_of_training_questions_and_the_rest_stays(data: Path) -> None:
    program = BlendFilter(WORLD)
    shown = show(program, 2, task="2wikimultihopqa", asked=[], data=data)
    by_predictor = {name: len(predictor.demos) for name, predictor in program.named_predictors()}
    assert by_predictor == {"draft.predict": 2, "recall": 0, "topic": 0, "select.predict": 0, "answer.predict": 2}
    assert shown.by_predictor == by_predictor
    assert shown.source == "2wikimultihopqa:train"
    assert {example.id for example in shown.questions} == {"Zorx", "Vorx"}
    record = shown.record()
    assert record == json.loads(json.dumps(record))
    assert set(record) == {"count", "source", "questions", "without", "by_predictor", "sha256"}
    assert "Where was the finder of Zorx born?" in str(shown)
    assert (shown.without, "stand in" in str(shown)) == (None, False)
    assert show(BlendFilter(WORLD), 2, task="2wikimultihopqa", asked=[], data=data).record() == record


def test_other_passages_make_other_demonstrations(data: Path) -> None:
    more = Memory([*WORLD("Zorx Vorx Quill planet", 9), Passage("x", "Where was the finder of it born?", "Finder")])
    one, two = (
        show(BlendFilter(retriever), 2, task="2wikimultihopqa", asked=[], data=data) for retriever in (WORLD, more)
    )
    assert one.record()["questions"] == two.record()["questions"]
    assert one.sha256 != two.sha256


def test_questions_that_are_asked_are_never_shown(data: Path) -> None:
    questions = asked(data)
    program = BlendFilter(WORLD)
    shown = show(program, 2, task="2wikimultihopqa:blendfilter", asked=questions, data=data)
    assert [example.question for example in shown.questions] == ["Where was the finder of Vorx born?"]
    assert {demo.question for predictor in program.predictors() for demo in predictor.demos} == {
        "Where was the finder of Vorx born?"
    }
    both = load("2wikimultihopqa:train", data=data)
    shouted = [dspy.Example(example, question=example.question.upper()) for example in both]
    with pytest.raises(UsageError, match=r"all questions of 2wikimultihopqa:train are asked, and none is left"):
        show(program, 2, task="2wikimultihopqa", asked=shouted, data=data)


def test_no_question_of_the_copy_that_is_evaluated_is_shown_even_if_few_are_asked(data: Path) -> None:
    train = data / "2wikimultihopqa_train.questions.jsonl"
    for line, other in zip(train.read_text().splitlines(), ("by its id", "by its text"), strict=True):
        same = json.loads(line)
        same |= (
            {"question": "Another one?"} if other == "by its id" else {"id": "another", "question": same["question"]}
        )
        (data / "2wikimultihopqa.dev.jsonl").write_text(json.dumps(same))
        shown = show(BlendFilter(WORLD), 2, task="2wikimultihopqa", asked=[], data=data)
        assert [example.id for example in shown.questions] == [{"Zorx": "Vorx", "Vorx": "Zorx"}[json.loads(line)["id"]]]


def test_a_copy_without_the_evidences_of_its_data_set_is_named(data: Path) -> None:
    train = data / "2wikimultihopqa_train.questions.jsonl"
    lines = [json.loads(line) for line in train.read_text().splitlines()]
    train.write_text("\n".join(json.dumps({**line, "evidences": []}) for line in lines))
    program = BlendFilter(WORLD)
    shown = show(program, 2, task="2wikimultihopqa", asked=[], data=data)
    assert shown.record()["without"] == "evidences"
    assert "this copy has no evidences for them" in str(shown)
    assert show(Direct(WORLD), 2, task="2wikimultihopqa", asked=[], data=data).without is None  # it shows no reasoning
    with pytest.raises(UsageError, match="closed book, their reasoning has to come from the data's evidences, and"):
        show(CoT(None), 2, task="2wikimultihopqa", asked=[], data=data)
    assert {"It was found in 2190 by Ada Quill" in demo.reasoning for demo in program.answer.predict.demos} == {
        True,
        False,
    }


def test_where_the_paper_shares_demonstrations_they_are_of_the_other_data_set(data: Path) -> None:
    (data / "hotpotqa.dev.jsonl").unlink()  # its questions are the same two, and would be evaluated
    shown = show(ReAct(WORLD), 1, task="hotpotqa:migres", asked=[], data=data)
    assert (shown.source, shown.by_predictor) == ("2wikimultihopqa:train", {"step": 1})


def test_the_sample_and_files_have_no_training_set_but_what_is_left(data: Path) -> None:
    questions = load("sample", 5)
    shown = show(BlendFilter(load_retriever("sample")), 2, task="sample", asked=questions, data=None)
    assert not {example.id for example in shown.questions} & {example.id for example in questions}
    file = f"file:{data / 'hotpotqa.dev.jsonl'}"
    assert show(BlendFilter(WORLD), 1, task=file, asked=load(file, 1), data=None).source == file
    with pytest.raises(
        UsageError, match=r"none is left for demonstrations: ask fewer with --limit, or give --state a file"
    ):
        show(BlendFilter(WORLD), 1, task=file, asked=load(file), data=None)


def test_training_questions_are_at_hand_where_the_questions_are(tmp_path: Path) -> None:
    tasks = ("hotpotqa:blendfilter", "strategyqa:blendfilter", "hotpotqa:migres")
    assert [at_hand(task, None) for task in tasks] == [True] * 3  # on the hub
    for name in ("hotpotqa.dev", "strategyqa.train"):
        (tmp_path / f"{name}.jsonl").touch()
    assert [at_hand(task, tmp_path) for task in tasks] == [False, True, False]
    (tmp_path / "2wikimultihopqa.train.jsonl").touch()
    assert [at_hand(task, tmp_path) for task in tasks] == [False, True, True]


def test_where_nothing_can_be_shown_it_says_why(data: Path) -> None:
    with pytest.raises(UsageError, match="the number of demonstrations must be at least 1, not 0"):
        show(BlendFilter(WORLD), 0, task="2wikimultihopqa", asked=[], data=data)
    with pytest.raises(
        UsageError,
        match=r"do not say what SuRe should reply in any of its calls \(propose, summarize, .*: leave out --dem",
    ):
        show(SuRe(WORLD), 2, task="2wikimultihopqa", asked=[], data=data)
    with pytest.raises(UsageError, match=r"the prompts of DAS show no demonstrations in its paper: leave out --dem"):
        show(DAS(WORLD), 2, task="2wikimultihopqa", asked=[], data=data)
    elsewhere = Memory([Passage("1", "Nothing of the kind.", "Elsewhere")])
    with pytest.raises(UsageError, match="the retriever does not find their gold passages"):
        show(BlendFilter(elsewhere), 2, task="2wikimultihopqa", asked=[], data=data)
