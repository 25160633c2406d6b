import os
import re
import tomllib
from pathlib import Path

import dspy
import pytest

from programs.blendfilter import BlendFilter
from programs.instruments.answerer import Answerer, Chosen, Figure, named_answerer, read_answerer, write_answerer
from programs.instruments.settings import settings_of
from programs.instruments.state import save_state
from retrieval import Memory, UsageError

FIGURE = Figure(questions=40, score=0.6, low=0.4, high=0.8)
CHOSEN = Chosen(
    task="quiz.csv",
    goal="em",
    said='The best "score"\nat this price.',
    raced=FIGURE,
    aside=FIGURE,
    direct=FIGURE,
    prices={"usd": 0.001},
)
ANSWERER = Answerer(
    program="blendfilter",
    settings={"k": 3, "filter": "off"},
    retriever="bm25:my-index",
    lm="openai/some-model",
    lm_settings={"api_base": "http://127.0.0.1:8000/v1", "temperature": 0.0, "extra_body": {"top": [1, 2]}},
    adapter="json",
    structured="on",
    chosen=CHOSEN,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which the process runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def state(folder: Path) -> str:
    program = BlendFilter(Memory([]))
    program.answer.predict.demos = [dspy.Example(context="[1] c", question="q", reasoning="r", answer="a")]
    save_state(program, "compiled.json", {})
    return "compiled.json"


def test_what_is_written_is_read_again_with_every_setting(folder: Path, state: str) -> None:
    write_answerer("answerer.toml", ANSWERER, state=state)
    read = read_answerer("answerer.toml")
    assert set(read.settings) == {setting.name for setting in settings_of(BlendFilter) if setting.default is not None}
    assert read.settings["k"] == 3
    assert read.state_file == "answerer.state.json"
    assert Path("answerer.state.json").read_bytes() == Path(state).read_bytes()
    assert read == ANSWERER.model_copy(update={"settings": read.settings, "state": read.state})


def test_the_file_and_what_is_beside_it_can_be_moved_and_are_found_from_anywhere(folder: Path, state: str) -> None:
    answerer = Answerer(program="direct", retriever="bm25:in/index", lm="gguf:in/model.gguf")
    write_answerer("in/answerer.toml", answerer)
    assert 'retriever = "bm25:index"' in Path("in/answerer.toml").read_text()
    read = read_answerer("in/answerer.toml")
    assert (read.retriever, read.lm) == (f"bm25:{Path('in/index')}", f"gguf:{Path('in/model.gguf')}")
    os.rename("in", "out")
    assert read_answerer("out/answerer.toml").retriever == f"bm25:{Path('out/index')}"


@pytest.mark.parametrize(
    ("retriever", "lm"),
    [
        ("none", "auto"),
        ("sample", "extractive"),
        ("colbertv2:http://127.0.0.1:9/search", "gguf:owner/name:model.gguf"),
        ("qdrant:http://127.0.0.1:6333?collection=wiki", "ollama_chat/llama3.2"),
        (f"dense:{Path('/an/index')}", f"gguf:{Path('/a/model.gguf')}"),
    ],
)
def test_names_without_a_path_of_here_stay(folder: Path, retriever: str, lm: str) -> None:
    write_answerer("new/answerer.toml", Answerer(program="direct", retriever=retriever, lm=lm))
    read = read_answerer("new/answerer.toml")
    assert (read.retriever, read.lm) == (retriever, lm)


def test_a_composition_and_a_collection_are_found_beside_the_file(folder: Path) -> None:
    for retriever in ("hybrid.toml", "qdrant:wiki?search=dense"):
        write_answerer("new/answerer.toml", Answerer(program="direct", retriever=retriever))
        assert "../" in Path("new/answerer.toml").read_text()
        assert read_answerer("new/answerer.toml").retriever == retriever


def test_no_secret_is_written_and_a_warning_says_so(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = {"api_key": "hunter22", "api_base": "http://me:hunter22@127.0.0.1/v1", "extra_headers": {"A": "hunter22"}}
    secret = Answerer(program="direct", retriever="colbertv2:http://me:hunter22@127.0.0.1/search", lm_settings=given)
    write_answerer("answerer.toml", secret)
    assert "hunter22" not in Path("answerer.toml").read_text()
    (record,) = caplog.records
    assert record.getMessage().startswith("answerer.toml keeps no secrets")
    write_answerer("answerer.toml", ANSWERER)
    assert len(caplog.records) == 1


def test_a_program_alone_will_do(folder: Path) -> None:
    Path("mine.toml").write_text('program = "direct"', encoding="utf-8")
    assert read_answerer("mine.toml") == Answerer(program="direct")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.toml: program: this key is needed"),
        ('program = "direct"\nmethod = "cot"', "a.toml: method: there is no such key"),
        ('program = "os.system"', "a.toml: there is no program 'os.system'"),
        ('program = "direct"\nsettings = { kk = 3 }', "a.toml: direct has no setting 'kk'; it has: k, style"),
        ('program = "direct"\nsettings = { k = 0 }', "a.toml: direct: k must be at least 1"),
        ('program = "direct"\nsettings = { k = [3] }', "a.toml: settings.k"),
        ('program = "direct"\nadapter = "prose"', "a.toml: adapter: should be 'chat', 'json' or 'xml'"),
        ('program = "direct"\nstate = { file = "s.json" }', "a.toml: state.sha256: this key is needed"),
        ('program = "direct"\nstate = { file = "s.json", sha256 = "0" }', "cannot read the state file s.json"),
        ("program = ", "a.toml is no TOML"),
        ("program = " + "[" * 100_000, "a.toml is nested too deeply"),
    ],
)
def test_a_mistake_is_named_in_one_line(folder: Path, text: str, message: str) -> None:
    Path("a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        read_answerer("a.toml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_cannot_be_written_is_named(folder: Path, state: str) -> None:
    with pytest.raises(UsageError, match=r"^cannot read a.toml: No such file or directory$"):
        read_answerer("a.toml")
    with pytest.raises(UsageError, match=r"^cannot write the answerer compiled.json/a.toml"):
        write_answerer(f"{state}/a.toml", ANSWERER)
    with pytest.raises(UsageError, match=r"^cannot read the state file none.json"):
        write_answerer("a.toml", ANSWERER, state="none.json")
    assert not Path("a.toml").exists()


def test_another_state_than_the_one_it_was_written_with_is_refused(folder: Path, state: str) -> None:
    write_answerer("answerer.toml", ANSWERER, state=state)
    with Path("answerer.state.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(UsageError, match=r"^answerer.state.json is not the state that answerer.toml was written with"):
        read_answerer("answerer.toml")


def test_a_word_of_a_command_line_names_one(folder: Path) -> None:
    write_answerer("my answerer.toml", ANSWERER)
    named = named_answerer("@my answerer.toml")
    assert named is not None
    assert named.program == "blendfilter"
    assert named_answerer("@somebody, who are you?") is None
    assert named_answerer("blendfilter") is None


def test_the_file_in_the_documentation_is_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "choosing.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(program = .*?)```", page, re.DOTALL)
    shown = Answerer.model_validate(tomllib.loads(text))
    assert shown.state_file == "answerer.state.json"
    assert shown.chosen is not None
