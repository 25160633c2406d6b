"""The command line of a method: mostly in a process of its own, as a user meets it."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import dspy
import pytest
from support.command_line import exit_code, without_help
from support.faulty_server import Provider
from support.patience import PATIENCE

import lms
import retrieval
from programs import load, names
from programs.blendfilter import BlendFilter
from programs.commands.method import NEXT, main, make_parser
from programs.direct import Direct
from programs.instruments.adapters import load_adapter
from programs.instruments.state import save_state
from programs.instruments.words import QUESTIONS
from retrieval import Memory

QUESTION = QUESTIONS[1]


def run(*args: str, module: str = "programs.blendfilter", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::UserWarning:programs", "-m", module, *args]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=PATIENCE)


def test_the_first_answer_needs_no_flag_no_key_and_no_network() -> None:
    done = run(QUESTION)
    assert done.returncode == 0
    assert done.stdout.strip()
    assert done.stdout.count("\n") == 1
    assert "extractive reader, which is no language model" in done.stderr
    assert "sample" in done.stderr
    assert done.stderr.endswith(f"{NEXT}\n")
    assert NEXT.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_a_question_whatever_is_under_way() -> None:
    arrived, provider = threading.Event(), Provider(lambda prompt, before: "")
    provider.arrived = lambda number: arrived.set()
    provider.hold.set()
    with provider.running():
        lm = ["--lm", "openai/m", "--api-base", provider.url, "--lm-arg", "engine=litellm"]
        command = [sys.executable, "-m", "programs.direct", QUESTION, "--retriever", "none", *lm]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert arrived.wait(PATIENCE)
            process.send_signal(signal.SIGINT)
            assert process.communicate() == (b"", b"")
    assert process.returncode == -signal.SIGINT  # the system ended it: Python had no part in it


def on_a_terminal(*args: str) -> str:
    """What a terminal shows, stdout and stderr together."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80"}
    command = [sys.executable, "-m", "programs", *args]
    with subprocess.Popen(command, stdout=its, stderr=its, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(its)
        shown = b""
        with suppress(OSError):  # Linux ends a terminal that nobody writes to any more with an error
            while part := os.read(ours, 1 << 16):
                shown += part
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_on_a_terminal_the_answer_comes_with_the_way_to_it() -> None:
    shown = on_a_terminal("blendfilter", QUESTIONS[0], "--lm", "extractive")
    lines = shown.split("\r\x1b[K")[-1].splitlines()
    assert "Oreste Baratieri" in lines
    assert f"  query    {QUESTIONS[0]}" in lines
    assert "  kept     Battle of Adwa" in lines
    assert any(line.startswith("  dropped ") for line in lines)
    assert any(line.startswith("  cost     7 LM calls, 3 searches, ") for line in lines)
    assert NEXT in shown


@pytest.mark.slow
def test_on_a_terminal_the_steps_are_seen_as_they_happen() -> None:
    shown = on_a_terminal("direct", QUESTIONS[0], "--lm", "extractive", "--k", "2")
    lines = [line.partition("s  ")[2] for line in shown.split("\r\x1b[K")[1:]]
    assert lines[0] == f"Search 1: {QUESTIONS[0]}"
    assert lines[1].startswith("Found 1: Battle of Adwa; ")
    assert lines[2].startswith("Asked: answer (")
    assert shown.split("\r\x1b[K")[-1].startswith("Oreste Baratieri\n")
    assert "  cost     1 LM call, 1 search, " in shown


@pytest.mark.slow
def test_a_step_goes_by_the_name_of_what_was_asked_and_not_by_dspys_part_of_it() -> None:
    shown = on_a_terminal("cot", QUESTIONS[0], "--lm", "extractive")
    assert "s  Asked: answer (" in shown


@pytest.mark.slow
def test_without_a_name_the_usual_method_answers_and_says_so() -> None:
    for words in ([QUESTIONS[0], "--lm", "extractive"], ["--lm", "extractive", QUESTIONS[0]]):
        done = run(*words, module="programs")
        assert done.stdout == "Oreste Baratieri\n"
        assert done.stderr.startswith("method: blendfilter (")
    assert run(QUESTIONS[0], "--quiet", module="programs").stderr == ""


def test_a_misspelt_name_is_met_with_the_name_that_is_meant() -> None:
    done = run("blendfliter", QUESTIONS[0], module="programs")
    assert done.returncode == 2
    assert "did you mean blendfilter?" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("words", [["-"], ["direct", "-"]])
def test_a_question_comes_from_stdin(words: list[str]) -> None:
    command = [sys.executable, "-m", "programs", *words, "--lm", "extractive", "--quiet"]
    done = subprocess.run(command, input=f"{QUESTIONS[0]}\n", capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "Oreste Baratieri\n")


@pytest.mark.slow
def test_quiet_prints_the_answer_alone() -> None:
    done = run(QUESTIONS[0], "--quiet")
    assert (done.stdout, done.stderr) == ("Oreste Baratieri\n", "")
    assert on_a_terminal("blendfilter", QUESTIONS[0], "--quiet") == "Oreste Baratieri\n"


@pytest.mark.slow
def test_without_an_answer_it_says_what_the_corpus_knows() -> None:
    done = run("Who directed Jaws?", "--lm", "extractive")
    assert (done.returncode, done.stdout) == (0, "\n")
    assert "no answer in the packaged corpus; it knows 494 abstracts, try: " in done.stderr
    shown = on_a_terminal("direct", "Who directed Jaws?", "--lm", "extractive")
    assert "no answer in the packaged corpus" in shown
    for module, retriever in (("programs.cot", "none"), ("programs.genread", "sample")):
        closed = run("Who directed Jaws?", "--lm", "extractive", "--retriever", retriever, module=module)
        assert "no answer\n" in closed.stderr


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_questions_to_try_are_answered(question: str) -> None:
    with dspy.context(lm=lms.load("extractive")):
        assert BlendFilter(retrieval.load("sample"))(question=question).answer


def test_a_server_without_a_key_needs_none_set() -> None:
    reply = "[[ ## answer ## ]]\nan answer\n\n[[ ## completed ## ]]"
    with Provider(lambda message, before: reply).running() as server:
        flags = ["--lm", "openai/m", "--api-base", server.url, "--quiet"]
        done = run("Who is it?", *flags, module="programs.direct", OPENAI_API_KEY="")
    assert done.stdout == "an answer\n"


@pytest.mark.slow
def test_a_state_of_another_adapter_is_used_and_said_to_be(tmp_path: Path) -> None:
    with dspy.context(adapter=load_adapter("json")):
        save_state(BlendFilter(Memory([])), tmp_path / "state.json", {})
    said = {}
    for name in "json", "chat":
        done = run(QUESTION, "--lm", "extractive", "--state", str(tmp_path / "state.json"), "--adapter", name)
        assert (done.returncode, done.stdout.count("\n")) == (0, 1)
        said[name] = done.stderr
    assert "compiled with the adapter json and is used with chat" in said["chat"]
    assert "compiled with" not in said["json"]


def test_the_trace_is_one_json_object() -> None:
    done = run(QUESTIONS[0], "--trace", "--lm", "extractive", "--k", "3")
    trace = json.loads(done.stdout)
    assert trace["question"] == QUESTIONS[0]
    assert trace["answer"]
    assert trace["queries"][0] == QUESTIONS[0]
    assert len(trace["queries"]) == 3
    assert set(trace["passages"][0]) == {"id", "title", "text", "score"}
    assert set(trace["evidence"][0]) == {"id", "title", "text", "score"}
    assert len(trace["found"]["q"]) == 3
    assert trace["cost"]["lm_calls"] == 7
    assert trace["cost"]["searches"] == 3
    assert trace["cost"]["input_tokens"] > trace["cost"]["output_tokens"] > 0
    assert trace["cost"]["seconds"] > 0


@pytest.mark.slow
def test_flags_change_settings_and_the_environment_changes_defaults(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "title": "Zorx", "text": "Zorx is a planet found in 2190 by Ada Quill."}\n')
    index = str(tmp_path / "index")
    built = run("index", "--backend", "bm25", "--corpus", str(corpus), "--out", index, module="retrieval")
    assert built.returncode == 0
    done = run(
        "Who found the planet Zorx?", "--trace", "--no-internal", "--filter", "off",
        ODQA_LM="extractive", ODQA_RETRIEVER=f"bm25:{index}",
    )  # fmt: skip
    trace = json.loads(done.stdout)
    assert list(trace["kept"]) == ["q", "q_ex"]
    assert [passage["title"] for passage in trace["evidence"]] == ["Zorx"]
    assert "Ada Quill" in trace["answer"]
    assert "from ODQA_LM" in done.stderr
    assert "sample" not in done.stderr


@pytest.mark.parametrize("name", names())
def test_help_is_complete_for_every_method(name: str) -> None:
    parser = make_parser(load(name))
    assert without_help(parser) == []
    text = parser.format_help()
    assert text.startswith(f"usage: odqa ask {name} [-h]")
    for flag in "--lm", "--retriever", "--state", "--trace", "--plan", "--api-base", "--temperature":
        assert flag in text


def test_help_says_what_each_setting_of_blendfilter_does_and_its_default() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "--k INT Passages per query. Paper: 5 (appendix D); 3 to 8 in Fig. 3 (default: 5)" in text
    assert "--external, --no-external" in text
    assert "--filter {each,union,off}" in text
    assert "--hops INT" in text


@pytest.mark.slow
def test_a_method_answers_by_its_name() -> None:
    done = run("blendfilter", QUESTIONS[0], "--quiet", module="programs")
    assert done.stdout == "Oreste Baratieri\n"
    unknown = run("blend", QUESTIONS[0], module="programs")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("odqa ask: error: there is no program 'blend'; did you mean blendfilter? ")
    assert unknown.stderr.count("\n") == 1


def test_the_methods_are_listed_one_line_each() -> None:
    done = run(module="programs")
    assert [line.split()[0] for line in done.stdout.splitlines()] == names()
    assert all(len(line.split()) > 4 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([""], "the question is empty"),
        (["  \n"], "the question is empty"),
        ([], "required: question"),
        (["q", "--no-such-flag"], "unrecognized arguments: --no-such-flag"),
        (["q", "--k", "many"], "invalid int value"),
        (["q", "--k", "0"], "must be at least 1"),
        (["q", "--filter", "twice"], "invalid choice"),
        (["q", "--lm", "gpt"], "there is no LM 'gpt'; say auto, extractive, or PROVIDER/MODEL"),
        (["q", "--lm", "oracle"], "use odqa eval TASK --program NAME --lm oracle"),
        (["q", "--lm", "oracle:0.1"], "use odqa eval TASK --program NAME --lm oracle"),
        (["q", "--retriever", "nosuch"], "nosuch"),
        (["q", "--retriever", "bm25:/nowhere"], "/nowhere"),
        (["q", "--retriever", "none"], "BlendFilter needs a retriever"),
        (["q", "--state", "/nowhere.json"], "cannot read the state file /nowhere.json"),
        (["q", "--no-original", "--no-external", "--no-internal"], "at least one of the queries"),
        # Nothing listens on port 9 of this machine.
        (["q", "--retriever", "colbertv2:http://127.0.0.1:9"], "127.0.0.1:9"),
        (["q", "--lm", "openai/m", "--api-base", "http://127.0.0.1:9/v1", "--lm-arg", "num_retries=0"], "openai/m"),
        (["--plan", "--questions", "0"], "--questions must be at least 1, not 0"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    args: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODQA_LM", "extractive")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    assert exit_code(lambda argv: main(BlendFilter, argv), args) == 2
    output, errors = capsys.readouterr()
    lines = [line for line in errors.splitlines() if not line.startswith("retriever: ")]
    assert len(lines) == 1, errors
    assert lines[0].startswith("odqa ask blendfilter: error: ")
    assert complaint in lines[0]
    assert "very-secret" not in errors
    assert output == ""


def test_a_state_of_another_program_is_refused(tmp_path: Path) -> None:
    save_state(Direct(Memory([])), tmp_path / "other.json", {})
    done = run(QUESTION, "--state", str(tmp_path / "other.json"), ODQA_LM="extractive")
    assert done.returncode == 2
    assert "is a state of Direct, not of BlendFilter" in done.stderr


@pytest.mark.slow
def test_a_state_changes_what_the_lm_is_asked(tmp_path: Path) -> None:
    program = BlendFilter(Memory([]))
    demo = {
        "context": "[1] Zorx | A planet.",
        "question": "What is Zorx?",
        "reasoning": "It says.",
        "answer": "a planet",
    }
    program.answer.predict.demos = [demo]
    save_state(program, tmp_path / "state.json", {})
    plain = json.loads(run(QUESTION, "--trace", "--lm", "extractive").stdout)
    with_demo = json.loads(
        run(QUESTION, "--trace", "--lm", "extractive", "--state", str(tmp_path / "state.json")).stdout
    )
    assert with_demo["cost"]["input_tokens"] > plain["cost"]["input_tokens"]
