"""The exit codes, messages and parser that all command lines share."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from dspy.utils.exceptions import LMError

from odqa.console import Parser, run, say
from odqa.errors import RetrievalError, UsageError


def raising(error: BaseException) -> None:
    raise error


def exit_code(error: BaseException | None = None) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        run("python -m x", lambda: raising(error) if error else print("data"))
    return ended.value.code


def test_a_command_that_ends_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code() == 0
    assert capsys.readouterr() == ("data\n", "")


@pytest.mark.parametrize("kind", [UsageError, RetrievalError, LMError, OSError])
def test_an_error_is_one_line_without_secrets_and_2(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    assert exit_code(kind("the key sk-very-secret\n  is  wrong")) == 2
    assert capsys.readouterr() == ("", "python -m x: error: the key *** is wrong\n")


def test_nothing_from_outside_reaches_the_terminal_as_an_order() -> None:
    code = """
import logging

import dspy
from odqa.console import output, run
from odqa.errors import UsageError

def command():
    output("an answer\\x1b[2J", flush=True)
    logging.getLogger("any").warning("a title\\x9b2J")
    logging.getLogger("dspy.teleprompt").info("an instruction\\x1b[2J")
    raise UsageError("a name\\x1b]0;")

run("x", command)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "an answer\\u001b[2J\n"
    title, instruction, name = ended.stderr.splitlines()
    assert (title, name) == ("a title\\u009b2J", "x: error: a name\\u001b]0;")
    assert instruction.endswith(" INFO dspy.teleprompt: an instruction\\u001b[2J")


def test_an_interrupt_is_130_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run("python -m x", lambda: raising(ZeroDivisionError()))


@pytest.mark.parametrize(("ending", "code"), [("", 0), ("raise UsageError('no')", 2), ("raise KeyboardInterrupt", 130)])
def test_a_command_waits_for_no_thread_that_it_left_behind(ending: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "odqa").write_text(f"""
import atexit, threading
from odqa.console import run
from odqa.errors import UsageError
def command():
    threading.Thread(target=threading.Event().wait).start()
    print("data")
    {ending}
atexit.register(print, "cleaned up")
run("x", command)
""")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(tmp_path / "odqa")], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (code, "data\ncleaned up\n")


def test_a_closed_pipe_is_no_error() -> None:
    code = "from odqa.console import run\nrun('python -m x', lambda: [print('line') for _ in range(100_000)])"
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stderr is not None
    with writer.stdout, writer.stderr:
        assert writer.stdout.readline() == b"line\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait() == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_error(closed: str) -> None:
    code = "from odqa.console import *; run('python -m x', lambda: (output('data'), say('talk')))"
    done = subprocess.run(["/bin/sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, code], capture_output=True)
    out, err = (b"" if name in closed.split() else line for name, line in ((">&-", b"data\n"), ("2>&-", b"talk\n")))
    assert (done.returncode, done.stdout, done.stderr) == (0, out, err)


def test_what_the_encoding_of_stdout_lacks_is_written_as_json_writes_it() -> None:
    code = "from odqa.console import Parser, output\nParser('x', usage='Ł').print_help()\noutput('Ł – é 😀')"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.stdout.startswith(rb"usage: \u0141")
    assert done.stdout.endswith(rb"\u0141 \u2013 " + "é".encode("latin-1") + b" \\ud83d\\ude00\n"), done.stderr


def test_an_error_of_the_parser_is_one_line_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="python -m x")
    parser.add_subparsers(metavar="COMMAND", required=True).add_parser("go").add_argument("--far", type=int)
    for arguments, prog in ([], "python -m x"), (["go", "--far", "off"], "python -m x go"):
        with pytest.raises(SystemExit) as ended:
            parser.parse_args(arguments)
        assert ended.value.code == 2
        output, errors = capsys.readouterr()
        assert (output, errors.count("\n")) == ("", 1)
        assert errors.startswith(f"{prog}: error: ")


def test_talk_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("so it is")
    assert capsys.readouterr() == ("", "so it is\n")


def test_a_bar_takes_80_columns_of_a_terminal_that_reports_no_width() -> None:
    code = "from odqa.console import progress_bar, width\nlist(progress_bar('abc', desc='d' * 60)); print(width())"
    end, terminal = pty.openpty()  # 0 columns: nobody has said how many
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=terminal, text=True)
    seen = b""
    while b"\n" not in seen:  # the bar's last act
        seen += os.read(end, 4096)
    os.close(terminal)
    os.close(end)
    bar = seen.decode().split("\r\n")[0].split("\r")[-1]
    assert (done.stdout, len(bar), bar[:60]) == ("80\n", 79, "d" * 60)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["eval", "programs.blendfilter", "optimizers", "retrieval"])
def test_help_imports_nothing_heavy(module: str) -> None:
    code = (
        "import runpy, sys\n"
        f"sys.argv = [{module!r}, '--help']\n"
        "try:\n"
        f"    runpy.run_module({module!r}, run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'mlflow', 'torch', 'faiss', 'pyarrow', 'datasets', 'transformers', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
