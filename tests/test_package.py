"""The package as it is installed, far from the repository: what is in it, and that it works in any folder."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support.patience import PATIENCE

from odqa.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def done(*command: str, at: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": "", **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=at, env=env, timeout=PATIENCE)


def python(*words: str, at: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return done(sys.executable, "-m", *words, at=at)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution and the wheel, which is built of it."""
    out = tmp_path_factory.mktemp("dist")
    result = python("build", "--no-isolation", "--outdir", str(out), str(ROOT))
    assert result.returncode == 0, result.stdout + result.stderr
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed wheel; what it depends on is in this environment."""
    site = tmp_path_factory.mktemp("site")
    result = python("pip", "install", "--no-deps", "--no-index", "--target", str(site), *map(str, built.glob("*.whl")))
    assert result.returncode == 0, result.stderr
    return site


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder, whose own files have the names of our packages."""
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "__init__.py").touch()
    (tmp_path / "retrieval.py").write_text("raise AssertionError('this is the file of the user')\n")
    return tmp_path


@pytest.mark.slow
def test_the_wheel_has_the_six_packages_whole_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    result = python("check_wheel_contents", str(wheel))
    assert result.returncode == 0, result.stdout
    typed = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/py.typed")}
    rooms = ("eval", "lms", "odqa", "optimizers", "programs", "retrieval", "signatures")
    assert typed == {f"{room}/py.typed" for room in rooms}


@pytest.mark.slow
def test_both_are_fit_for_an_index_of_packages(built: Path) -> None:
    result = python("twine", "check", "--strict", *map(str, built.iterdir()))
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_the_source_has_all_that_is_tracked(built: Path) -> None:
    tracked = done("git", "ls-files", at=ROOT).stdout.splitlines()
    if not tracked:
        pytest.skip("this is no checkout")
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in tracked if not name.startswith(".")} <= files
    assert {name.partition("/")[0] for name in files} <= {name.partition("/")[0] for name in [*tracked, "PKG-INFO"]}


@pytest.mark.slow
def test_the_commands_of_the_page_work_in_a_folder_that_has_modules_of_the_same_names(
    installed: Path, folder: Path
) -> None:
    (folder / "corpus.jsonl").write_text('{"id": "a", "title": "Cats", "text": "Cats chase mice."}\n')
    printed = {}
    for line in re.findall("^    ((?:odqa|python -P) .*)$", PAGE, re.M):
        start, *words = shlex.split(line.partition(" > ")[0], comments=True)
        script = [str(installed / "bin" / "odqa")] if start == "odqa" else []
        result = done(sys.executable, *script, *words, at=folder, PYTHONPATH=str(installed), ODQA_LM="extractive")
        assert result.returncode == 0, f"{line}\n{result.stderr}"
        printed[" ".join(words[:2])] = result.stdout
    assert printed["ask direct"] == "Oreste Baratieri\n"
    assert '"title": "Cats"' in printed["search bm25:my-index"]
    assert "runs/sample-direct" in printed["eval list"]
    assert "runs/sample-direct" in printed["-P -m"]


@pytest.mark.slow
def test_other_code_works_there_where_the_folder_is_not_searched(installed: Path, folder: Path) -> None:
    def python(*words: str) -> subprocess.CompletedProcess[str]:
        return done(sys.executable, *words, at=folder, PYTHONPATH=str(installed))

    assert "No module named eval.__main__" in python("-m", "eval", "tasks").stderr
    where = python("-P", "-c", "import eval, retrieval; print(eval.__file__, retrieval.__file__)").stdout.split()
    assert all(Path(file).is_relative_to(installed) for file in where)


def test_the_page_lists_every_command() -> None:
    commands = set(re.findall(r"`(?:odqa )?([\w-]+)`", PAGE.partition("| --- |")[2].partition("\n\n")[0]))
    assert set(COMMANDS) - {"completion"} <= commands


def test_the_extra_all_has_every_extra_for_users() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"dspy-odqa[{','.join(sorted(extras.keys() - {'all', 'bench', 'dev', 'docs', 'test'}))}]"
