"""Planning, building and searching an index of HippoRAG on the command line."""

import json
from pathlib import Path

import pytest
from support.command_line import exit_code
from support.graph_passages import PASSAGES, Knowing
from support.word_encoder import WordEncoder

from eval.__main__ import main as eval_main
from retrieval import UsageError, load
from retrieval.__main__ import main
from retrieval.commands import asking
from retrieval.dense import encoder
from retrieval.hipporag import HippoRAG, search
from retrieval.indexes import passage_line

pytestmark = pytest.mark.needs("faiss")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (search, encoder):  # which load it to build, and to open
        monkeypatch.setattr(module, "LoadedEncoder", WordEncoder)
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"".join(map(passage_line, PASSAGES)))
    return path


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> Knowing:
    """Takes the place of the LM that --lm names."""
    knowing = Knowing(PASSAGES)
    monkeypatch.setattr(asking, "load_lm", lambda args: knowing.lm)
    return knowing


def index(corpus: Path, *more: str) -> int | str | None:
    out = str(corpus.parent / "index")
    flags = ["--backend", "hipporag", "--corpus", str(corpus), "--out", out, "--encoder", "words", *more]
    return exit_code(main, ["index", *flags])


def test_planned_built_and_searched_with_the_reader(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(corpus, "--lm", "extractive", "--plan") == 0
    planned = capsys.readouterr().out
    assert "5 passages" in planned
    assert "LM calls                        10            10            20\n" in planned
    assert "with extractive/reader: $0.00, $0.00, $0.00" in planned
    assert [path.name for path in corpus.parent.iterdir()] == ["corpus.jsonl"]

    assert index(corpus, "--lm", "extractive") == 0
    built = json.loads(capsys.readouterr().out)
    assert (built["passages"], built["lm_calls"], built["unread"], built["usd"]) == (5, 10, 0, 0.0)
    spec = f"hipporag:{corpus.parent / 'index'}"
    assert exit_code(main, ["search", spec, "Who found the planet Zorx?", "-k", "2", "--lm", "extractive"]) == 0
    assert {json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()} == {"zorx", "ada"}


def test_a_plan_of_a_model_has_its_price(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(corpus, "--lm", "openai/gpt-4o-mini", "--plan") == 0
    assert "with openai/gpt-4o-mini: $0.00, $0.00, $0.0" in capsys.readouterr().out
    assert index(corpus, "--lm", "openai/my-model", "--api-base", "http://127.0.0.1:9", "--plan") == 0
    assert "with openai/my-model: the price is unknown" in capsys.readouterr().out


def test_a_limit_ends_the_build_and_says_what_was_asked(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert index(corpus, "--max-calls", "4", "--lm-calls", "2") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert '"lm_calls": 4' in said.err
    assert "the limit of 4 LM calls is reached" in said.err
    assert index(corpus) == 0
    assert json.loads(capsys.readouterr().out)["lm_calls"] == 6


def test_passages_with_an_unread_reply_are_named(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    knowing.triples["bo"] = "{}"
    assert index(corpus) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["unread"] == 1
    assert "1 passages have a reply that could not be read, such as 'bo': " in said.err


@pytest.mark.parametrize(
    ("backend", "flags", "message"),
    [
        ("hipporag", [], "the backend hipporag needs --encoder"),
        ("bm25", ["--plan"], "--plan is a setting of hipporag"),
        ("bm25", ["--lm", "extractive"], "--lm is a setting of hipporag: the backend bm25 has no such setting"),
        ("dense", ["--lm-arg", "top_p=1"], "--lm-arg is a setting of hipporag"),
    ],
)
def test_flags_that_do_not_fit_are_refused(
    backend: str, flags: list[str], message: str, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["index", "--backend", backend, "--corpus", str(corpus), "--out", "out", *flags]
    assert exit_code(main, arguments) == 2
    assert message in capsys.readouterr().err


def test_an_index_is_not_added_to(corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(corpus) == 0
    assert exit_code(main, ["add", str(corpus.parent / "index"), "--corpus", str(corpus)]) == 2
    assert "index the changed corpus with --overwrite" in capsys.readouterr().err


def test_a_file_gives_it_settings_and_puts_it_beside_others(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert index(corpus) == 0
    free = corpus.parent / "free.toml"
    free.write_text('type = "hipporag"\nindex = "index"\nfilter = false\nfacts = 2\ndamping = 0.4\n')
    opened = load(free)
    assert isinstance(opened, HippoRAG)
    assert not opened.asks_lm
    knowing.asked.clear()
    assert exit_code(main, ["search", str(free), "planet", "-k", "1"]) == 0
    assert knowing.asked == []
    both = corpus.parent / "both.toml"
    both.write_text('type = "rrf"\nretrievers = ["free.toml", "hipporag:index"]\n')
    assert load(both).asks_lm
    assert exit_code(main, ["search", str(both), "planet", "-k", "1"]) == 0
    assert [act for act, _ in knowing.asked] == ["relevant"]
    free.write_text('type = "hipporag"\nindex = "index"\ndamping = 2.0\n')
    with pytest.raises(UsageError, match="a search needs a fact"):
        load(free)


@pytest.mark.needs("ir_measures")
def test_it_is_evaluated_with_the_lm_that_is_named(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert index(corpus) == 0
    questions = corpus.parent / "questions.jsonl"
    line = {"id": "1", "question": "Who found Zorx?", "answers": ["Ada Quill"], "gold_titles": ["Ada Quill"]}
    questions.write_text(json.dumps(line) + "\n")
    knowing.asked.clear()
    arguments = ["--retriever", f"hipporag:{corpus.parent / 'index'}", "--questions", str(questions), "-k", "2"]
    assert exit_code(eval_main, ["retrieval", *arguments, "--run", str(corpus.parent / "run")]) == 0
    assert [act for act, _ in knowing.asked] == ["relevant"]
    assert '"lm_calls": 1' in capsys.readouterr().err


def test_a_run_records_counts_and_replays_the_calls_of_the_retriever(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert index(corpus, "--lm", "extractive") == 0
    questions = corpus.parent / "questions.jsonl"
    questions.write_text(json.dumps({"id": "1", "question": "Who found Zorx?", "answers": ["Ada Quill"]}) + "\n")
    run = corpus.parent / "run"
    arguments = [f"file:{questions}", "--program", "direct", "--lm", "extractive", "--run", str(run)]
    retriever = ["--retriever", f"hipporag:{corpus.parent / 'index'}"]
    assert exit_code(eval_main, [*arguments, *retriever]) == 0
    calls = [json.loads(line)["predictor"] for line in (run / "calls.jsonl").read_text().splitlines()]
    assert calls == ["FactFilter", "answer"]
    (row,) = map(json.loads, (run / "rows.jsonl").read_text().splitlines())
    assert row["cost"]["lm_calls"] == 2
    assert row["cost"]["searches"] == 1
    assert set(row["cost"]["predictors"]) == {"FactFilter", "answer"}
