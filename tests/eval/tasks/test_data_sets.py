"""The data sets' own files, tried on rows in the shape that the hub has them in."""

import gzip
import json
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.faulty_server import Provider

from eval.tasks import SEED, TASKS, choose, load
from eval.tasks.task import _published, digest
from retrieval import Passage, UsageError

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"

HOTPOTQA = {
    "id": "5a8b57f25542995d1e6f1371",
    "question": "Were the two of the same nationality?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": {"title": ["Ada", "Bo", "Ada"], "sent_id": [0, 0, 2]},
    "context": {
        "title": ["Ada", "Bo", "Cy"],
        "sentences": [["Ada was born.", " She sang."], ["Bo was born. "], ["Cy is a river."]],
    },
}
TWO_WIKI = {
    "_id": "8813f87c0bdd11eba7f7acde48001122",
    "type": "compositional",
    "question": "Who is the mother of the director?",
    "answer": "Ada",
    "supporting_facts": {"title": ["Film", "Bo"], "sent_id": [0, 1]},
    "evidences": {"fact": ["Film", "Bo"], "relation": ["director", "mother"], "entity": ["Bo", "Ada"]},
    "context": {"title": ["Film", "Bo"], "content": [["Bo made it."], ["Bo is a man.", "Ada is his mother."]]},
}
MUSIQUE = {
    "id": "3hop1__482757_12019_52870",
    "question": "Where is the range of the battalion?",
    "answer": "Arizona",
    "answer_aliases": ["AZ", "Arizona"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Range", "paragraph_text": "It is there.", "is_supporting": True},
        {"idx": 1, "title": "Other", "paragraph_text": "It is not.", "is_supporting": False},
    ],
    "question_decomposition": [
        {"id": 482757, "question": "Battalion >> based in", "answer": "Range", "paragraph_support_idx": 0},
    ],
}
STRATEGYQA = {
    "qid": "b8677742616fef051f00",
    "term": "Genghis Khan",
    "description": "founder of an empire",
    "question": "Are more people descended from him than from the other?",
    "answer": True,
    "facts": ["The other had three children.", "He had sixteen."],
    "decomposition": ["How many children had the other?", "How many had he?", "Is #2 greater than #1?"],
}
POPQA = {
    "id": 4222362,
    "subj": "George Rankin",
    "prop": "occupation",
    "obj": "politician",
    "s_wiki_title": "George Rankin",
    "o_wiki_title": "Politician",
    "s_pop": 142,
    "o_pop": 25692,
    "question": "What is George Rankin's occupation?",
    "possible_answers": '["politician", "political leader", "politician"]',
}
TRIVIAQA = {
    "question": "Which city is it?",
    "question_id": "tc_33",
    "question_source": "http://www.triviacountry.com/",
    "entity_pages": {"title": [], "wiki_context": []},
    "search_results": {"title": [], "search_context": []},
    "answer": {
        "aliases": ["Rome, Italy", "Rome"],
        "normalized_aliases": ["rome italy", "rome"],
        "value": "Rome",
        "type": "WikipediaEntity",
    },
}

EXPECTED = {
    "hotpotqa": (
        HOTPOTQA,
        {
            "id": "5a8b57f25542995d1e6f1371",
            "answers": ["yes"],
            "type": "comparison",
            "level": "hard",
            "gold_titles": ["Ada", "Bo"],
            "gold_sentences": [["Ada", "Ada was born."], ["Bo", "Bo was born."]],  # Ada has no third sentence
        },
    ),
    "2wikimultihopqa": (
        TWO_WIKI,
        {
            "id": "8813f87c0bdd11eba7f7acde48001122",
            "answers": ["Ada"],
            "type": "compositional",
            "gold_titles": ["Film", "Bo"],
            "evidences": [["Film", "director", "Bo"], ["Bo", "mother", "Ada"]],
        },
    ),
    "musique": (
        MUSIQUE,
        {
            "id": "3hop1__482757_12019_52870",
            "answers": ["Arizona", "AZ"],
            "type": "3hop1",
            "gold_titles": ["Range"],
            "decomposition": [{"question": "Battalion >> based in", "answer": "Range"}],
        },
    ),
    "strategyqa": (
        STRATEGYQA,
        {
            "id": "b8677742616fef051f00",
            "answers": ["yes"],
            "facts": STRATEGYQA["facts"],
            "decomposition": STRATEGYQA["decomposition"],
        },
    ),
    "nq": (
        {"question": "who was first", "answer": ["Ada", "Ada Quill"]},
        {"id": "nq-0", "answers": ["Ada", "Ada Quill"]},
    ),
    "triviaqa": (TRIVIAQA, {"id": "tc_33", "answers": ["Rome", "Rome, Italy"]}),
    "webquestions": (
        {"url": "http://www.freebase.com/view/en/ada", "question": "who is ada?", "answers": ["a poet"]},
        {"id": "webquestions-0", "answers": ["a poet"]},
    ),
    "popqa": (
        POPQA,
        {
            "id": "4222362",
            "answers": ["politician", "political leader"],
            "type": "occupation",
            "gold_titles": ["George Rankin"],
            "subj": "George Rankin",
            "s_pop": 142,
            "o_pop": 25692,
        },
    ),
    "bamboogle": ({"Question": "Who was it?", "Answer": "Ada"}, {"id": "bamboogle_0", "answers": ["Ada"]}),
}


