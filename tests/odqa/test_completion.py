"""The scripts that complete the words of `odqa`, run by the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.command_line import exit_code

from odqa.completion import main

ZSH = shutil.which("zsh")
WORDS = [
    (["as"], {"ask"}),
    (["ask", "blend"], {"blendfilter"}),
    (["ask", "blendfilter", "Who?", "--ho"], {"--hops"}),
    (["serve", "migres", "irc"], {"ircot"}),
    (["eval", "com"], {"compare"}),
    (["eval", "sample", "--program", "migr"], {"migres"}),
    (["eval", "sample", "--program", "migres", "--thr"], {"--threads"}),
    (["optimize", "direct", "--recipe", "gep"], {"gepa"}),
    (["index", "--backend", "d"], {"dense"}),
    (["index", "--backend", "dense", "--corpus", "my"], {"my corpus.jsonl", "my-index"}),
    (["completion", ""], {"bash", "zsh"}),
]


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert exit_code(main, [shell]) == 0
    path = folder / "script"
    path.write_text(capsys.readouterr().out)
    return path


def test_bash_completes_commands_methods_flags_values_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my corpus.jsonl").touch()
    (tmp_path / "my-index").mkdir()
    path = script("bash", tmp_path, capsys)
    press = 'COMP_WORDS=(odqa "$@"); COMP_CWORD=$#; source "$0"; "$(complete -p odqa | grep -oP "(?<=-F )\\S+")"'
    for words, expected in WORDS:
        command = ["bash", "-c", f'{press}; printf "%s\\n" "${{COMPREPLY[@]}}"', str(path), *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert (set(done.stdout.splitlines()), done.stderr) == (expected, ""), words


@pytest.mark.skipif(ZSH is None, reason="there is no zsh")
def test_zsh_reads_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("zsh", tmp_path, capsys)
    subprocess.run([str(ZSH), "-n", str(path)], check=True)
    assert path.read_text().startswith("#compdef odqa\n")
