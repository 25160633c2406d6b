"""The rules of the house that no other tool checks."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("odqa", "retrieval", "lms", "signatures", "programs", "eval", "optimizers")
SOURCES = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
LONGEST = 400  # lines


def imports(path: Path) -> list[tuple[str, str]]:
    """The module and the name of everything that a file imports; the name is empty for a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] in ROOMS]


def test_a_file_imports_no_private_name_of_another_folder() -> None:
    private = [
        f"{path}: {module}.{name}"
        for path in SOURCES
        for module, name in imports(path)
        for part in [*module.split("."), name]
        if part.startswith("_")
        and not part.startswith("__")
        and module.rpartition(".")[0] != ".".join(path.parent.parts)
    ]
    assert private == []


DOCUMENTED = {"dspy", "dspy.lm15", "dspy.teleprompt", "dspy.utils.exceptions", "dspy.utils.callback.BaseCallback"}
BELOW = {"adapters", "clients", "dsp", "predict", "primitives", "utils", "_vendor", "caller_modules", "send_stream"}


def below_dspy(path: Path) -> list[str]:
    """What a file uses of DSPy below its documented names."""
    found = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dspy":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name for name in names if not {name, node.module} & DOCUMENTED]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("dspy.")]
        elif isinstance(node, ast.Attribute) and node.attr in BELOW:
            owner = ast.unparse(node.value)
            found += [f"{owner}.{node.attr}"] if owner in ("dspy", "dspy.settings") else []
    return [name for name in found if name not in DOCUMENTED]


def test_only_the_bridge_reaches_below_what_dspy_documents() -> None:
    others = [path for path in SOURCES if path.parts[:2] != ("odqa", "bridge")]
    assert {str(path): names for path in others if (names := below_dspy(path))} == {}


def test_the_bridge_lists_what_it_reaches() -> None:
    sources = [path for path in SOURCES if path.parts[:2] == ("odqa", "bridge")]
    listed = ast.get_docstring(ast.parse((ROOT / "odqa/bridge/__init__.py").read_text(encoding="utf-8"))) or ""
    reached = {".".join(name.split(".")[1:3]) for path in sources for name in below_dspy(path)}
    assert {name for name in reached if name not in listed and name.split(".")[-1] not in listed} == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*ROOMS)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_a_file_has_one_subject_and_is_short() -> None:
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_the_top_of_eval_is_seen_at_a_glance() -> None:
    shown = {path.name for path in (ROOT / "eval").iterdir()} - {"__init__.py", "py.typed", "__pycache__"}
    assert len(shown) <= 11


def test_the_tests_of_a_file_run_in_one_process(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("the tests are not grouped: --dist loadgroup does it")
    assert request.node.nodeid.endswith(f"@{Path(__file__)}"), "pytest and pytest-xdist do not fit together"