def copy(data: Path, name: str, *rows: Any, variant: str = "all") -> Path:
    """A local copy of the data set as the hub keeps such: with its splits and configurations in the README."""
    task = TASKS[name]
    split = task.variants[variant].split
    directory = data / name
    directory.mkdir(parents=True)
    (directory / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (directory / "README.md").write_text(
        f"---\nconfigs:\n- config_name: {task.config or 'default'}\n  data_files:\n  - split: {split}\n"
        "    path: rows.jsonl\n---\n"
    )
    return data


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


def test_every_data_set_is_tried() -> None:
    assert set(EXPECTED) == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_rows_of_the_hub_become_examples(name: str, tmp_path: Path) -> None:
    row, expected = EXPECTED[name]
    (example,) = load(name, data=copy(tmp_path / "data", name, row))
    question = row.get("question") or row.get("Question")
    assert example.toDict() == {**expected, "question": question, "answer": expected["answers"][0]}
    assert example.inputs().toDict() == {"question": question}


TRAINED = [name for name in TASKS if "train" in TASKS[name].variants]


@pytest.mark.parametrize("name", TRAINED)
def test_rows_of_the_training_sets_become_the_same_examples(name: str, tmp_path: Path) -> None:
    row, expected = EXPECTED[name]
    rows = [row] * (TASKS[name].variants["train"].skip + 1)
    (example,) = load(f"{name}:train", data=copy(tmp_path / "data", name, *rows, variant="train"))
    of_train = {"nq": "nq-train-0", "webquestions": "webquestions-train-0"}  # not the ids of evaluated questions
    id_: Any = of_train.get(name, expected["id"])
    assert example.toDict() == {**expected, "id": id_, "question": row["question"], "answer": expected["answers"][0]}


def test_training_questions_are_never_among_the_evaluated_ones() -> None:
    assert set(TASKS) - set(TRAINED) == {"popqa", "bamboogle"}
    for task in TASKS.values():
        for name, variant in task.variants.items():
            other, train = choose(task.training(name))
            chosen = other.variants[train]
            assert train == "train"
            assert chosen.split == "train"
            if other is task and variant.split == "train" and variant.first:
                assert variant.first <= chosen.skip


def test_where_a_paper_shares_demonstrations_or_there_is_no_training_set_others_serve() -> None:
    def source(spec: str) -> str:
        task, variant = choose(spec)
        return task.training(variant)

    assert source("hotpotqa:blendfilter") == "hotpotqa:train"
    assert source("hotpotqa:migres") == source("musique:migres") == source("bamboogle") == "2wikimultihopqa:train"
    assert source("triviaqa:migres") == source("popqa") == "nq:train"
    with pytest.raises(UsageError, match="no variant 'nosuch'"):
        choose("nq")[0].training("nosuch")


def test_training_questions_have_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "hotpotqa.dev.jsonl").write_text(lines(3))
    (tmp_path / "hotpotqa_train.questions.jsonl").write_text(lines(7))
    assert len(load("hotpotqa:train", data=tmp_path)) == 7
    (tmp_path / "hotpotqa.train.jsonl").write_text(lines(8))
    assert len(load("hotpotqa:train", data=tmp_path)) == 8
    (tmp_path / "strategyqa.train.jsonl").write_text(lines(502))
    assert [example.id for example in load("strategyqa:train", data=tmp_path)] == ["q500", "q501"]
    (tmp_path / "strategyqa.train.jsonl").write_text(lines(500))
    with pytest.raises(UsageError, match="has 500 questions, and this variant leaves out the first 500"):
        load("strategyqa:train", data=tmp_path)


def lines(count: int) -> str:
    return "".join(
        json.dumps({"id": f"q{n}", "question": f"Question {n}?", "answers": [str(n)]}) + "\n" for n in range(count)
    )


