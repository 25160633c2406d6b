"""The template for a new method: copied to its places, it is a method that keeps what every method promises."""

import importlib
import importlib.util
import inspect
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import test_contract

import programs

NAME = "my_method"
PAGE = (test_contract.ROOT / "docs" / "adding_a_method.md").read_text(encoding="utf-8")
COPIES = [(file, place.replace("NAME", NAME)) for file, place in re.findall(r"^    cp (\S+) (\S+)$", PAGE, re.M)]
PROMISES = [
    check
    for name, check in vars(test_contract).items()
    if name.startswith("test_") and "name" in inspect.signature(check).parameters
]


@pytest.fixture(scope="module", autouse=True)
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with what docs/adding_a_method.md has a newcomer copy, and what its card names of ours."""
    root = tmp_path_factory.mktemp("newcomer")
    for file, place in COPIES:
        (root / place).parent.mkdir(parents=True)
        shutil.copy(test_contract.ROOT / file, root / place)
    (root / "signatures").symlink_to(test_contract.ROOT / "signatures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "__path__", [*programs.__path__, str(root / "programs")])
        patch.setattr(test_contract, "ROOT", root)
        yield root
    sys.modules.pop(f"programs.{NAME}", None)
    vars(programs).pop(NAME, None)


def test_it_is_found() -> None:
    assert NAME in programs.names()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__.removeprefix("test_"))
def test_it_keeps_what_every_method_promises(promise: Callable[..., None], request: pytest.FixtureRequest) -> None:
    fixtures = inspect.signature(promise).parameters.keys() - {"name"}
    promise(name=NAME, **{fixture: request.getfixturevalue(fixture) for fixture in fixtures})


def test_every_place_that_its_card_names_exists(copied: Path) -> None:
    test_contract.test_every_place_that_a_card_names_exists(copied / "docs" / "methods" / f"{NAME}.md")


def test_its_own_tests_pass(copied: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"test_{NAME}", copied / "tests" / "programs" / f"test_{NAME}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()