def test_a_file_with_the_questions_of_a_split_stands_for_the_hub(tmp_path: Path) -> None:
    (tmp_path / "hotpotqa.dev.jsonl").write_text(lines(600))
    assert len(load("hotpotqa", data=tmp_path)) == 600
    assert [e.id for e in load("hotpotqa:blendfilter", data=tmp_path)] == [f"q{n}" for n in range(500)]
    assert [e.id for e in load("hotpotqa:blendfilter", 2, data=tmp_path)] == ["q0", "q1"]
    drawn = [e.id for e in load("hotpotqa:migres", data=tmp_path)]
    assert drawn == [e.id for e in load("hotpotqa:migres", data=tmp_path)]
    assert (len(drawn), len(set(drawn))) == (500, 500)
    assert drawn == sorted(drawn, key=lambda id_: int(id_[1:]))
    assert drawn[-1] != "q499"
    with gzip.open(tmp_path / "hotpotqa.dev.jsonl.gz", "wt") as file:
        file.write(lines(20))
    assert len(load("hotpotqa", data=tmp_path)) == 20  # what is packed comes first
    with pytest.raises(UsageError, match=r"hotpotqa.dev.jsonl.gz has 20 questions, and this variant takes 500"):
        load("hotpotqa:migres", data=tmp_path)
    (tmp_path / "strategyqa.train.jsonl").write_text(lines(700))
    assert len(load("strategyqa:blendfilter", data=tmp_path)) == 500
    assert SEED == 0


@pytest.mark.parametrize("name", ["2wikimultihopqa", "hotpotqa", "musique", "nq", "triviaqa", "strategyqa"])
def test_a_sample_has_the_published_questions_in_it_whatever_their_ids_and_case(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.dev.jsonl").write_text(lines(600))
    before = [example.id for example in load(f"{name}:migres", data=tmp_path)]
    wanted = next(f"q{n}" for n in range(600) if f"q{n}" not in before)
    monkeypatch.setattr("eval.tasks.task._published", {name: {digest(f"  QUESTION {wanted[1:]}? ")}}.__getitem__)
    after = [example.id for example in load(f"{name}:migres", data=tmp_path)]
    assert (wanted in after, len(after)) == (True, len(before))
    assert after == sorted(after, key=lambda id_: int(id_[1:]))


def test_the_published_questions_are_as_many_as_their_authors_publish() -> None:
    names = ("2wikimultihopqa", "hotpotqa", "musique", "nq", "triviaqa")
    published = {name: len(_published(name)) for name in (*names, "strategyqa")}
    assert published == dict.fromkeys(names, 200) | {"strategyqa": 229}
    if DATA.exists():
        assert all(digest(example.question) in _published("strategyqa") for example in load("strategyqa", data=DATA))


def test_the_releases_further_names_of_answers_are_right_too(tmp_path: Path) -> None:
    questions = [
        {"id": "a", "question": "Whose?", "answers": ["the US"], "answer_id": "Q30"},
        {"id": "b", "question": "When?", "answers": ["1939"], "answer_id": None},
    ]
    (tmp_path / "2wikimultihopqa.dev.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in questions))
    assert [example.answers for example in load("2wikimultihopqa", data=tmp_path)] == [["the US"], ["1939"]]
    names = tmp_path / "id_aliases.json"
    rows = [{"Q_id": "Q30", "aliases": ["America", "the US"], "demonyms": ["American"]}, {"Q_id": "Q1", "aliases": []}]
    names.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    assert [example.answers for example in load("2wikimultihopqa", data=tmp_path)] == [["the US", "America"], ["1939"]]
    assert load("2wikimultihopqa", data=tmp_path)[0].answer == "the US"
    names.write_text('{"Q_id": "Q30"}')
    with pytest.raises(UsageError, match=r"id_aliases.json is not the file of further names of 2wikimultihopqa's"):
        load("2wikimultihopqa", data=tmp_path)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("squad", "there is no task 'squad': use sample, QUESTIONS.jsonl"),
        ("hotpotqa:first", "hotpotqa has no variant 'first'; there are: all, blendfilter, qpaug, migres, train"),
    ],
)
def test_what_there_is_not(spec: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load(spec)


@pytest.mark.parametrize("name", ["nq", "strategyqa"])
def test_without_network_the_error_comes_at_once_and_says_what_to_put_where(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    from datasets import config

    tried: list[float] = []
    clock = SimpleNamespace(**{**vars(time), "sleep": tried.append})  # before the client's next try
    monkeypatch.setattr("huggingface_hub.utils._http.time", clock)
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr(config, "HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
    with pytest.raises(UsageError) as caught:  # nobody listens any more
        load(f"{name}:train")
    hub = TASKS[name].hub
    assert str(caught.value) == (
        f"cannot reach the hub for {hub}: put its questions into DIR/{name}.train.jsonl.gz (lines of id, question, "
        f"answers), or a copy of the data set {hub} into DIR/{name}, and name DIR with --data or ODQA_DATA"
    )
    assert not tried
    assert not datasets.config.HF_HUB_OFFLINE


def test_where_the_hub_answers_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from datasets import config

    def rows(*arguments: Any, **settings: Any) -> list[Any]:
        assert (arguments, settings) == (("hotpotqa/hotpot_qa", "distractor"), {"split": "validation"})
        assert not config.HF_HUB_OFFLINE
        return [HOTPOTQA]

    monkeypatch.setattr(datasets, "load_dataset", rows)
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", False)
    with Provider(lambda *_: "").running() as hub:  # whatever it answers
        monkeypatch.setattr(config, "HF_ENDPOINT", hub.url)
        assert [example.id for example in load("hotpotqa")] == [HOTPOTQA["id"]]


def test_rows_of_another_shape_and_directories_that_are_no_data_set(tmp_path: Path) -> None:
    copy(tmp_path, "nq", {"question": "who", "answers": ["Ada"]})
    with pytest.raises(
        UsageError, match=r"row 0 of the split validation of .*nq_open is not as it should be: no 'answer'"
    ):
        load("nq", data=tmp_path)
    copy(tmp_path, "webquestions", {"question": " ", "answers": ["Ada"]})
    with pytest.raises(UsageError, match=r"row 0 .* the question must be a string that is not blank"):
        load("webquestions", data=tmp_path)
    (tmp_path / "popqa").mkdir()
    with pytest.raises(
        UsageError, match=r"cannot read the data set of popqa: .*; put its questions into DIR/popqa.dev"
    ):
        load("popqa", data=tmp_path)


@pytest.mark.parametrize(
    ("name", "row", "passages"),
    [
        ("hotpotqa", HOTPOTQA, [("Ada", "Ada was born. She sang."), ("Bo", "Bo was born."), ("Cy", "Cy is a river.")]),
        ("2wikimultihopqa", TWO_WIKI, [("Film", "Bo made it."), ("Bo", "Bo is a man. Ada is his mother.")]),
        ("musique", MUSIQUE, [("Range", "It is there."), ("Other", "It is not.")]),
    ],
)
def test_the_passages_that_questions_bring_along(
    name: str, row: Any, passages: list[tuple[str, str]], tmp_path: Path
) -> None:
    own = list(TASKS[name].passages("migres", copy(tmp_path, name, row, row)))
    assert [(passage.title, passage.text) for passage in own] == passages
    assert len({passage.id for passage in own}) == len(own)
    assert all(passage.id.startswith(f"{name}-") for passage in own)


def test_questions_without_passages(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the questions of nq bring no passages along: put .*DIR/nq.corpus.jsonl.gz"):
        list(TASKS["nq"].passages("all", tmp_path))
    with pytest.raises(UsageError, match=r"strategyqa bring no passages .* strategyqa_train_paragraphs.json"):
        list(TASKS["strategyqa"].passages("migres", None))


def test_the_passages_of_strategyqa_are_in_a_file_of_its_release(tmp_path: Path) -> None:
    paragraphs = {"Ada-1": {"title": "Ada", "section": "", "para_index": 1, "content": "Ada was born."}}
    file = tmp_path / "strategyqa_train_paragraphs.json"
    file.write_text(json.dumps(paragraphs | {"Ada-2": paragraphs["Ada-1"]}))
    (own,) = TASKS["strategyqa"].passages("migres", tmp_path)
    assert (own.title, own.text) == ("Ada", "Ada was born.")
    file.write_text('{"Ada-1": {"title": "Ada"}}')
    with pytest.raises(UsageError, match=r"paragraphs.json is not the file of StrategyQA's paragraphs: 'content'"):
        list(TASKS["strategyqa"].passages("all", tmp_path))


@pytest.mark.parametrize("name", ["strategyqa", "hotpotqa"])
def test_a_local_corpus_holds_the_passages_of_any_set(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.corpus.jsonl").write_text('{"id": "7", "title": "Ada", "text": "Ada was born."}\n')
    assert list(TASKS[name].passages("all", tmp_path)) == [Passage("7", "Ada was born.", "Ada")]


@pytest.mark.skipif(not DATA.exists(), reason="needs the data in ../shared/data")
def test_real_questions_are_found_by_the_names_of_their_sets() -> None:
    sizes = {name: len(load(name, data=DATA)) for name in TASKS if name != "webquestions"}
    assert (sizes["hotpotqa"], sizes["2wikimultihopqa"], sizes["bamboogle"]) == (245, 500, 63)
    assert len(load("2wikimultihopqa:migres", data=DATA)) == 500
